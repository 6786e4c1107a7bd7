"""Keeps a store from growing without a bound: sweeping, purging, retention, vacuum."""

from collections.abc import Callable

import msgspec

from roost.core.ids import BlobId, SessionId
from roost.store.blobs import BlobFiles, remove_if_unnamed
from roost.store.operations import Engine, Operation, every, maybe, one, query
from roost.store.search import index_slice

DAY = 86_400.0


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds for which things are kept that only serve to recognise repeats and to resume."""

    idempotency_keys: float = 7 * DAY
    inbox: float = 30 * DAY
    events: float = 30 * DAY
    unnamed_blobs: float = DAY


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """What a round of upkeep let go."""

    keys: int
    inbox: int
    events: int
    blobs: int


def idle_slice() -> Operation[bool]:
    """A little background work; True if more is left. The writer runs it when nobody waits."""
    indexed = yield from index_slice()
    swept = bool((yield query("sweep_deltas")))
    purged = yield from purge_slice()
    return indexed or swept or purged


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
    if (yield query("purge_events", session=session)):
        return True
    for statement in _PURGE:
        yield query(statement, session=session)
    return True


_PURGE = (
    "purge_streams",
    "purge_tool_calls",
    "purge_approvals",
    "purge_rules",
    "purge_turns",
    "purge_segments",
    "purge_prompts",
    "purge_epochs",
    "purge_blob_names",
    "purge_schedules",
    "purge_lease",
    "purge_session",
)


class _Seq(msgspec.Struct, frozen=True, array_like=True):
    seq: int


class _Session(msgspec.Struct, frozen=True, array_like=True):
    id: SessionId


class _Blob(msgspec.Struct, frozen=True, array_like=True):
    id: BlobId


class _Pages(msgspec.Struct, frozen=True, array_like=True):
    free: int
    total: int


class Upkeep:
    """Runs in short transactions, so that nobody waits long behind one."""

    def __init__(self, engine: Engine, files: BlobFiles, retention: Retention) -> None:
        self._engine = engine
        self._files = files
        self._retention = retention

    async def run(self) -> Swept:
        keep = self._retention
        swept = Swept(
            keys=await self._drain("expire_keys", keep.idempotency_keys),
            inbox=await self._drain("expire_inbox", keep.inbox),
            events=await self._expire_events(keep.events),
            blobs=await self._forget_blobs(keep.unnamed_blobs),
        )
        while await self._engine.write(_vacuum_slice):
            pass
        return swept

    async def _drain(self, statement: str, keep: float) -> int:
        total = 0
        while count := await self._engine.write(_counted(statement, round(keep * 1000))):
            total += count
        return total

    async def _expire_events(self, keep: float) -> int:
        """A hundred sessions at a time: the oldest events of each stand together."""
        total, last = 0, SessionId("")
        while last is not None:
            count, last = await self._engine.write(_events_slice(last, round(keep * 1000)))
            total += count
        return total

    async def _forget_blobs(self, keep: float) -> int:
        def forget() -> Operation[list[BlobId]]:
            rows = yield query("forget_blobs", keep=round(keep * 1000))
            return [row.id for row in every(rows, _Blob)]

        total = 0
        while gone := await self._engine.write(forget):
            total += len(gone)
            for blob in gone:
                await self._engine.read(lambda blob=blob: remove_if_unnamed(self._files, blob))
        return total


def _counted(statement: str, keep: int) -> Callable[[], Operation[int]]:
    def expire() -> Operation[int]:
        return len((yield query(statement, keep=keep)))

    return expire


def _events_slice(
    after: SessionId, keep: int
) -> Callable[[], Operation[tuple[int, SessionId | None]]]:
    def expire() -> Operation[tuple[int, SessionId | None]]:
        sessions = every((yield query("next_sessions", after=after)), _Session)
        if not sessions:
            return 0, None
        last = sessions[-1].id
        gone = yield query("expire_events", after=after, last=last, keep=keep)
        return len(gone), last

    return expire


def _vacuum_slice() -> Operation[bool]:
    """Give free pages back to the disk, while they are more than a tenth of the file."""
    pages = one((yield query("count_pages")), _Pages)
    if pages.free * 10 <= pages.total:
        return False
    yield query("vacuum")
    return one((yield query("count_pages")), _Pages).free < pages.free
