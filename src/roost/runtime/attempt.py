"""What one attempt has streamed, compact and in memory, readable from any point on."""

from array import array
from bisect import bisect_right
from itertools import pairwise

from roost.core.events import (
    Delta,
    Deltas,
    NoticeDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolOutputDelta,
)
from roost.core.ids import SessionId, Token, TurnId

CHUNK = 64
"""How many deltas are kept as they came before their texts are joined."""


class Attempt:
    """Deltas get their seqs here, from 1. Kept are the texts, joined; where each delta's ends; and
    where the kind changes: a token costs its letters and four bytes, not an object."""

    __slots__ = (
        "_chunks",
        "_ends",
        "_like",
        "_newest",
        "_plain",
        "_runs",
        "_starts",
        "attempt",
        "last_seq",
        "session",
        "size",
        "stored_seq",
        "token",
        "turn",
    )

    def __init__(self, session: SessionId, turn: TurnId, attempt: int, token: Token) -> None:
        self.session = session
        self.turn = turn
        self.attempt = attempt
        self.token = token
        self.last_seq = 0
        self.stored_seq = 0
        """How far the tick has made it durable."""
        self.size = 0
        """Letters streamed so far."""
        self._ends = array("I")
        self._chunks: list[str] = []
        self._newest: list[str] = []
        # A run is consecutive deltas that merge into one: the seq before its first, and that first.
        self._starts: list[int] = []
        self._runs: list[Delta] = []
        self._like: Delta | None = None
        # The kind of the last run, if all there is to a delta of that kind is its text.
        self._plain: type[Delta] | None = None

    def add(self, delta: Delta) -> int:
        """Take the next delta in; its seq."""
        if type(delta) is not self._plain and not _merge(self._like, delta):
            self._open_run(delta)
        text = delta.arguments if isinstance(delta, ToolCallDelta) else delta.text
        self.size += len(text)
        self._ends.append(self.size)
        self._newest.append(text)
        if len(self._newest) == CHUNK:
            self._chunks.append("".join(self._newest))
            self._newest.clear()
        self.last_seq += 1
        return self.last_seq

    def _open_run(self, delta: Delta) -> None:
        self._like = delta
        self._plain = type(delta) if isinstance(delta, TextDelta | ReasoningDelta) else None
        self._starts.append(self.last_seq)
        self._runs.append(delta)

    def since(self, seq: int) -> Deltas | None:
        """All after a seq, merged, or None if that is nothing."""
        if seq >= self.last_seq:
            return None
        text = self._text(seq)
        run = bisect_right(self._starts, seq) - 1
        bounds = [seq, *self._starts[run + 1 :], self.last_seq]
        offset = self._end(seq)
        merged = [
            _with_text(like, text[self._end(first) - offset : self._end(last) - offset])
            for like, (first, last) in zip(self._runs[run:], pairwise(bounds), strict=True)
        ]
        return Deltas(seq + 1, self.last_seq, tuple(merged))

    def deltas(self) -> tuple[Delta, ...]:
        """Everything, merged."""
        everything = self.since(0)
        return () if everything is None else everything.deltas

    def _end(self, seq: int) -> int:
        return self._ends[seq - 1] if seq else 0

    def _text(self, seq: int) -> str:
        """The texts of all deltas after a seq."""
        chunk, inside = divmod(seq, CHUNK)
        if chunk == len(self._chunks):
            return "".join(self._newest[inside:])
        first = self._chunks[chunk][self._end(seq) - self._end(chunk * CHUNK) :]
        return "".join([first, *self._chunks[chunk + 1 :], *self._newest])


def _merge(like: Delta | None, delta: Delta) -> bool:
    """Whether a delta only continues the one before. A notice is a sentence of its own."""
    match like, delta:
        case (TextDelta(), TextDelta()) | (ReasoningDelta(), ReasoningDelta()):
            return True
        case ToolCallDelta(), ToolCallDelta():
            return delta.call == like.call and delta.name == like.name
        case ToolOutputDelta(), ToolOutputDelta():
            return delta.call == like.call
        case _:
            return False


def _with_text(like: Delta, text: str) -> Delta:
    match like:
        case TextDelta():
            return TextDelta(text)
        case ReasoningDelta():
            return ReasoningDelta(text)
        case ToolCallDelta():
            return ToolCallDelta(like.call, like.name, text)
        case ToolOutputDelta():
            return ToolOutputDelta(like.call, text)
        case NoticeDelta():
            return NoticeDelta(text)
