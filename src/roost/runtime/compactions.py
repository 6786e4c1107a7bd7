"""Compactions outside of turns: asked for by a person, or made while nobody waits.

A turn compacts its own history, between its steps; everything else goes through here, and takes the
session's lease as a turn does. Of several that are asked for at once, the first opens an epoch and
the others find that there is nothing left to do.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial

import msgspec
import structlog

from roost.agent.compaction import MAKING_ROOM
from roost.agent.prompt import thaw_tools
from roost.core.clock import Clock
from roost.core.compaction import Compaction, Trigger
from roost.core.config import LimitsConfig
from roost.core.errors import Budget, Conflict, NotFound, RoostError
from roost.core.ids import SessionId, UserId
from roost.core.turns import TurnEnd
from roost.core.usage import Usage
from roost.llm.base import Request
from roost.runtime.building import Builder
from roost.runtime.hub import Hub
from roost.runtime.persistence import persisted
from roost.runtime.rounds import Round, Rounds
from roost.runtime.spending import check_limits
from roost.runtime.turns import Turns
from roost.store.store import Store, UserStore
from roost.store.work import Claimed

log = structlog.stdlib.get_logger("roost.compaction")

NEAR = 2 / 3
"""Of the threshold: from here on a session that nobody uses is compacted."""
FIRST_WAIT, LONGEST_WAIT = 60.0, 86_400.0
"""Seconds until an idle compaction that failed is tried again: doubled each time."""


class _Asked(msgspec.Struct, frozen=True):
    """What a person asked for during a turn, of the history as it was then. It is gone with this
    server, as they are told: nothing is lost by it, and what has to be compacted is in time."""

    user: UserId
    focus: str | None
    epoch: int
    round: Round


class _Wait(msgspec.Struct, frozen=True):
    failures: int
    until: int


class Compactions:
    """`idle` is how many seconds a session has to be quiet."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        turns: Turns,
        builder: Builder,
        *,
        clock: Clock,
        idle: float,
        limits: LimitsConfig,
        rounds: Rounds,
    ) -> None:
        self._store = store
        self._hub = hub
        self._turns = turns
        self._builder = builder
        self._clock = clock
        self._idle = idle
        self._limits = limits
        self._asked: dict[SessionId, _Asked] = {}
        self._timers: dict[SessionId, asyncio.TimerHandle] = {}
        self._waits: dict[SessionId, _Wait] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking: dict[SessionId, asyncio.Task[None]] = {}
        self._rounds = rounds

    def __len__(self) -> int:
        """How many are looked after in the background."""
        return len(self._tasks)

    async def compact(
        self, user: UserId, session: SessionId, *, focus: str | None = None
    ) -> Compaction | None:
        """What a person asks for. None if there is nothing to gain, or if someone else did it
        meanwhile. During a turn it is done after it (B6), and this says so."""
        round = self._rounds.join(session)
        found = await self._store.of(user).sessions.get(session)
        here = await self._turns.is_under_way(user, session)
        elsewhere = not here and await self._runs_elsewhere(user, session)
        if round.over:
            return None
        if here or elsewhere:
            self._asked[session] = _Asked(user, focus, found.epoch, round)
            self.heard(session)  # where it runs elsewhere, it may have ended just now
            raise Conflict(
                "A turn is under way. The conversation is compacted after it, unless this server "
                "stops before: then ask again."
            )
        return await self._make(user, session, found.epoch, "person", focus, round)

    async def _runs_elsewhere(self, user: UserId, session: SessionId) -> bool:
        if self._store.signals is None:
            return False
        live = (await self._store.of(user).history.snapshot(session, limit=1)).turn
        return live is not None and live.state == "running"

    async def _make(
        self,
        user: UserId,
        session: SessionId,
        epoch: int,
        trigger: Trigger,
        focus: str | None,
        round: Round | None = None,
    ) -> Compaction | None:
        mine = self._store.of(user)
        async with self._turns.held(session) as lease:
            found = await persisted(partial(mine.history.load, session))
            if found.session.epoch != epoch or (round is not None and round.over):
                return None  # it was rewritten while we waited
            prompt = await persisted(partial(mine.sessions.prompt, session))
            target = self._builder.plan(found.session).target
            request = Request(
                model=target.model,
                system=prompt.system if prompt else "",
                tools=thaw_tools(prompt.tools) if prompt else (),
                messages=found.messages,
            )
            compactor = self._builder.compactor(target)
            if compactor.asks:
                await check_limits(mine, found.session, self._limits)
            began = partial(self._hub.notice, session, MAKING_ROOM)
            spent: list[Usage] = []
            try:
                made = await compactor.make(
                    request, epoch, trigger=trigger, began=began, focus=focus, spent=spent
                )
                if made is None:
                    return None
                await persisted(partial(mine.history.compact, session, lease.token, made))
                spent.clear()
                self._rounds.end(session)
            except Conflict:
                return None  # rewritten, or a message of it pinned, while it was made
            finally:
                await self._count(mine, session, spent)
        self._hub.changed(session)
        return made

    async def _count(self, mine: UserStore, session: SessionId, spent: Sequence[Usage]) -> None:
        """What was used, though nothing came of it, is the session's all the same."""
        if spent:
            try:
                add = partial(mine.usage.add, session, f"compaction:{session}", tuple(spent))
                await persisted(add)
            except RoostError as error:
                log.warning("a cost could not be counted", session=session, error=str(error))

    # After turns.

    def finished(self, claimed: Claimed, end: TurnEnd) -> None:
        """A turn ended: what was asked for meanwhile is done now, if it is still needed; and a
        session that is nearly full is looked at again when it has been quiet for a while."""
        session = claimed.session
        if (asked := self._asked.pop(session.id, None)) is not None:
            self._spawn(self._afterwards(asked.user, session.id, asked))
            return
        self._put_off(session.id)
        timer = partial(self._spawn_idle, session.user, session.id)
        self._timers[session.id] = asyncio.get_running_loop().call_later(self._idle, timer)

    # What other servers do.

    def heard(self, session: SessionId) -> None:
        """A session may have been written to on another server."""
        if self._store.signals is not None and session in {*self._asked, *self._looking}:
            self._spawn(self._look_again(session))

    def look(self) -> None:
        """The same, of all that matter here."""
        for session in {*self._asked, *self._looking}:
            self.heard(session)

    async def _look_again(self, session: SessionId) -> None:
        try:
            user = await self._store.work.owner(session)
            if user is None:
                raise NotFound("session", session)
            found = await self._store.of(user).history.snapshot(session, limit=1)
        except NotFound:
            self._asked.pop(session, None)  # deleted meanwhile: nothing is left to do (B10)
            return
        except RoostError as error:
            log.warning("a session can't be looked at", session=session, error=str(error))
            return
        if found.queue:
            self.make_way(session)
        elif found.turn is None and (asked := self._asked.pop(session, None)) is not None:
            await self._afterwards(user, session, asked)

    def _put_off(self, session: SessionId) -> None:
        if (timer := self._timers.pop(session, None)) is not None:
            timer.cancel()

    def _spawn_idle(self, user: UserId, session: SessionId) -> None:
        self._timers.pop(session, None)
        self._looking[session] = task = self._spawn(self.look_at(user, session))
        task.add_done_callback(lambda _: self._looking.pop(session, None))

    def make_way(self, session: SessionId) -> None:
        """Somebody has something to say: what was done because nobody had can wait."""
        self._put_off(session)
        if (looking := self._looking.get(session)) is not None:
            looking.cancel()

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def look_at(self, user: UserId, session: SessionId) -> None:
        """Compact an idle session if it is nearly full."""
        await self._afterwards(user, session, None)

    async def _afterwards(self, user: UserId, session: SessionId, asked: _Asked | None) -> None:
        try:
            found = await self._store.of(user).sessions.get(session)
            if asked is not None:
                # If the turn itself has compacted meanwhile, there is no need any more.
                await self._make(user, session, asked.epoch, "person", asked.focus, asked.round)
            elif await self._is_near(user, session):
                await self._make(user, session, found.epoch, "idle", None)
            self._waits.pop(session, None)
        except NotFound:
            self._waits.pop(session, None)  # deleted meanwhile: nothing is left to do (B10)
        except Conflict:
            if asked is not None:
                self._asked.setdefault(session, asked)  # after the turn that came first, then
        except Budget as error:
            log.info("a compaction waits", session=session, why=str(error))
        except RoostError as error:
            log.warning("a compaction failed", session=session, error=str(error))
            self._failed(session)
        except Exception:
            log.exception("a compaction failed", session=session)
            self._failed(session)

    async def _is_near(self, user: UserId, session: SessionId) -> bool:
        wait = self._waits.get(session)
        if self._turns.is_running(session) or (wait and wait.until > self._clock.now()):
            return False
        found = await self._store.of(user).history.load(session)
        target = self._builder.plan(found.session).target
        return self._builder.compactor(target).is_near(target.model, found.messages, NEAR)

    def _failed(self, session: SessionId) -> None:
        failures = self._waits[session].failures + 1 if session in self._waits else 1
        seconds = min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT)
        self._waits[session] = _Wait(failures, self._clock.now() + round(seconds * 1000))

    async def stop(self) -> None:
        """What is under way is given up: the history stays as it is, and is compacted another
        time."""
        for timer in self._timers.values():
            timer.cancel()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
