"""Between sessions and their workspaces: what becomes of one is told to the other."""

import asyncio
from collections import Counter
from functools import partial

import structlog

from roost.core.errors import Conflict, NotFound
from roost.core.ids import SessionId, UserId, new_message_id, new_turn_id
from roost.core.messages import ContextPart, Draft, TextPart
from roost.core.turns import NewTurn, TurnEnd
from roost.runtime.hub import Hub
from roost.runtime.persistence import persisted
from roost.runtime.turns import Turns
from roost.store.store import Store
from roost.store.work import Claimed
from roost.workspace.workspaces import Workspaces

log = structlog.stdlib.get_logger("roost.workspace")

ROUTE = "workspace"
"""Where a turn comes from that no person began."""


MOST_ALONE = 20
"""Turns in a row that ends of processes may begin."""


class WorkspaceCare:
    def __init__(self, workspaces: Workspaces, store: Store, turns: Turns, hub: Hub) -> None:
        self._workspaces = workspaces
        self._store = store
        self._turns = turns
        self._hub = hub
        self._woken: Counter[SessionId] = Counter()
        workspaces.told = self.note
        workspaces.ended = self.wake

    async def note(self, user: UserId, session: SessionId, text: str) -> None:
        """Let a session know, for good; the next tool call tells one that is in the middle of a
        turn."""
        draft = Draft(new_message_id(), "note", (TextPart(text),))
        history = self._store.of(user).history
        try:
            async with self._turns.held(session) as lease:
                await persisted(partial(history.note, session, lease.token, draft))
        except (Conflict, NotFound):
            log.info("a session could not be told", session=session, text=text)
            return
        self._hub.changed(session)

    async def wake(self, user: UserId, session: SessionId, text: str) -> None:
        """Let the agent know now: in the turn under way, or in one of its own. After so many of
        those without a person's word it is only noted: it could go on like that for ever."""
        self._woken[session] += 1
        if self._woken[session] > MOST_ALONE:
            await self.note(user, session, text)
            return
        parts = (ContextPart("workspace", text),)
        new = NewTurn(id=new_turn_id(), parts=parts, steer=True, route=ROUTE)
        try:
            await self._turns.submit(user, session, new)
        except (Conflict, NotFound) as error:
            log.info("an agent could not be told", session=session, error=str(error))
            return
        self._hub.changed(session)

    def finished(self, claimed: Claimed, end: TurnEnd) -> None:
        """A turn that a person began: someone is there."""
        if claimed.turn.route != ROUTE:
            del self._woken[claimed.session.id]

    async def run(self) -> None:
        """Reclaim what is idle, again and again; what deleted sessions left goes first."""
        try:
            await self.tidy()
        except Exception:
            log.exception("workspaces of deleted sessions could not be removed")
        await self._workspaces.run()

    async def tidy(self) -> None:
        """A crash may come between deleting a session and removing its files."""
        await self._workspaces.tidy()
        stored = await self._workspaces.stored()
        there = await self._store.work.sessions_among(stored)
        await asyncio.gather(*[self._workspaces.forget(each) for each in stored - there])
