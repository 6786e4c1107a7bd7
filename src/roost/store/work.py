"""What the runtime does across all users: find work, tick, take over what a crash left behind."""

from collections.abc import Collection, Sequence

import msgspec
import structlog

from roost.core.events import Deltas
from roost.core.ids import SessionId, Token, TurnId, UserId
from roost.core.sessions import Session
from roost.core.turns import NewTurn, Turn
from roost.store.approvals import expire_due
from roost.store.figures import WorkFigures
from roost.store.leases import Lease, claim, session_lease
from roost.store.operations import (
    Engine,
    Operation,
    every,
    keeping,
    maybe,
    one,
    query,
    reading,
    writing,
)
from roost.store.queue import submit
from roost.store.rows import sessions_of, turns_of
from roost.store.sessions import load_session

log = structlog.get_logger()


class Checkpoint(msgspec.Struct, frozen=True):
    """The deltas of one streaming turn since the last tick. Seqs of an attempt count from 1."""

    turn: TurnId
    attempt: int
    token: Token
    deltas: Deltas


class Tick(msgspec.Struct, frozen=True):
    """`stored` says how far each turn of the batch is durable; one that is missing has ended, moved
    on to another attempt, lost its session, or has text that can't be encoded. `lost` names the
    leases that are no longer held."""

    stored: dict[TurnId, int]
    lost: frozenset[str]


class Claimed(msgspec.Struct, frozen=True):
    """A session that is now its claimer's, and the turn to start or, if it waits, to resume."""

    lease: Lease
    session: Session
    turn: Turn
    time_zone: str = "UTC"


class Submitted(msgspec.Struct, frozen=True):
    """A message that was handed in, and its session if that was free."""

    turn: Turn
    claimed: Claimed | None = None


class Orphan(msgspec.Struct, frozen=True, array_like=True):
    """A turn that stopped when whoever ran it died. `active_at` is when its session last showed
    activity, to about half a minute: while nobody has ended the turn, the time of the death. It is
    not `here` that it goes on if its workspace is on another server."""

    user: UserId
    session: SessionId
    turn: TurnId
    active_at: int
    here: bool = True


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    turn: TurnId
    seq: int


class _TurnName(msgspec.Struct, frozen=True, array_like=True):
    id: TurnId


class _There(msgspec.Struct, frozen=True, array_like=True):
    id: SessionId


class _Revision(msgspec.Struct, frozen=True, array_like=True):
    session: SessionId
    revision: int


