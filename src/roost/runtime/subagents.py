"""Runs subagents: each in a session of its own, for one tool call, and for no longer than that."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from functools import partial
from weakref import WeakValueDictionary

import structlog

from roost.core.config import ToolsConfig
from roost.core.errors import RoostError
from roost.core.events import Changed, SessionEvent, Snapshot, ToolCallUpdated, TurnUpdated
from roost.core.ids import SessionId, ToolCallId, TurnId, derived_id
from roost.core.messages import TextPart, plain_text
from roost.core.sessions import NewSession, Parent, Session
from roost.core.settings import ToolsetName
from roost.core.turns import ENDED, SUBAGENT_ROUTE, NewTurn, Turn
from roost.runtime.account import Account
from roost.runtime.app import App
from roost.runtime.persistence import persisted
from roost.tools.base import ToolContext, ToolError
from roost.tools.delegate import Report
from roost.tools.toolsets import includes
from roost.tools.toolsets import toolset as known_toolset

log = structlog.stdlib.get_logger("roost.subagents")

ORIGIN = "subagent"
_STOP = 0.4
"""Seconds that are waited for a subagent to stop, of the half that its caller's tool has."""
_TITLE = 60
_LAST = 20
"""Messages at the end of a session among which its last words are looked for."""

_INSTRUCTIONS = """\
You are a subagent: another agent gave you this task, and reads nothing but your last message. Do
the task, ask nothing back, and end with a message that has the whole result."""


class Subagents:
    """See `tools.delegate.Subagents`. Tools are there before the application is: `attach` tells
    them of it."""

    def __init__(self, config: ToolsConfig) -> None:
        self._most = config.subagents
        self._deepest = config.subagent_depth
        self._app: App | None = None
        self._attached = asyncio.Event()
        self._places: WeakValueDictionary[SessionId, asyncio.Semaphore] = WeakValueDictionary()
        self._closing: set[asyncio.Task[None]] = set()

    def attach(self, app: App) -> None:
        self._app = app
        self._attached.set()

    async def work(self, context: ToolContext, task: str, *, toolset: ToolsetName | None) -> Report:
        await self._attached.wait()  # a turn that goes on after a crash may be early
        assert self._app is not None, "it is attached"
        account = self._app.of(context.user)
        caller = await account.session(context.session)
        await self._check_depth(account, caller)
        place = self._place(caller.id)
        if place.locked():
            context.show("Waits until another subagent is done.\n")
        async with place:
            subagent = Subagent(self._app, account, context)
            new = subagent.planned(caller, task, toolset)
            try:
                return await subagent.work(new, task)
            finally:
                # It goes on if the caller is in a hurry: nothing may be left at work.
                closing = asyncio.create_task(subagent.close())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
                await asyncio.wait([closing], timeout=_STOP)

    def _place(self, caller: SessionId) -> asyncio.Semaphore:
        """Kept by those who use it, or wait for it."""
        place = self._places.get(caller) or asyncio.Semaphore(self._most)
        return self._places.setdefault(caller, place)

    async def _check_depth(self, account: Account, caller: Session) -> None:
        depth, parent = 1, caller.parent
        while parent is not None and parent.kind == "subagent":
            depth += 1
            parent = (await account.session(parent.session)).parent
        if depth > self._deepest:
            raise ToolError("You are a subagent yourself and can't call others. Do the task here.")


