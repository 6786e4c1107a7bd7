"""Gives sessions their titles in the background, once there is something to name."""

import asyncio

import structlog

from roost.agent.titles import make_title, plain_title
from roost.core.errors import RoostError
from roost.core.messages import plain_text
from roost.core.turns import TurnEnd
from roost.core.usage import Usage
from roost.runtime.building import Builder
from roost.runtime.hub import Hub
from roost.store.store import Store
from roost.store.work import Claimed

log = structlog.stdlib.get_logger("roost.titles")


class Naming:
    def __init__(self, store: Store, hub: Hub, builder: Builder) -> None:
        self._store = store
        self._hub = hub
        self._builder = builder
        self._tasks: dict[asyncio.Task[None], Claimed] = {}

    def finished(self, claimed: Claimed, end: TurnEnd) -> None:
        """A turn ended. A session that has no title gets one after its first whole answer."""
        if end.state == "completed" and claimed.session.title is None:
            task = asyncio.create_task(self._name(claimed, end))
            self._tasks[task] = claimed
            task.add_done_callback(self._tasks.pop)

    async def stop(self) -> None:
        """Whoever waits for a title is named by the first words instead."""
        unnamed = dict(self._tasks)
        for task in unnamed:
            task.cancel()
        if unnamed:
            await asyncio.wait(unnamed)
        for claimed in unnamed.values():
            await self._suggest(claimed, plain_title(plain_text(claimed.turn.parts)), ())

    async def _name(self, claimed: Claimed, end: TurnEnd) -> None:
        session = claimed.session
        try:
            model = self._builder.small_model(session)
            question = plain_text(claimed.turn.parts)
            answer = plain_text(end.messages[-1].parts)
            title, usage = await make_title(model, question, answer)
        except Exception as error:
            unexpected = None if isinstance(error, RoostError | TimeoutError) else error
            log.warning(
                "no title could be made",
                session=session.id,
                error=str(error),
                exc_info=unexpected,
            )
        else:
            await self._suggest(claimed, title, usage)

    async def _suggest(self, claimed: Claimed, title: str, usage: tuple[Usage, ...]) -> None:
        session = claimed.session
        try:
            sessions = self._store.of(session.user).sessions
            await sessions.suggest_title(session.id, title or "Untitled", usage)
            self._hub.changed(session.id)
        except RoostError as error:
            log.warning("a title could not be stored", session=session.id, error=str(error))
