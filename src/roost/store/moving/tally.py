"""How many rows there are, and a checksum of all of them in their order."""

import hashlib

import msgspec

from roost.store.operations import Row

_encode = msgspec.msgpack.Encoder().encode


class Tally:
    """The same for the same rows, whichever database they were read from."""

    def __init__(self) -> None:
        self.rows = 0
        self._digest = hashlib.sha256()

    def add(self, row: Row) -> int:
        """How many bytes it has."""
        encoded = _encode(row)
        self._digest.update(encoded)
        self.rows += 1
        return len(encoded)

    @property
    def checksum(self) -> str:
        return self._digest.hexdigest()
