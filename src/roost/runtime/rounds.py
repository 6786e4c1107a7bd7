"""Who asks for a compaction before one is made: it is theirs too, and no second one is."""

from weakref import WeakValueDictionary

import msgspec

from roost.core.ids import SessionId


class Round(msgspec.Struct, weakref=True, eq=False):
    """All who ask for the same session before one is made. Then it is `over`, also for who was slow
    to read how the session stood."""

    over: bool = False


class Rounds:
    def __init__(self) -> None:
        self._open: WeakValueDictionary[SessionId, Round] = WeakValueDictionary()

    def join(self, session: SessionId) -> Round:
        return self._open.setdefault(session, Round())

    def end(self, session: SessionId) -> None:
        """A compaction was made, by a turn or by whoever asked."""
        if (round := self._open.pop(session, None)) is not None:
            round.over = True