class Subagent:
    """One call's. Its ids follow from the call's: asked for again, it is the same."""

    def __init__(self, app: App, account: Account, context: ToolContext) -> None:
        self.id = child_of(context.call)
        self._turn = TurnId(derived_id(f"trn_{context.call}", ORIGIN))
        self._account = account
        self._context = context
        self._parts = app.parts
        self._store = app.parts.store.of(context.user)
        self._writing: asyncio.Task[object] | None = None

    def planned(self, caller: Session, task: str, toolset: ToolsetName | None) -> NewSession:
        """With the caller's model, and no more tools than it has."""
        builder = self._parts.builder
        config = builder.plan(caller).config
        own = known_toolset(config.toolset.partition(":")[0])
        if toolset is not None and not includes(own, toolset):
            raise ToolError(f"You have the toolset {own} and can't give a subagent {toolset}.")
        model = f"{config.provider}/{config.model}"
        instructions = f"{config.instructions}\n\n{_INSTRUCTIONS}".strip()
        return NewSession(
            id=self.id,
            origin=ORIGIN,
            title=" ".join(task.strip().partition("\n\n")[0].split())[:_TITLE],
            project=caller.project,
            parent=Parent(caller.id, "subagent", call=self._context.call),
            config=builder.plan_for(model, instructions, toolset or own).config,
        )

    async def work(self, new: NewSession, task: str) -> Report:
        await self._written(persisted(partial(self._store.sessions.create, new)))
        async with self._account.watch(self.id) as events:
            await self._written(self._send(task))
            await self._followed(events)
        return await self._report()

    async def _written(self, write: Coroutine[None, None, object]) -> None:
        """What has begun to be written is written, also if the call is cancelled meanwhile."""
        self._writing = asyncio.create_task(write)
        await asyncio.shield(self._writing)

    async def _send(self, task: str) -> Turn:
        called_by = await self._store.turns.get(self._context.turn)
        new = NewTurn(
            id=self._turn,
            parts=(TextPart(task),),
            route=SUBAGENT_ROUTE,
            options=called_by.options,
            ephemeral=True,  # nothing to remember: these are not the user's words
        )
        return await self._parts.turns.submit(self._context.user, self.id, new)

    async def _followed(self, events: AsyncIterator[SessionEvent]) -> None:
        """Until its turn has ended, telling the caller's people which tools it uses."""
        async for event in events:
            if isinstance(event, Snapshot) and (await self._found()).state in ENDED:
                return
            if isinstance(event, Changed):
                self._show(event)
                if self._ends(event):
                    return
        raise ToolError("The subagent was stopped: its session is gone, or Roost stops.")

    def _ends(self, event: Changed) -> bool:
        return any(
            isinstance(each, TurnUpdated) and each.turn == self._turn and each.state in ENDED
            for each in event.events
        )

    def _show(self, event: Changed) -> None:
        names = {call.call: call.name for call in event.calls}
        for each in event.events:
            if isinstance(each, ToolCallUpdated) and each.state == "running":
                self._context.show(f"{names.get(each.call, 'a tool')}\n")
            elif isinstance(each, TurnUpdated) and each.state == "waiting":
                self._context.show("It waits for your answer.\n")

    async def _found(self) -> Turn:
        return await persisted(partial(self._store.turns.get, self._turn))

    async def _report(self) -> Report:
        turn = await self._found()
        said = await self._said()
        done = turn.state == "completed"
        if not done:
            why = f": {turn.reason}" if turn.reason else "."
            said = f"The subagent did not finish, it is {turn.state}{why} {said}".strip()
        counters = (await self._account.session(self.id)).counters
        others = await persisted(partial(self._store.usage.of_subagents, self.id))
        return Report(
            session=self.id,
            done=done,
            text=said,
            tokens=counters.input_tokens + counters.output_tokens + others.tokens,
            cost=None if counters.unpriced else counters.cost + others.cost,
        )

    async def _said(self) -> str:
        """Its last words."""
        for message in reversed(await self._account.messages(self.id, limit=_LAST)):
            if message.role == "assistant" and (words := plain_text(message.parts)):
                return words
        return ""

    async def close(self) -> None:
        """Stop what it still does, and end its session. It can be read."""
        try:
            if self._writing is not None:
                await asyncio.wait([self._writing])
            await self._account.end(self.id)
        except RoostError as error:
            log.info("a subagent was left open", session=self.id, error=str(error))


def child_of(call: ToolCallId) -> SessionId:
    """The session of the subagent that works for a call."""
    return SessionId(derived_id(f"ses_{call}", ORIGIN))
