"""What a session knows of its files: an edit of anything else would be a guess."""

import threading
from collections import OrderedDict

from roost.workspace.files.content import Content, Digest
from roost.workspace.files.paths import Refused, Spot

_MOST = 5_000


class Seen:
    """What each file held when the session last read or wrote it. It is in memory only: after a
    restart files are read again."""

    def __init__(self) -> None:
        self._digests: OrderedDict[str, Digest] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, spot: Spot, digest: Digest) -> None:
        with self._lock:
            self._digests[spot.path] = digest
            self._digests.move_to_end(spot.path)
            if len(self._digests) > _MOST:
                self._digests.popitem(last=False)

    def must_know(self, spot: Spot, content: Content) -> None:
        known = self._digests.get(spot.path)
        if known is None:
            raise Refused(f"{spot.path} is there and was not read yet. Read it first.")
        if known != content.digest:
            raise Refused(f"{spot.path} changed since you read it. Read it again first.")
