"""What an attempt on another server has streamed, as far as that is stored."""

from collections.abc import Sequence

from roost.core.events import Delta, Deltas
from roost.core.ids import TurnId


class RemoteAttempt:
    """Runs of deltas as ticks have stored them: they can be told from the end of each on."""

    def __init__(self, turn: TurnId, attempt: int, stored: Sequence[Deltas] = ()) -> None:
        self.turn = turn
        self.attempt = attempt
        self.last_seq = 0
        self.size = 0
        self._runs: dict[int, Deltas] = {}
        self.extend(stored)

    def extend(self, stored: Sequence[Deltas]) -> None:
        for run in stored:
            if run.first_seq == self.last_seq + 1:
                self._runs[run.first_seq] = run
                self.last_seq = run.last_seq
                self.size += run.last_seq - run.first_seq + 1

    def since(self, seq: int) -> Deltas | None:
        """All after a seq, or None if that is nothing, or not the end of a run."""
        found: list[Delta] = []
        at = seq
        while (run := self._runs.get(at + 1)) is not None:
            found += run.deltas
            at = run.last_seq
        return Deltas(seq + 1, at, tuple(found)) if found else None
