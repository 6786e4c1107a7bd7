"""Completed turns on their way to long-term memory: marked, cut into segments, committed once."""

import hashlib
from collections.abc import Sequence
from typing import Literal

import msgspec

from roost.core.ids import SessionId, TurnId, UserId
from roost.core.messages import Message
from roost.store.operations import Engine, Operation, every, maybe, one, query, reading, writing
from roost.store.rows import messages_of

_ERROR = 2000
"""Characters of an error that are kept."""


class PendingSegment(msgspec.Struct, frozen=True, array_like=True):
    """Turns of one session and scope that go to memory together. `key` names the segment, to the
    provider too; `tries` is how often one was begun; `error` is why the last one failed. One that
    failed too often rests: nobody tries it until a person asks."""

    key: str
    user: UserId
    session: SessionId
    scope: str
    tries: int
    due_at: int
    error: str | None
    rests_since: int | None = None


class BegunSegment(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider is given: with one key always the same turns and messages. Those that left
    the live history by a compaction or a clear are there too."""

    key: str
    user: UserId
    session: SessionId
    scope: str
    tries: int
    turns: tuple[TurnId, ...]
    messages: tuple[Message, ...]


class Uncommitted(msgspec.Struct, frozen=True, array_like=True):
    """A session with turns that memory has not taken yet, and whose it is."""

    user: UserId
    session: SessionId


class Deleted(msgspec.Struct, frozen=True, array_like=True):
    """A session that was deleted, and a scope that may have something of it."""

    session: SessionId
    scope: str


class GivenUp(msgspec.Struct, frozen=True, array_like=True):
    """A segment that nobody will try again: how many turns of which session."""

    session: SessionId
    turns: int


class MemoryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`marked` counts turns that are in no segment yet, `pending` the segments, `failing` those of
    them whose last try failed; `due_at` is when the next one is due. `resting` are segments that
    failed too often, `unforgotten` deleted sessions that a provider could not forget yet."""

    marked: int
    pending: int
    failing: int
    error: str | None
    due_at: int | None
    resting: int = 0
    unforgotten: int = 0
    unforgotten_error: str | None = None


class MemoryMarks:
    """All users' marks: the runtime's. A session or key that is not there does nothing and raises
    nothing (C11). No revision is raised: nothing that a session shows is changed."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def cut(self, user: UserId, session: SessionId) -> Sequence[PendingSegment]:
        """Group the marked turns that are in no segment into new ones, one for each scope; all of
        the session that are pending, the oldest first. Without such turns nothing is written."""
        if await self._has_marks(user, session):
            await self._cut(user, session)
        return await self.pending(user, session)

    @reading
    def _has_marks(self, user: UserId, session: SessionId) -> Operation[bool]:
        return bool((yield query("marked_turns", user=user, session=session)))

    @writing
    def _cut(self, user: UserId, session: SessionId) -> Operation[None]:
        scopes: dict[str, list[TurnId]] = {}
        for turn in every((yield query("marked_turns", user=user, session=session)), _Marked):
            scopes.setdefault(turn.scope, []).append(turn.id)
        for scope, turns in scopes.items():
            key = _key(session, turns[0], scope)
            yield query("open_segment", segment=key, session=session, user=user, scope=scope)
            yield query("take_into_segment", segment=key, turns=_json(turns))

    @reading
    def pending(self, user: UserId, session: SessionId) -> Operation[Sequence[PendingSegment]]:
        """The session's segments that are not committed, the oldest first."""
        return every((yield query("pending_segments", user=user, session=session)), PendingSegment)

    async def begin(self, key: str, *, after: int) -> BegunSegment | None:
        """Record a try before the provider is called: the one that follows `after` others, which is
        what `tries` of the pending segment says. Asked again, it is the same try.

        Before the first one, turns that were undone meanwhile leave; from then on the segment never
        changes. None if nothing is left to commit, or somebody else has begun since.
        """
        if not await self._begin(key, after):
            return None
        return await self._load(key)

    @writing
    def _begin(self, key: str, after: int) -> Operation[bool]:
        found = maybe((yield query("find_segment", segment=key)), _State)
        if found is None or found.state != "pending":
            return False
        if found.tries != after:
            return found.tries == after + 1
        if after == 0:
            yield query("leave_segment", segment=key)
            if not (yield query("segment_turns", segment=key)):
                yield query("withdraw_segment", segment=key)
                return False
        yield query("begin_segment", segment=key)
        return True

    @reading
    def _load(self, key: str) -> Operation[BegunSegment | None]:
        found = maybe((yield query("pending_segment", segment=key)), PendingSegment)
        if found is None:
            return None
        turns = every((yield query("segment_turns", segment=key)), _Placed)
        ids = tuple([turn.id for turn in turns])
        rows = yield query(
            "segment_messages", session=found.session, first=turns[0].start, turns=_json(ids)
        )
        return BegunSegment(
            key=found.key,
            user=found.user,
            session=found.session,
            scope=found.scope,
            tries=found.tries,
            turns=ids,
            messages=messages_of(rows),
        )

    @writing
    def committed(self, key: str) -> Operation[bool]:
        """The provider has it. False if it was withdrawn meanwhile (its session was deleted): then
        the provider should not have it."""
        yield query("commit_segment", segment=key)
        found = maybe((yield query("find_segment", segment=key)), _State)
        return found is not None and found.state == "committed"

    @writing
    def failed(
        self,
        key: str,
        error: str,
        *,
        delay: float,
        counts: bool = True,
        unusable: bool = False,
        most: int = 1 << 30,
    ) -> Operation[bool]:
        """The try failed; the segment is due again in `delay` seconds. With `most` failures that
        count it rests, which this says. Those by an answer that was no use are counted apart."""
        rows = yield query(
            "fail_segment",
            segment=key,
            error=error[:_ERROR],
            delay=round(delay * 1000),
            failures=int(counts and not unusable),
            unusable=int(counts and unusable),
            most=most,
        )
        found = maybe(rows, _Rests)
        return found is not None and found.since is not None

    @writing
    def wake(self, user: UserId) -> Operation[int]:
        """Let all that failed be tried at once, also what rests; how many that is."""
        return len((yield query("wake_segments", user=user)))

    @writing
    def give_up(self, user: UserId) -> Operation[Sequence[GivenUp]]:
        """Never try again what rests. The sessions stay as they are."""
        return every((yield query("give_up_segments", user=user)), GivenUp)

    @reading
    def due(self, *, limit: int = 64) -> Operation[Sequence[PendingSegment]]:
        """What can be tried now: of each session and scope at most one, and none before an older
        one of them (C5); another scope's failure holds nothing back (C7)."""
        return every((yield query("due_segments", limit=limit)), PendingSegment)

    @reading
    def has_uncommitted(self, session: SessionId) -> Operation[bool]:
        return bool(one((yield query("is_uncommitted", session=session)), int))

    @reading
    def owner(self, session: SessionId) -> Operation[UserId | None]:
        """Whose it is, for those who know a session by its id alone."""
        found = maybe((yield query("session_owner", session=session)), str)
        return None if found is None else UserId(found)

    @reading
    def to_forget(
        self, session: SessionId | None = None, *, limit: int = 64
    ) -> Operation[Sequence[Deleted]]:
        """What was offered of sessions that were deleted, until `forgotten` (C12): of one, or of
        all what is due."""
        if session is not None:
            return every((yield query("scopes_of_deleted", session=session)), Deleted)
        return every((yield query("scopes_to_forget", limit=limit)), Deleted)

    @writing
    def forgotten(self, deleted: Deleted) -> Operation[None]:
        """The provider has nothing of it any more."""
        yield query("segments_forgotten", session=deleted.session, scope=deleted.scope)
        yield query("drop_forgotten", session=deleted.session, scope=deleted.scope)

    @writing
    def not_forgotten(self, deleted: Deleted, error: str, *, delay: float) -> Operation[None]:
        """The provider could not forget; it is due again in `delay` seconds."""
        yield query(
            "put_off_forgetting",
            session=deleted.session,
            scope=deleted.scope,
            error=error[:_ERROR],
            delay=round(delay * 1000),
        )

    @reading
    def waiting_sessions(self, idle: float) -> Operation[Sequence[Uncommitted]]:
        """Sessions with marked turns in no segment that had no turn for `idle` seconds (C2)."""
        return every((yield query("idle_marks", idle=round(idle * 1000))), Uncommitted)

    @reading
    def all_waiting(self) -> Operation[Sequence[Uncommitted]]:
        """Every session with turns that memory has not taken, in a segment or not (C9)."""
        return every((yield query("all_uncommitted")), Uncommitted)

    @reading
    def status(self, user: UserId | None = None) -> Operation[MemoryStatus]:
        """Of one user, or of all."""
        marked = one((yield query("count_marks", user=user)), int)
        segments = one((yield query("count_segments", user=user)), _Counts)
        error = maybe((yield query("last_memory_error", user=user)), str)
        left = one((yield query("count_unforgotten", user=user)), _Unforgotten)
        return MemoryStatus(
            marked=marked,
            pending=segments.pending,
            failing=segments.failing,
            error=error,
            due_at=segments.due_at,
            resting=segments.resting,
            unforgotten=left.sessions,
            unforgotten_error=left.error,
        )


class _Marked(msgspec.Struct, frozen=True, array_like=True):
    id: TurnId
    scope: str


class _Placed(msgspec.Struct, frozen=True, array_like=True):
    id: TurnId
    start: int


class _State(msgspec.Struct, frozen=True, array_like=True):
    state: Literal["pending", "committed", "withdrawn"]
    tries: int


class _Counts(msgspec.Struct, frozen=True, array_like=True):
    pending: int
    failing: int
    resting: int
    due_at: int | None


class _Unforgotten(msgspec.Struct, frozen=True, array_like=True):
    sessions: int
    error: str | None


class _Rests(msgspec.Struct, frozen=True, array_like=True):
    since: int | None


def _key(session: SessionId, first: TurnId, scope: str) -> str:
    """A turn is the first of one segment only, so this names it: the same if cut again."""
    named = "\x00".join((session, first, scope))
    return f"seg_{hashlib.blake2b(named.encode(), digest_size=16).hexdigest()}"


def _json(ids: Sequence[str]) -> str:
    return msgspec.json.encode(ids).decode()
