"""Gives sessions their titles in the background, once there is something to name."""

import asyncio

import structlog

from roost.agent.titles import make_title
from roost.core.messages import plain_text
from roost.core.turns import TurnEnd
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
        self._tasks: set[asyncio.Task[None]] = set()

    def finished(self, claimed: Claimed, end: TurnEnd) -> None:
        """A turn ended. A session that has no title gets one after its first whole answer."""
        if end.state == "completed" and claimed.session.title is None:
            task = asyncio.create_task(self._name(claimed, end))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """A title is no promise: whoever is left without one gets it after the next turn."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _name(self, claimed: Claimed, end: TurnEnd) -> None:
        session = claimed.session
        try:
            model = self._builder.small_model(session)
            question = plain_text(claimed.turn.parts)
            answer = plain_text(end.messages[-1].parts)
            title, usage = await make_title(model, question, answer)
            sessions = self._store.of(session.user).sessions
            await sessions.suggest_title(session.id, title or "Untitled", usage)
        except Exception as error:  # noqa: BLE001 (whatever it was, the session goes on without)
            log.warning("no title could be made", session=session.id, error=str(error))
        else:
            self._hub.changed(session.id)
