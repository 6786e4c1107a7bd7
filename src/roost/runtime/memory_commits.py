"""Brings completed turns to long-term memory at boundaries: durably, in order, exactly once."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import Context
from functools import partial
from weakref import WeakValueDictionary

import structlog

from roost.core.clock import Clock
from roost.core.errors import RoostError, StoreClosed
from roost.core.ids import SessionId, UserId
from roost.memory.base import MemoryProvider
from roost.runtime.persistence import persisted
from roost.runtime.provider_calls import CALL_LIMIT, ProviderCalls
from roost.runtime.segments import Committer, Failed, Nothing, Outcome, Report, retry_delay
from roost.store.memory import GivenUp, MemoryStatus
from roost.store.store import Store
from roost.testing import faults

log = structlog.stdlib.get_logger("roost.memory")

PERIOD = 5.0
GROUP = 1000
MOST = 1000
"""Boundaries that are seen to at a time. The next look finds those beyond in the store, once their
sessions rest: what waits for a memory that is slow or gone takes no place here."""
REPEATS = 10.0
"""Seconds that a stop waits for a commit under way that was tried before, if it has no time of its
own: a Roost that only ever answers one question would never get it done."""
OBEY = 0.5
"""Seconds that what is given up at the end of a shutdown has to stop."""

_Asked = tuple[UserId | None, SessionId]


class MemoryCommits:
    """Needs the store and the providers, and no agent (C8): what is uncommitted can be read from
    the store alone, whenever it was said.

    A session's commits are made one after the other. Between a boundary and the commit nothing has
    to be remembered here: the marks stand in the store, and whoever starts next finds them.
    """

    def __init__(
        self,
        store: Store,
        providers: Mapping[str, MemoryProvider],
        *,
        clock: Clock,
        idle: float,
        call_limit: float = CALL_LIMIT,
        delay: Callable[[int], float] = retry_delay,
    ) -> None:
        self._marks = store.memory
        self._idle = idle
        self._calls = ProviderCalls(call_limit)
        self._committer = Committer(self._marks, providers, self._calls, clock=clock, delay=delay)
        self._serial: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[Report | None]] = set()
        self._asked: set[_Asked] = set()
        """Whose next commit is on its way and has not looked yet what there is."""
        self._retrying: set[SessionId] = set()
        self._forgetting: set[SessionId] = set()
        self._missed: set[_Asked] = set()
        """Whose boundary was not written down because the store failed."""

    def __len__(self) -> int:
        """How many commits are under way."""
        return len(self._tasks)

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """How tries to commit ended, since the start."""
        return self._committer.outcomes

    # Asking.

    def boundary(self, user: UserId | None, session: SessionId | None, why: str) -> None:
        """What was said in this session so far is to be committed. Returns at once (C8). Without a
        user it is whosever it is; one that is not this user's is left alone."""
        if session and (user, session) not in self._asked and len(self._tasks) < MOST:
            self._asked.add((user, session))
            self._spawn(self._at_boundary(user, session, why))

    def evicted(self, session: SessionId) -> None:
        """The session lost its agent, which is a boundary and nothing that a commit needs."""
        self.boundary(None, session, "eviction")

    def deleted(self, session: SessionId) -> None:
        """The session was deleted: what memory has of it is to be forgotten (C12)."""
        if session and session not in self._forgetting:
            self._forgetting.add(session)
            self._spawn(self._forget(session))

    async def commit(self, user: UserId, session: SessionId) -> Report:
        """Commit at once what this user's session has, also what waits for another try."""
        if not session:
            return Nothing()
        work = self._spawn(self._commit(user, session, at_once=True))
        # Whoever asked may leave; what has begun is written down all the same.
        await asyncio.shield(asyncio.wait([work]))
        return Failed("Roost stops.") if work.cancelled() else work.result() or Nothing()

    async def uncommitted(self, user: UserId, session: SessionId) -> bool:
        """Whether this user's session has turns that memory has not taken."""
        mine = bool(session) and await self._marks.owner(session) == user
        return mine and await self._marks.has_uncommitted(session)

    async def status(self, user: UserId | None) -> MemoryStatus:
        """Of one user, or of all."""
        return await self._marks.status(user)

    async def retry(self, user: UserId) -> int:
        """Try again soon all that failed, also what rests; how many segments that is."""
        return await self._marks.wake(user)

    async def give_up(self, user: UserId) -> Sequence[GivenUp]:
        """Never try again what rests; what that was."""
        return await self._marks.give_up(user)

    # Running.

    async def run(self, *, period: float = PERIOD) -> None:
        """Take up what an earlier life left, and then look again and again."""
        try:
            await self.recover()
        except Exception:
            log.exception("memory commits could not be taken up; idle time brings them back")
        while True:
            await asyncio.sleep(period)
            try:
                await self.look()
            except StoreClosed:
                return
            except Exception:
                log.exception("memory commits failed; looking again")

    async def recover(self) -> None:
        """Roost has stopped since: for every session that is a boundary (C9, C10)."""
        for found in await self._marks.all_waiting():
            self.boundary(found.user, found.session, "start")

    async def look(self) -> None:
        """One look at what is due: failed commits, idle sessions, boundaries that were missed, what
        is to be forgotten."""
        missed, self._missed = self._missed, set()
        for user, session in missed:
            self.boundary(user, session, "missed")
        for found in await self._marks.waiting_sessions(self._idle):
            self.boundary(found.user, found.session, "idle")
        for segment in await self._marks.due(limit=GROUP):
            if segment.session not in self._retrying:
                self._retrying.add(segment.session)
                self._spawn(self._retry(segment.user, segment.session))
        for deleted in await self._marks.to_forget():
            self.deleted(deleted.session)

    async def drain(self, seconds: float) -> None:
        """Commit everything that is not, as far as that goes in this time. What does not make it,
        and what failed and is not due again, is found by the next start (C9). Without time nothing
        is begun."""
        loop = asyncio.get_running_loop()
        until = loop.time() + max(seconds, REPEATS if self._committer.repeats else 0.0)
        self._calls.hurry(until)
        try:
            async with asyncio.timeout_at(until):
                if seconds:
                    await self._commit_waiting(until)
                if self._tasks:
                    await asyncio.wait(self._tasks)
        except TimeoutError:
            log.info("memory had too little time to be drained", seconds=seconds)
        except RoostError as error:
            log.warning("memory could not be drained", error=str(error))
        await self._give_up()

    async def _commit_waiting(self, until: float) -> None:
        """In groups. One that takes half of the time goes on beside the next: it may be all of a
        memory that hangs."""
        waiting = await self._marks.all_waiting()
        for first in range(0, len(waiting), MOST):
            group = waiting[first : first + MOST]
            work = [self._at_boundary(each.user, each.session, "shutdown") for each in group]
            left = until - asyncio.get_running_loop().time()
            await asyncio.wait([self._spawn(each) for each in work], timeout=max(0.0, left / 2))

    async def _give_up(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            log.warning("memory commits are left for the next start", commits=len(self._tasks))
            await asyncio.wait(self._tasks, timeout=OBEY)
        await self._calls.close()

    def _spawn(self, work: Coroutine[object, object, Report | None]) -> asyncio.Task[Report | None]:
        # In a context of its own: it does not belong to the turn that happened to cause it.
        task = asyncio.create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # Committing.

    async def _at_boundary(self, user: UserId | None, session: SessionId, why: str) -> None:
        try:
            report = await self._commit(user, session)
            log.debug("memory boundary", session=session, why=why, report=report)
        except StoreClosed:
            log.debug("memory boundary is left for the next start", session=session, why=why)
        except Exception:
            log.exception("a memory boundary failed; it is tried again", session=session)
            self._missed.add((user, session))
        finally:
            self._asked.discard((user, session))

    async def _commit(
        self, user: UserId | None, session: SessionId, *, at_once: bool = False
    ) -> Report:
        """Make segments of all that is marked, and commit them. Turns that complete from then on
        are the next commit's (C4)."""
        async with self._one_at_a_time(session):
            self._asked.discard((user, session))
            owner = user or await persisted(partial(self._marks.owner, session))
            if owner is None:
                return Nothing()
            faults.reach("memory.cut.before")
            segments = await persisted(partial(self._marks.cut, owner, session))
            return await self._committer.commit_all(segments, at_once=at_once)

    async def _retry(self, user: UserId, session: SessionId) -> None:
        """Commit what is due. Newer turns are left alone: theirs is the next boundary."""
        try:
            async with self._one_at_a_time(session):
                await self._committer.commit_all(await self._marks.pending(user, session))
        except Exception:
            log.exception("memory commits failed; looking again", session=session)
        finally:
            self._retrying.discard(session)

    async def _forget(self, session: SessionId) -> None:
        """After a commit that is under way: it may still bring something."""
        try:
            async with self._one_at_a_time(session):
                self._forgetting.discard(session)
                await self._committer.forget(await self._marks.to_forget(session))
        except Exception:
            log.exception("a session was not forgotten; looking again", session=session)
        finally:
            self._forgetting.discard(session)

    def _one_at_a_time(self, session: SessionId) -> asyncio.Lock:
        return self._serial.setdefault(session, asyncio.Lock())


class PostponedCommits(MemoryCommits):
    """Leaves every boundary to the next start, which finds it in the store."""

    def boundary(self, user: UserId | None, session: SessionId | None, why: str) -> None:
        pass

    def deleted(self, session: SessionId) -> None:
        pass

    async def drain(self, seconds: float) -> None:
        """A stop is a boundary, too."""
        await super().drain(0.0)
