"""What one user can do with Roost. Every surface goes through here; none talks to the store."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress

from roost.core.errors import Conflict, NotFound, WorkspaceElsewhere
from roost.core.events import Changed, Cursor, SessionEvent, Snapshot, TurnUpdated
from roost.core.ids import (
    MessageId,
    SessionId,
    TurnId,
    UserId,
    new_session_id,
    new_turn_id,
)
from roost.core.messages import Message, Part, check_text, message_parts
from roost.core.sessions import NewSession, Parent, Session
from roost.core.turns import ENDED, Effort, NewTurn, Turn, TurnOptions
from roost.llm.providers import Answerer
from roost.runtime.decisions import Decisions
from roost.runtime.endings import Endings
from roost.runtime.feed import Events
from roost.runtime.keeping import Keeping
from roost.runtime.parts import Parts
from roost.runtime.preferences import Preferring
from roost.runtime.remembering import Remembering
from roost.runtime.rewriting import Rewriting
from roost.runtime.scheduling import Scheduling
from roost.store.search import Hit, SearchFilter
from roost.store.sessions import ListCursor, Project, SessionFilter, SessionPatch
from roost.store.usage import Used, UsedOnDay
from roost.store.watching import Page
from roost.tools.toolsets import toolset as known_toolset
from roost.workspace.glance import Glance
from roost.workspace.workspace import Workspace, WorkspaceView

_SOON = 0.05


class Account:
    """Sessions and talking are here; what else a user can do has a name of its own."""

    def __init__(self, parts: Parts, user: UserId) -> None:
        self._store = parts.store.of(user)
        self._user = user
        self._hub = parts.hub
        self._turns = parts.turns
        self._agents = parts.agents
        self._endings = Endings(parts, user)
        self._builder = parts.builder
        self._compactions = parts.compactions
        self._memory = parts.memory
        self._workspaces = parts.workspaces
        self._servers = parts.store.servers
        self._feeds = parts.feeds
        self.history = Rewriting(parts, user)
        self.decisions = Decisions(parts, user)
        self.memory = Remembering(parts, user)
        self.files = Keeping(parts, user)
        self.preferences = Preferring(parts, user)
        self.schedules = Scheduling(parts, user)

    # Sessions.

    async def create(
        self,
        *,
        origin: str,
        id: SessionId | None = None,
        model: str | None = None,
        instructions: str = "",
        toolset: str | None = None,
        title: str | None = None,
        project: str | None = None,
        parent: Parent | None = None,
        previous: SessionId | None = None,
    ) -> Session:
        """Open a session. Without a model or a toolset of its own it begins with what its user
        prefers. `previous` is the one that it takes the place of on someone's screen: that stays
        open, and what was said there goes to memory."""
        check_text((title, project), "title or project")
        config = await self.preferences.config(model, instructions, toolset)
        new = NewSession(
            id=id or new_session_id(),
            origin=origin,
            title=title,
            project=project,
            parent=parent,
            config=config,
        )
        created = await self._store.sessions.create(new)
        self._hub.changed(created.id)
        self._memory.boundary(self._user, previous, "new session")
        return created

    async def session(self, session: SessionId) -> Session:
        return await self._store.sessions.get(session)

    async def sessions(
        self,
        where: SessionFilter = SessionFilter(),  # noqa: B008 (frozen)
        *,
        after: ListCursor | None = None,
        limit: int = 50,
    ) -> Sequence[Session]:
        return await self._store.sessions.page(where, after=after, limit=limit)

    async def projects(self) -> Sequence[Project]:
        """What sessions are filed under, those that are archived aside."""
        return await self._store.sessions.projects()

    async def subagents(self, session: SessionId) -> Sequence[Session]:
        """Those that work, or worked, for a session; the list of sessions leaves them out."""
        return await self._store.sessions.subagents(session)

    async def search(
        self,
        words: str,
        where: SearchFilter = SearchFilter(),  # noqa: B008 (frozen)
        *,
        before: int | None = None,
        limit: int = 20,
    ) -> Sequence[Hit]:
        """What was said in any session, newest first; `before` is the last `seq` of a page."""
        return await self._store.search(words, where, before=before, limit=limit)

    async def update(self, session: SessionId, patch: SessionPatch) -> Session:
        """Rename, pin, archive, file under a project, mark as read."""
        check_text(patch, "title or project")
        updated = await self._store.sessions.update(session, patch)
        self._hub.changed(session)
        return updated

    async def choose(
        self, session: SessionId, *, model: str | None = None, toolset: str | None = None
    ) -> Session:
        """Go on with another model or toolset, from the next turn on: with a new prompt and a new
        agent."""
        named = None if toolset is None else known_toolset(toolset)
        plan = self._builder.plan(await self.session(session), model=model, toolset=named)
        async with self._turns.held(session) as lease:
            await self._builder.configure(plan, self._user, session, lease.token)
            self._agents.drop(session)
        self._hub.changed(session)
        return await self.session(session)

    async def answerer(self, model: str | None = None) -> Answerer:
        """The model that a name stands for, or the one that answers if nobody names another."""
        target = self._builder.plan_for(model).target
        return Answerer(str(target), target.tiny)

    async def branch(self, session: SessionId, *, at: MessageId | None = None) -> Session:
        """A session of its own that begins with this one's history, up to and with a message."""
        found = await self.session(session)
        new = NewSession(
            id=new_session_id(),
            origin=found.origin,
            title=found.title,
            project=found.project,
            config=found.config,
        )
        branched = await self._store.branches.branch(session, new, at=at)
        self._hub.changed(branched.id)
        return branched

    async def end(self, session: SessionId) -> None:
        """Close a session: a turn under way is cancelled first, and what waits will not run. It can
        still be read."""
        await self._endings.end(session)

    async def delete(self, session: SessionId) -> None:
        """What memory has of it is forgotten too."""
        await self._endings.delete(session)

    async def reset(self, route: str, *, origin: str) -> Session:
        """End the route's session and open another in its place."""
        new = NewSession(id=new_session_id(), origin=origin, config=await self.preferences.config())
        return await self._endings.reset(route, new)

    async def point(self, route: str, session: SessionId) -> None:
        """Make a session the current one of a route."""
        await self._store.sessions.point(route, session)

    async def has_route(self, route: str) -> bool:
        """Whether a session of theirs was ever current there: of a channel's route, whether they
        have talked there."""
        return await self._store.sessions.has_route(route)

    async def current(self, route: str) -> SessionId | None:
        return await self._store.sessions.current(route)

    # Talking.

    async def send(
        self,
        session: SessionId,
        message: str | tuple[Part, ...],
        *,
        id: TurnId | None = None,
        key: str | None = None,
        steer: bool = False,
        route: str | None = None,
        effort: Effort | None = None,
    ) -> Turn:
        """Hand in a message. Once this returns it can't be lost; sent again with the same id or key
        it is the same turn. While a turn runs it waits, or, as a steer, joins in."""
        new = NewTurn(
            id=id or new_turn_id(),
            parts=message_parts(message),
            key=key,
            steer=steer,
            route=route,
            options=TurnOptions(effort=effort),
        )
        turn = await self._turns.submit(self._user, session, new)
        self._compactions.make_way(session)  # not before it is known whose session it is
        self._hub.changed(session)
        return turn

    async def talk(
        self,
        session: SessionId,
        message: str | tuple[Part, ...],
        *,
        effort: Effort | None = None,
        route: str | None = None,
    ) -> AsyncGenerator[SessionEvent]:
        """Send a message and follow its turn to the end. Leaving early does not stop it."""
        async with self.watch(session) as events:
            turn = await self.send(session, message, effort=effort, route=route)
            began = False
            async for event in events:
                yield event
                if began and _is_over(event, turn.id):
                    return
                began = True  # the first says how it stood before

    async def queue(self, session: SessionId) -> Sequence[Turn]:
        return await self._store.queue.of(session)

    async def edit_queued(
        self,
        turn: TurnId,
        message: str | tuple[Part, ...] | None = None,
        *,
        steer: bool | None = None,
    ) -> Turn:
        """Say it otherwise, or have it join the turn under way after all. None stays as it is."""
        parts = None if message is None else message_parts(message)
        edited = await self._store.queue.edit(turn, parts, steer=steer)
        self._hub.changed(edited.session)
        return edited

    async def remove_queued(self, turn: TurnId) -> None:
        found = await self._store.turns.get(turn)
        await self._store.queue.remove(turn)
        self._hub.changed(found.session)

    async def cancel(self, session: SessionId, turn: TurnId | None = None) -> bool:
        """Stop the turn under way, or the named one if it has not ended, also before it starts.
        What it said is kept, and what waits goes on after it. Whether there was one to stop."""
        await self.session(session)  # whose it is
        if turn is None:
            return await self._turns.cancel(self._user, session)
        while (found := await self._store.turns.get(turn)).state not in ENDED:
            if found.session != session:
                raise NotFound("turn", turn)
            # It may be taken up, or end, at any moment: whatever it has become is looked at again.
            with suppress(Conflict):
                if found.state == "queued":
                    await self.remove_queued(turn)
                elif not await self._turns.cancel(self._user, session, turn):
                    await asyncio.sleep(_SOON)  # left behind by a crash, until recovery comes
        return found.state in ("cancelled", "removed")

    async def proceed(self, session: SessionId) -> Turn:
        """Go on with the last turn, if it stopped short."""
        turn = await self._last(session)
        if turn.state == "waiting":
            raise Conflict("The turn waits for your answer. Give it, or stop the turn.")
        await self._turns.resume(self._user, session, turn.id)
        return await self._store.turns.get(turn.id)

    async def _last(self, session: SessionId) -> Turn:
        turn = await self._store.turns.latest(session)
        if turn is None:
            raise Conflict("Nothing has been said in this session yet.")
        return turn

    # Reading.

    async def snapshot(self, session: SessionId, *, limit: int = 50) -> Snapshot:
        return await self._store.history.snapshot(session, limit=limit)

    async def messages(
        self, session: SessionId, *, before: int | None = None, limit: int = 50
    ) -> Sequence[Message]:
        return await self._store.history.page(session, before=before, limit=limit)

    async def page(self, session: SessionId, *, before: int | None = None, limit: int = 50) -> Page:
        """Messages, with their turns and tool calls."""
        return await self._store.history.whole_page(session, before=before, limit=limit)

    async def turns(self, session: SessionId) -> Sequence[Turn]:
        await self.session(session)  # whose it is
        return await self._store.turns.of(session)

    async def turn(self, session: SessionId, turn: TurnId) -> Turn:
        found = await self._store.turns.get(turn)
        if found.session != session:
            raise NotFound("turn", turn)
        return found

    def watch(
        self, session: SessionId, cursor: Cursor | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[SessionEvent]]:
        """Everything that happens to a session from now on, after a snapshot or a cursor."""
        return self._hub.watch(self._user, session, cursor)

    def feed(self) -> AbstractAsyncContextManager[Events]:
        """What happens to this user's sessions and questions, all of them together."""
        return self._feeds.watch(self._user)

    async def usage(self, session: SessionId) -> Sequence[Used]:
        """What a session has used, by model."""
        return await self._store.usage.of_session(session)

    async def usage_by_day(self, *, days: int = 30) -> Sequence[UsedOnDay]:
        """What was used in the last days (UTC), today included, by day and model."""
        return await self._store.usage.by_day(days=days)

    async def workspace(self, session: SessionId) -> Workspace:
        """Where a session's agent works."""
        await self.session(session)  # whose it is
        if self._workspaces is None:
            raise NotFound("workspace of session", session)
        return await self._workspaces.of(self._user, session)

    async def glance(self, session: SessionId) -> Glance:
        """What the session's browser shows just now, without being in its agent's way."""
        await self.session(session)  # whose it is
        if self._workspaces is None:
            return Glance()
        await self._has_here(session)
        return await self._workspaces.glance(self._user, session)

    def workspaces(self) -> Sequence[WorkspaceView]:
        """What this user's agents have running on this server."""
        return () if self._workspaces is None else self._workspaces.listed(self._user)

    async def close_workspace(self, session: SessionId) -> None:
        """End its shell, processes and tabs. Its files stay."""
        await self.session(session)  # whose it is
        await self._has_here(session)
        if self._workspaces is not None:
            await self._workspaces.end(session)

    async def _has_here(self, session: SessionId) -> None:
        """Nobody is to believe that nothing runs because it runs on another server."""
        servers = self._servers
        if servers is not None and (at := await servers.has_elsewhere(session)) is not None:
            raise WorkspaceElsewhere(at)


def _is_over(event: SessionEvent, turn: TurnId) -> bool:
    """Whether a turn that was there has ended. A snapshot stands for all that could not be told."""
    match event:
        case Changed():
            moves = [each for each in event.events if isinstance(each, TurnUpdated)]
            return any(each.turn == turn and each.state in ENDED for each in moves)
        case Snapshot():
            there = (event.turn, *event.queue)
            return all(each is None or each.id != turn for each in there)
        case _:
            return False
