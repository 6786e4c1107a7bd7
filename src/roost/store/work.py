"""What the runtime does across all users: find work, tick, take over what a crash left behind."""

from collections.abc import Sequence

import msgspec

from roost.core.events import Deltas
from roost.core.ids import SessionId, Token, TurnId, UserId
from roost.store.leases import Lease, claim, session_lease
from roost.store.operations import Engine, Operation, every, maybe, one, query, reading, writing


class Checkpoint(msgspec.Struct, frozen=True):
    """The deltas of one streaming turn since the last tick. Seqs of an attempt count from 1."""

    turn: TurnId
    attempt: int
    token: Token
    deltas: Deltas


class Tick(msgspec.Struct, frozen=True):
    """`stored` says how far each turn of the batch is durable; one that is missing has ended, moved
    on to another attempt, or lost its session. `lost` names the leases that are no longer held."""

    stored: dict[TurnId, int]
    lost: frozenset[str]


class Claimed(msgspec.Struct, frozen=True):
    user: UserId
    session: SessionId
    lease: Lease


class Orphan(msgspec.Struct, frozen=True, array_like=True):
    """A turn that was running when whoever ran it died."""

    user: UserId
    session: SessionId
    turn: TurnId


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    turn: TurnId
    seq: int


class Work:
    def __init__(self, engine: Engine, ttl: float) -> None:
        self.engine = engine
        self._ttl = round(ttl * 1000)

    @writing
    def tick(self, checkpoints: Sequence[Checkpoint], held: Sequence[Lease]) -> Operation[Tick]:
        """Store the new deltas of all streaming turns and renew all leases, in one commit (D2).

        A turn that may not write any more is left out and fails nobody else. A handful of
        statements whatever the number of turns: for each one that the writer runs, it competes with
        the event loop for the interpreter. `held` may be left out of most ticks: a third of a
        lease's time is soon enough.
        """
        stored = yield from self._store(checkpoints)
        lost = yield from self._renew(held)
        return Tick(stored, lost)

    def _store(self, checkpoints: Sequence[Checkpoint]) -> Operation[dict[TurnId, int]]:
        if not checkpoints:
            return {}
        batch = msgspec.json.encode([_flat(checkpoint) for checkpoint in checkpoints]).decode()
        after = one((yield query("last_delta")), int)
        yield query("append_deltas", batch=batch)
        yield query("advance_streams", after=after)
        if one((yield query("count_new_deltas", after=after)), int) == len(checkpoints):
            return {each.turn: each.deltas.last_seq for each in checkpoints}
        # Some were stored before, or may not be: which, and how far?
        rows = yield query("streaming_turns", batch=batch)
        return {row.turn: row.seq for row in every(rows, _Stored)}

    def _renew(self, held: Sequence[Lease]) -> Operation[frozenset[str]]:
        if not held:
            return frozenset()
        names = msgspec.json.encode([(lease.name, lease.token) for lease in held]).decode()
        yield query("renew_leases", held=names, ttl=self._ttl)
        yield query("stir_sessions", held=names)
        lost = every((yield query("lost_leases", held=names)), _Name)
        return frozenset([row.name for row in lost])

    @writing
    def claim_next(self, holder: str) -> Operation[Claimed | None]:
        """Claim the session whose message has waited longest among those that can be worked on."""
        found = maybe((yield query("claimable_session")), str)
        if found is None:
            return None
        session = SessionId(found)
        lease = yield from claim(session_lease(session), holder, self._ttl)
        if lease is None:
            return None
        user = one((yield query("session_owner", session=session)), str)
        return Claimed(UserId(user), session, lease)

    @reading
    def orphans(self) -> Operation[Sequence[Orphan]]:
        """Turns that say "running" while nobody holds their session."""
        return every((yield query("orphaned_turns")), Orphan)


class _Name(msgspec.Struct, frozen=True, array_like=True):
    name: str


def _flat(checkpoint: Checkpoint) -> tuple[TurnId, int, Token, int, int, str]:
    deltas = checkpoint.deltas
    body = msgspec.json.encode(deltas.deltas).decode()
    return (
        checkpoint.turn,
        checkpoint.attempt,
        checkpoint.token,
        deltas.first_seq,
        deltas.last_seq,
        body,
    )
