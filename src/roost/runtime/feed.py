"""What one user's list of sessions has to show, across all of them, told as it happens."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Protocol

import msgspec
import structlog

from roost.core.approvals import Approval
from roost.core.errors import NotFound, StoreError
from roost.core.ids import ApprovalId, SessionId, UserId
from roost.core.sessions import Session
from roost.runtime.hub import Hub
from roost.store.store import Store

log = structlog.stdlib.get_logger("roost.feed")

TICK = 0.1
"""Seconds between two looks at what changed: the first is told at once, the rest together."""
RETRY = 1.0
MOST = 256
"""What waits for one reader; whoever is further behind reads everything anew."""
OWNERS = 10_000


class Ready(msgspec.Struct, frozen=True, tag_field="kind", tag="ready"):
    """From here on nothing is missed: what is read now is brought up to date by what follows."""


class SessionSeen(msgspec.Struct, frozen=True, tag_field="kind", tag="session"):
    """A session as it is now: a new one, or one that changed."""

    session: Session


class SessionRemoved(msgspec.Struct, frozen=True, tag_field="kind", tag="removed"):
    session: SessionId


class ApprovalSeen(msgspec.Struct, frozen=True, tag_field="kind", tag="approval"):
    """A question that was asked, or is settled; its state says which."""

    approval: Approval


class Refetch(msgspec.Struct, frozen=True, tag_field="kind", tag="refetch"):
    """More happened than could be kept: read the lists anew."""


FeedEvent = Ready | SessionSeen | SessionRemoved | ApprovalSeen | Refetch


class Events(Protocol):
    """One reader's events, without end."""

    def __aiter__(self) -> "Events": ...
    async def __anext__(self) -> FeedEvent: ...


class Feeds:
    """The feeds of all users that someone reads. For the others nothing is done."""

    def __init__(self, store: Store, hub: Hub, *, tick: float = TICK) -> None:
        self._store = store
        self._tick = tick
        self._owners: dict[SessionId, UserId] = {}
        self._feeds: dict[UserId, _Feed] = {}
        hub.listeners.append(self._changed)

    @property
    def watchers(self) -> int:
        """How many read a feed, all users together."""
        return sum([len(feed.readers) for feed in self._feeds.values()])

    @asynccontextmanager
    async def watch(self, user: UserId) -> AsyncGenerator[Events]:
        feed = self._feeds.get(user)
        if feed is None:
            feed = self._feeds[user] = _Feed(self, self._store, user, self._tick)
        reader = _Reader()
        feed.readers.append(reader)
        try:
            await feed.begin()
            yield reader
        finally:
            feed.readers.remove(reader)
            if not feed.readers:
                if self._feeds.get(user) is feed:
                    del self._feeds[user]
                await feed.end()

    def owned(self, session: SessionId, user: UserId) -> None:
        """Whose a session is: known before it is deleted, when nobody could look it up any more."""
        if self._feeds:
            self._owners.pop(session, None)
            self._owners[session] = user
            if len(self._owners) > OWNERS:
                del self._owners[next(iter(self._owners))]

    async def owner(self, session: SessionId) -> UserId | None:
        if session not in self._owners:
            found = await self._store.work.owner(session)
            if found is None:
                return None
            self.owned(session, found)
        return self._owners.get(session)

    def look(self) -> None:
        """Something may have changed that nobody told."""
        for feed in self._feeds.values():
            feed.look()

    def _changed(self, session: SessionId) -> None:
        if not self._feeds:
            return
        owner = self._owners.get(session)
        told = self._feeds.values() if owner is None else [self._feeds.get(owner)]
        for feed in told:
            if feed is not None:
                feed.changed(session)


