"""What streams, of all users: read together, for everyone who follows some of it."""

from collections.abc import Sequence

import msgspec

from roost.core.events import Delta, Deltas
from roost.core.ids import SessionId, TurnId, UserId
from roost.store.operations import Engine, Operation, Rows, every, query, reading

MOST = 1 << 22
"""Bytes that are read at once, and what goes beyond that by a single run."""


class Stream(msgspec.Struct, frozen=True, array_like=True):
    """An attempt that somebody follows: `user` is whose it has to be, and `after` the seq up to
    which they have it, which ends a run."""

    user: UserId
    session: SessionId
    turn: TurnId
    attempt: int
    after: int


class Stored(msgspec.Struct, frozen=True):
    """For each stream that was asked for, what is stored of it, in order: nothing if it streams no
    more. If it is not `complete`, it was too much for one answer, and more can be asked for."""

    runs: Sequence[Sequence[Deltas]]
    complete: bool


class _Deltas(msgspec.Struct, frozen=True, array_like=True):
    first_seq: int
    last_seq: int
    body: str


class _Run(msgspec.Struct, frozen=True, array_like=True):
    number: int
    first_seq: int
    last_seq: int
    body: str
    bytes: int


_decode = msgspec.json.Decoder(tuple[Delta, ...]).decode


def deltas_of(rows: Rows) -> Sequence[Deltas]:
    """Of one stream, in order."""
    found = every(rows, _Deltas)
    return [Deltas(row.first_seq, row.last_seq, _decode(row.body)) for row in found]


class Streams:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @reading
    def after(self, streams: Sequence[Stream]) -> Operation[Stored]:
        """One statement, however many there are."""
        batch = msgspec.json.encode(streams).decode()
        found = every((yield query("streams_after", batch=batch, most=MOST)), _Run)
        runs: list[list[Deltas]] = [[] for _ in streams]
        for run in found:
            deltas = Deltas(run.first_seq, run.last_seq, _decode(run.body))
            runs[run.number].append(deltas)
        return Stored(runs, complete=not found or found[-1].bytes < MOST)