class Work:
    def __init__(self, engine: Engine, ttl: float, server: str) -> None:
        """`server` is this one's name among those that share the store."""
        self.engine = engine
        self._ttl = round(ttl * 1000)
        self._server = server

    @reading
    def owner(self, session: SessionId) -> Operation[UserId | None]:
        """Whose a session is, also of one that was just deleted."""
        rows = yield query("session_by_id", session=session)
        return UserId(str(rows[0][0])) if rows else None

    @reading
    def figures(self) -> Operation[WorkFigures]:
        """What waits, of all users."""
        return one((yield query("count_work")), WorkFigures)

    @keeping
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
        flat = [row for each in checkpoints if (row := _flat(each)) is not None]
        if not flat:
            return {}
        batch = msgspec.json.encode(flat).decode()
        after = one((yield query("last_delta")), int)
        yield query("append_deltas", batch=batch)
        yield query("advance_streams", after=after)
        if one((yield query("count_new_deltas", after=after)), int) == len(flat):
            return {turn: last_seq for turn, _, _, _, last_seq, _ in flat}
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
    def submit(
        self, user: UserId, session: SessionId, new: NewTurn, holder: str
    ) -> Operation[Submitted]:
        """Store a message and, if its session has nothing else to do, claim it: one commit less
        before the first word. Asked again by the same holder, the claim is the same. That of a user
        who was just disabled waits until they are enabled."""
        turn = yield from submit(user, session, new)
        if turn.state != "queued" or (yield query("live_turn", session=session)):
            return Submitted(turn)
        first = maybe((yield query("next_turn_here", session=session, server=self._server)), str)
        if first != turn.id:
            return Submitted(turn)
        zone = (yield from _zones([user]))[user]
        if zone.is_disabled:
            return Submitted(turn)
        lease = yield from claim(session_lease(session), holder, self._ttl)
        if lease is None:
            return Submitted(turn)
        found = yield from load_session(user, session)
        return Submitted(turn, Claimed(lease, found, turn, zone.time_zone))

    @writing
    def claim_waiting(self, holder: str, *, limit: int = 64) -> Operation[Sequence[Claimed]]:
        """Claim the sessions that can be worked on: those whose parked turn has its answers, then
        those whose message has waited longest.

        `holder` names this one claim. Asked again after a lost answer, it gives what the first call
        claimed too, so that no session is held by nobody who knows.
        """
        if not holder:
            return []
        sessions = yield from self._claimable(limit)
        if sessions:
            names = _json(sessions)
            yield query("claim_sessions", sessions=names, holder=holder, ttl=self._ttl)
            yield query("fence_sessions", sessions=names, holder=holder)
        held = every((yield query("claimed_sessions", holder=holder)), _Held)
        for each in held:
            if each.turn is None:
                # It was taken out of the queue before the claimer asked again.
                yield query("release_session_lease", session=each.session, token=each.token)
        return (yield from _load([each for each in held if each.turn is not None]))

    def _claimable(self, limit: int) -> Operation[list[SessionId]]:
        rows = yield query("answered_sessions", limit=limit, server=self._server)
        found = every(rows, _Session)
        if len(found) < limit:
            rows = yield query("queued_sessions", limit=limit - len(found), server=self._server)
            found += every(rows, _Session)
        return [row.id for row in found]

    @reading
    def sessions_among(self, sessions: Collection[SessionId]) -> Operation[frozenset[SessionId]]:
        """Those of them that are there, anyone's."""
        rows = yield query("sessions_among", ids=_json(sorted(sessions)))
        return frozenset([each.id for each in every(rows, _There)])

    @reading
    def revisions(self, sessions: Collection[SessionId]) -> Operation[dict[SessionId, int]]:
        """How far those of them are that are there."""
        rows = yield query("session_revisions", ids=_json(sorted(sessions)))
        return {row.session: row.revision for row in every(rows, _Revision)}

    @reading
    def waits_among(self, sessions: Collection[SessionId]) -> Operation[bool]:
        """Whether something in them may have to be worked on, and is not."""
        return bool((yield query("waits_among", ids=_json(sorted(sessions)))))

    @reading
    def served_among(self, users: Collection[UserId]) -> Operation[frozenset[UserId]]:
        """Those of them who were neither disabled nor removed."""
        zones = yield from _zones(sorted(users))
        return frozenset([each.user for each in zones.values() if not each.is_disabled])

    @reading
    def stops_asked(self, sessions: Collection[SessionId]) -> Operation[frozenset[TurnId]]:
        """Turns of these sessions that somebody wants stopped, and those of users who were
        disabled."""
        rows = yield query("stops_asked", ids=_json(sorted(sessions)))
        return frozenset([each.id for each in every(rows, _TurnName)])

    @writing
    def expire_approvals(self) -> Operation[Sequence[SessionId]]:
        """Settle the questions that nobody answered in time (E5); whose turns can go on now."""
        return (yield from expire_due())

    @reading
    def orphans(self) -> Operation[Sequence[Orphan]]:
        """Turns that say "running" while nobody holds their session."""
        return every((yield query("orphaned_turns")), Orphan)

    @reading
    def continuable(self, window: float) -> Operation[Sequence[Orphan]]:
        """Interrupted turns that may go on by themselves, once: they ended in the last `window`
        seconds, nothing came after them, and no tool call of theirs is in doubt (D3). A subagent's
        never do: its caller's call is over."""
        rows = yield query("continuable_turns", window=round(window * 1000), server=self._server)
        return every(rows, Orphan)

    @reading
    def forsaken(self) -> Operation[Sequence[Orphan]]:
        """Turns of subagents that have not begun, or wait for a person, while the turn that asked
        for them no longer runs."""
        return every((yield query("forsaken_turns")), Orphan)


class _Session(msgspec.Struct, frozen=True, array_like=True):
    id: SessionId


class _Held(msgspec.Struct, frozen=True, array_like=True):
    name: str
    holder: str
    token: Token
    since: int
    until: int
    session: SessionId
    turn: TurnId | None


def _load(held: list[_Held]) -> Operation[Sequence[Claimed]]:
    """Sessions with their turns, first come first; one whose turn runs already is no work."""
    if not held:
        return []
    rows = yield query("sessions_by_id", ids=_json([each.session for each in held]))
    sessions = {session.id: session for session in sessions_of(rows)}
    rows = yield query("claimed_turns", ids=_json([each.turn for each in held]))
    turns = {turn.session: turn for turn in turns_of(rows) if turn.state != "running"}
    zones = yield from _zones([session.user for session in sessions.values()])
    claimed = [
        Claimed(
            Lease(each.name, each.holder, each.token, each.since, each.until),
            sessions[each.session],
            turns[each.session],
            zones[sessions[each.session].user].time_zone,
        )
        for each in held
        if each.session in turns
    ]
    return sorted(claimed, key=_arrival)


class _Zone(msgspec.Struct, frozen=True, array_like=True):
    user: UserId
    time_zone: str
    is_disabled: bool


def _zones(users: list[UserId]) -> Operation[dict[UserId, _Zone]]:
    rows = yield query("time_zones", users=_json(users))
    return {row.user: row for row in every(rows, _Zone)}


def _arrival(claimed: Claimed) -> tuple[bool, int, TurnId]:
    turn = claimed.turn
    return turn.state != "waiting", turn.created_at, turn.id


def _json(ids: Sequence[str | None]) -> str:
    return msgspec.json.encode(ids).decode()


class _Name(msgspec.Struct, frozen=True, array_like=True):
    name: str


def _flat(checkpoint: Checkpoint) -> tuple[TurnId, int, Token, int, int, str] | None:
    deltas = checkpoint.deltas
    try:
        body = msgspec.json.encode(deltas.deltas).decode()
    except UnicodeEncodeError:
        log.exception("deltas can't be stored", turn=checkpoint.turn)
        return None
    return (
        checkpoint.turn,
        checkpoint.attempt,
        checkpoint.token,
        deltas.first_seq,
        deltas.last_seq,
        body,
    )