class _Reader:
    """What one reader has still to be told, each session and each question once. `Ready` is the
    first of it, and does not wait with the rest: no `Refetch` can take its place."""

    def __init__(self) -> None:
        self._began = False
        self._waiting: dict[str, FeedEvent] = {}
        self._woken = asyncio.Event()

    def put(self, key: str, event: FeedEvent) -> None:
        if len(self._waiting) >= MOST and key not in self._waiting:
            self._waiting = {"": Refetch()}
        elif not isinstance(self._waiting.get(""), Refetch):
            self._waiting[key] = event
        self._woken.set()

    def __aiter__(self) -> "_Reader":
        return self

    async def __anext__(self) -> FeedEvent:
        if not self._began:
            self._began = True
            return Ready()
        while not self._waiting:
            self._woken.clear()
            await self._woken.wait()
        return self._waiting.pop(next(iter(self._waiting)))


class _Feed:
    """One user's: what changed is read once for all readers, by one task."""

    def __init__(self, feeds: Feeds, store: Store, user: UserId, tick: float) -> None:
        self.readers: list[_Reader] = []
        self._feeds = feeds
        self._store = store.of(user)
        self._user = user
        self._tick = tick
        self._shared = store.signals is not None
        self._stale: set[SessionId] = set()
        self._listed: dict[SessionId, int] = {}
        """How far the newest sessions were when they were last told of, if other servers may write
        to them."""
        self._looks = False
        self._asked: set[ApprovalId] | None = None
        self._woken = asyncio.Event()
        self._beginning = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def changed(self, session: SessionId) -> None:
        self._stale.add(session)
        self._woken.set()

    def look(self) -> None:
        self._looks = True
        self._woken.set()

    async def begin(self) -> None:
        async with self._beginning:
            if self._shared and not self._listed:
                self._listed = await self._newest()
            if self._asked is None:
                self._asked = {each.id for each in await self._store.approvals.pending()}
            if self._task is None:
                self._task = asyncio.create_task(self._run())

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            stale, self._stale = self._stale, set()
            try:
                stale |= await self._missed()
                await self._tell(stale)
                await asyncio.sleep(self._tick)
            except StoreError as error:
                log.warning("changes can't be read", user=self._user, error=str(error))
                self._stale |= stale
                await asyncio.sleep(RETRY)
                self._woken.set()
            except Exception:
                log.exception("changes could not be told", user=self._user)
                self._put("", Refetch())
                await asyncio.sleep(RETRY)

    async def _missed(self) -> set[SessionId]:
        """What changed among the newest sessions, and nobody told."""
        if not self._looks:
            return set()
        self._looks = False
        before, self._listed = self._listed, await self._newest()
        return {session for session, _ in before.items() ^ self._listed.items()}

    async def _newest(self) -> dict[SessionId, int]:
        return {each.id: each.revision for each in await self._store.sessions.page()}

    async def _tell(self, stale: Iterable[SessionId]) -> None:
        mine = [each for each in stale if await self._feeds.owner(each) == self._user]
        if not mine:
            return
        for session in mine:
            await self._tell_session(session)
        await self._tell_approvals()

    async def _tell_session(self, session: SessionId) -> None:
        try:
            found = await self._store.sessions.get(session)
        except NotFound:
            self._listed.pop(session, None)
            self._put(session, SessionRemoved(session))
            return
        if session in self._listed:
            self._listed[session] = found.revision
        if found.parent is None or found.parent.kind != "subagent":  # lists leave those out
            self._put(session, SessionSeen(found))

    async def _tell_approvals(self) -> None:
        pending = {each.id: each for each in await self._store.approvals.pending()}
        before = self._asked or set()
        for id, approval in pending.items():
            if id not in before:
                self._put(id, ApprovalSeen(approval))
        for id in before - set(pending):
            try:
                self._put(id, ApprovalSeen(await self._store.approvals.get(id)))
            except NotFound:
                continue  # it went with its session
        self._asked = set(pending)  # not before all of it was told

    def _put(self, key: str, event: FeedEvent) -> None:
        for reader in self.readers:
            reader.put(key, event)
