"""Joins the servers on one store: what is written on one is seen on all."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from roost.core.errors import StoreError
from roost.core.ids import SessionId
from roost.runtime.departures import Departures
from roost.runtime.parts import Parts
from roost.store.signals import Signals, Told

log = structlog.stdlib.get_logger("roost.echo")


class Echo:
    def __init__(self, signals: Signals, parts: Parts) -> None:
        self._signals = signals
        self._work = parts.store.work
        self._hub = parts.hub
        self._turns = parts.turns
        self._feeds = parts.feeds
        self._compactions = parts.compactions
        self._delivery = parts.delivery
        self._catalogue = parts.catalogue
        self._switchboard = parts.switchboard
        self._departures = Departures(parts)
        parts.hub.tellers.append(self._changed)
        parts.checkpoints.tellers.append(self._streamed)
        parts.delivery.tellers.append(self._wrote)
        parts.catalogue.tellers.append(self._set_up)
        parts.switchboard.tellers.append(self._set_up)

    def _changed(self, session: SessionId) -> None:
        self._signals.tell(changed=session)

    def _streamed(self, session: SessionId) -> None:
        self._signals.tell(streamed=session)

    def _wrote(self, route: str) -> None:
        self._signals.tell(route=route)

    def _set_up(self) -> None:
        self._signals.tell(settings=True)

    async def run(self) -> None:
        """Until cancelled. What has to be read over does not keep back what is shown as it
        streams."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hear(self._follow))
            group.create_task(self._hear(self._keep_up))

    async def _hear(self, take: Callable[[Told], Awaitable[None]]) -> None:
        async for told in self._signals.listen():
            try:
                await take(told)
            except StoreError as error:
                log.warning("what another server did can't be read", error=str(error))
            except Exception:
                log.exception("what another server told could not be taken in")

    # Sessions.

    async def _follow(self, told: Told) -> None:
        for session in told.streamed:
            self._hub.heard_streaming(session)
        for session in told.changed:
            self._hub.heard(session)
            self._turns.freed(session)
            self._compactions.heard(session)
        for route in told.routes:
            self._delivery.heard(route)
        if told.everything:
            await self._look()
        elif told.changed or told.people:
            # A session may have been left to whoever comes first. Few are: to claim takes several
            # times as long as to look, and all servers would do it after each other's writes.
            if told.people or await self._work.waits_among(told.changed):
                self._turns.wake()
            await self._turns.obey(None if told.people else told.changed)

    async def _look(self) -> None:
        """At all that matters here, since a word may have been lost."""
        self._turns.wake()
        self._delivery.heard(None)
        self._feeds.look()
        self._compactions.look()
        await self._turns.obey()
        watched = self._hub.watched
        now_at = await self._work.revisions(watched) if watched else {}
        for session in watched:
            if now_at.get(session) != self._hub.revision(session):
                self._hub.heard(session)
            self._hub.heard_streaming(session)

    # What is kept here of what an admin has set up, and of who may do what.

    async def _keep_up(self, told: Told) -> None:
        if told.settings or told.everything:
            await self._catalogue.refresh()
            await self._switchboard.refresh()
        if told.people or told.everything:
            await self._departures.look()
