"""Keeps a store from growing without a bound: sweeping, purging, retention, vacuum."""

from collections.abc import Callable
from functools import partial

import msgspec

from roost.core.ids import BlobId, SessionId, UserId
from roost.store.blobs import BlobBytes, Owned
from roost.store.operations import Engine, Operation, every, maybe, one, query
from roost.store.removal import purge_rows, purge_user, removed_users
from roost.store.search import index_slice

DAY = 86_400.0
_REPORTED = 8 * DAY
"""A turn that stopped short is told of for a week, once: until then it has to be known."""


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds for which things are kept that only serve to recognise repeats and to resume."""

    idempotency_keys: float = 7 * DAY
    inbox: float = 30 * DAY
    events: float = 30 * DAY
    unnamed_blobs: float = DAY
    sign_ins: float = 90 * DAY


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """What a round of upkeep let go."""

    keys: int
    inbox: int
    events: int
    blobs: int
    outbox: int = 0
    sign_ins: int = 0
    users: int = 0


def idle_work() -> tuple[Callable[[], Operation[bool]], ...]:
    """What the writer does when nobody waits: each a little at a time, True while more is left."""
    return index_slice, DeltaSweep().slice, purge_slice


class DeltaSweep:
    """Lets go of deltas that nobody can read any more.

    Most stand at the old end of the log. Those behind an older stream that is still open are found
    by a round through the whole log, whenever that has grown by a window.
    """

    def __init__(self, window: int = 2000) -> None:
        self._window = window
        self._after = 0
        self._until = 0

    def slice(self) -> Operation[bool]:
        if (yield query("sweep_deltas")):
            return True
        if self._after >= self._until:
            last = one((yield query("last_delta")), int)
            # It is shorter than it was when its end was swept: ids are given out again.
            if 0 <= last - self._until < self._window:
                return False
            self._after, self._until = 0, last
        end = one(
            (
                yield query(
                    "end_of_window", after=self._after, until=self._until, window=self._window
                )
            ),
            int,
        )
        yield query("sweep_window", after=self._after, end=end)
        # A window whose transaction fails is left to the next round.
        self._after = end
        return end < self._until


def purge_slice() -> Operation[bool]:
    """Remove some rows of a deleted session, and the session when none are left."""
    found = maybe((yield query("session_to_purge")), str)
    if found is None:
        return False
    session = SessionId(found)
    rows = every((yield query("messages_to_purge", session=session)), _Seq)
    if rows:
        seqs = msgspec.json.encode([row.seq for row in rows]).decode()
        yield query("purge_index", seqs=seqs)
        yield query("purge_messages", seqs=seqs)
        # Numbers at the end may be given out again: those must be indexed again too.
        yield query("rewind_index")
        return True
    for statement in _PURGE:
        if (yield query(statement, session=session)):
            break
    return True


_PURGE = (
    "purge_events",
    "purge_streams",
    "purge_tool_calls",
    "purge_approvals",
    "purge_rules",
    "purge_progress",
    "purge_pieces",
    "purge_outbox",
    "purge_turns",
    "purge_segments",
    "purge_prompts",
    "purge_epochs",
    "purge_blob_names",
    "purge_schedules",
    "purge_lease",
    "purge_session",
)
"""In the order in which rows name one another."""


class _Seq(msgspec.Struct, frozen=True, array_like=True):
    seq: int


_FIRST = Owned(UserId(""), BlobId(""))


class _Pages(msgspec.Struct, frozen=True, array_like=True):
    free: int
    total: int


class Upkeep:
    """Runs in short transactions, so that nobody waits long behind one."""

    def __init__(self, engine: Engine, bytes: BlobBytes, retention: Retention) -> None:
        self._engine = engine
        self._bytes = bytes
        self._retention = retention

    async def run(self) -> Swept:
        keep = self._retention
        swept = Swept(
            keys=await self._drain("expire_keys", keep.idempotency_keys),
            inbox=await self._drain("expire_inbox", keep.inbox),
            outbox=await self._forget_sent(max(keep.inbox, _REPORTED)),
            events=await self._drain("expire_events", keep.events),
            blobs=await self._forget_blobs(keep.unnamed_blobs),
            sign_ins=await self._drain("expire_sign_ins", keep.sign_ins)
            + await self._drain("expire_tokens", keep.sign_ins),
            users=await self.purge_users(),
        )
        while await self._engine.write(_vacuum_slice):
            pass
        return swept

    async def purge_users(self) -> int:
        """What those left behind who were removed; how many of them are gone for good."""
        total = 0
        for user in await self._engine.read(removed_users):
            while await self._engine.write(partial(purge_rows, user)):
                pass
            total += await self._engine.write(partial(purge_user, user))
        return total

    async def _drain(self, statement: str, keep: float) -> int:
        total = 0
        while count := await self._engine.write(_counted(statement, round(keep * 1000))):
            total += count
        return total

    async def _forget_sent(self, keep: float) -> int:
        def forget() -> Operation[int]:
            yield query("expire_progress", keep=round(keep * 1000))
            yield query("expire_pieces", keep=round(keep * 1000))
            return len((yield query("expire_outbox", keep=round(keep * 1000))))

        total = 0
        while count := await self._engine.write(forget):
            total += count
        return total

    async def _forget_blobs(self, keep: float) -> int:
        """In a round through all of them, a window at a time."""
        total, after = 0, _FIRST
        while end := await self._engine.read(partial(_end_of_window, after)):
            gone = await self._engine.write(partial(self._forget_some, keep, after, end))
            total += len(gone)
            if gone:
                await self._bytes.remove(self._engine, gone)
            # There may be more of them in the same window.
            after = max(gone, default=end)
        return total

    def _forget_some(self, keep: float, after: Owned, end: Owned) -> Operation[list[Owned]]:
        rows = yield query(
            "forget_blobs",
            keep=round(keep * 1000),
            after_user=after.user,
            after_blob=after.id,
            end_user=end.user,
            end_blob=end.id,
        )
        gone = every(rows, Owned)
        # In one order on all servers: each of them may be locked until the end.
        for blob in sorted({each.id for each in gone}):
            yield from self._bytes.forget(blob)
        return gone


def _end_of_window(after: Owned) -> Operation[Owned | None]:
    rows = yield query("end_of_blob_window", after_user=after.user, after_blob=after.id)
    return maybe(rows, Owned)


def _counted(statement: str, keep: int) -> Callable[[], Operation[int]]:
    def expire() -> Operation[int]:
        return len((yield query(statement, keep=keep)))

    return expire


def _vacuum_slice() -> Operation[bool]:
    """Give free pages back to the disk, while they are more than a tenth of the file."""
    pages = one((yield query("count_pages")), _Pages)
    if pages.free * 10 <= pages.total:
        return False
    yield query("vacuum")
    return one((yield query("count_pages")), _Pages).free < pages.free
