"""What one user can do with Roost. Every surface goes through here; none talks to the store."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import NamedTuple

import msgspec

from roost.agent.loop import Agent
from roost.core.approvals import Approval, Decision, Keep, Rule, RuleDecision, parse_rule
from roost.core.compaction import Compaction
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.events import Changed, Cursor, SessionEvent, Snapshot, TurnUpdated
from roost.core.ids import (
    ApprovalId,
    BlobId,
    MessageId,
    RuleId,
    SessionId,
    TurnId,
    UserId,
    new_rule_id,
    new_session_id,
    new_turn_id,
)
from roost.core.messages import Message, Part, TextPart, check_text
from roost.core.sessions import NewSession, Parent, Session
from roost.core.turns import ENDED, Effort, NewTurn, Turn, TurnOptions
from roost.runtime.agents import Agents
from roost.runtime.building import Builder
from roost.runtime.checkpoint import Checkpoints
from roost.runtime.compactions import Compactions
from roost.runtime.feed import Events, Feeds
from roost.runtime.hub import Hub
from roost.runtime.memory_commits import MemoryCommits
from roost.runtime.segments import Report
from roost.runtime.turns import Turns
from roost.store.blobs import Blob
from roost.store.history import Epoch
from roost.store.memory import GivenUp, MemoryStatus
from roost.store.search import Hit, SearchFilter
from roost.store.sessions import ListCursor, SessionFilter, SessionPatch
from roost.store.store import Store
from roost.store.transfer import Imported
from roost.store.usage import Used, UsedOnDay
from roost.tools.toolsets import toolset as known_toolset
from roost.workspace.workspace import Workspace
from roost.workspace.workspaces import Workspaces

_SOON = 0.05


class Parts(NamedTuple):
    """What the application is made of."""

    store: Store
    hub: Hub
    checkpoints: Checkpoints
    turns: Turns
    agents: Agents[Agent]
    builder: Builder
    compactions: Compactions
    memory: MemoryCommits
    workspaces: Workspaces | None
    feeds: Feeds


class Account:
    def __init__(self, parts: Parts, user: UserId) -> None:
        self._store = parts.store.of(user)
        self._user = user
        self._hub = parts.hub
        self._turns = parts.turns
        self._agents = parts.agents
        self._builder = parts.builder
        self._compactions = parts.compactions
        self._memory = parts.memory
        self._workspaces = parts.workspaces
        self._feeds = parts.feeds

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
        """Open a session. Without a model or a toolset of its own it begins with the default.
        `previous` is the one that it takes the place of on someone's screen: that stays open, and
        what was said there goes to memory."""
        check_text((title, project), "title or project")
        config = None
        if model is not None or instructions or toolset is not None:
            named = None if toolset is None else known_toolset(toolset)
            config = self._builder.plan_for(model, instructions, named).config
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
        if (config := (await self.session(session)).config) is None:
            plan = self._builder.plan_for(model, "", named)
        else:
            model = model or f"{config.provider}/{config.model}"
            plan = self._builder.plan_for(model, config.instructions, named or config.toolset)
        async with self._turns.held(session) as lease:
            await self._builder.configure(plan, self._user, session, lease.token)
            self._agents.drop(session)
        self._hub.changed(session)
        return await self.session(session)

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
        branched = await self._store.history.branch(session, new, at=at)
        self._hub.changed(branched.id)
        return branched

    async def end(self, session: SessionId) -> None:
        """Close a session: a turn under way is cancelled first, and what waits will not run. It can
        still be read."""
        await self._silence(session)
        async with self._turns.held(session) as lease:
            await self._store.sessions.end(session, lease.token)
            self._agents.drop(session)
        self._hub.changed(session)
        await self._end_workspace(session)
        self._memory.boundary(self._user, session, "end")

    async def delete(self, session: SessionId) -> None:
        """What memory has of it is forgotten too."""
        await self._silence(session)
        self._feeds.owned(session, self._user)
        await self._store.sessions.delete(session)
        self._turns.give_up(session)  # if one began in between
        self._agents.drop(session)
        self._hub.changed(session)
        self._memory.deleted(session)
        if self._workspaces is not None:
            await self._workspaces.forget(session)

    async def reset(self, route: str, *, origin: str) -> Session:
        """End the route's session and open another in its place."""
        new = NewSession(id=new_session_id(), origin=origin)
        old = await self._store.sessions.current(route)
        if old is None:
            opened = await self._store.sessions.reset(route, None, None, new)
            self._hub.changed(opened.id)
            return opened
        await self._silence(old)
        async with self._turns.held(old) as lease:
            opened = await self._store.sessions.reset(route, old, lease.token, new)
            self._agents.drop(old)
        self._hub.changed(old)
        self._hub.changed(opened.id)
        await self._end_workspace(old)
        self._memory.boundary(self._user, old, "reset")
        return opened

    async def _silence(self, session: SessionId) -> None:
        """Stop the turn under way with none to follow it: what waits would be taken up before
        anyone else can hold the session. What its subagents do is over with it."""
        for turn in await self.queue(session):
            with suppress(Conflict):  # it has just begun, and is the one to cancel
                await self.remove_queued(turn.id)
        await self.cancel(session)
        for child in await self.subagents(session):
            if child.ended_at is None:
                await self.end(child.id)

    async def _end_workspace(self, session: SessionId) -> None:
        if self._workspaces is not None:
            await self._workspaces.end(session)

    async def point(self, route: str, session: SessionId) -> None:
        """Make a session the current one of a route."""
        await self._store.sessions.point(route, session)

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
            parts=_parts(message),
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
            async for event in events:
                yield event
                if isinstance(event, Changed) and _ends(event, turn.id):
                    return

    async def queue(self, session: SessionId) -> Sequence[Turn]:
        return await self._store.queue.of(session)

    async def edit_queued(self, turn: TurnId, message: str | tuple[Part, ...]) -> Turn:
        edited = await self._store.queue.edit(turn, _parts(message))
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

    async def retry(self, session: SessionId, turn: TurnId | None = None) -> Turn:
        """Take a turn back, with all that came after it, and ask the same again."""
        found = await self._started(session, turn)
        return await self.edit(session, found.id, found.parts, effort=found.options.effort)

    async def edit(
        self,
        session: SessionId,
        turn: TurnId,
        message: str | tuple[Part, ...],
        *,
        effort: Effort | None = None,
    ) -> Turn:
        """Take a turn back, with all that came after it, and say something else instead."""
        found = await self._started(session, turn)
        new = NewTurn(
            id=new_turn_id(),
            parts=_parts(message),
            route=found.route,
            options=TurnOptions(effort=effort or found.options.effort),
        )
        async with self._turns.held(session) as lease:
            await self._store.history.edit(session, lease.token, turn, new)
        self._rewritten(session)
        return await self._store.turns.get(new.id)

    async def undo(self, session: SessionId, turn: TurnId | None = None) -> Turn:
        """Take back a turn, by default the last, with all that came after it."""
        found = await self._started(session, turn)
        async with self._turns.held(session) as lease:
            await self._store.history.undo(session, lease.token, found.id)
        self._rewritten(session)
        return found

    async def restore(self, session: SessionId) -> None:
        """Take back an undo or a clear after which nothing was said, or the latest compaction."""
        await self.session(session)  # whose it is
        async with self._turns.held(session) as lease:
            await self._store.history.restore(session, lease.token)
        self._rewritten(session)

    async def clear(self, session: SessionId) -> None:
        """Begin the history anew. What was said stays in past epochs."""
        await self.session(session)
        async with self._turns.held(session) as lease:
            await self._store.history.clear(session, lease.token)
            self._agents.drop(session)
        self._rewritten(session)
        self._memory.boundary(self._user, session, "clear")

    async def compact(self, session: SessionId, *, focus: str | None = None) -> Compaction | None:
        """Make room in a long conversation, giving most room to `focus`. None if there is nothing
        to gain. What is replaced stays readable; `restore` takes the latest one back."""
        return await self._compactions.compact(self._user, session, focus=focus)

    async def rewrites(self, session: SessionId) -> Sequence[Epoch]:
        """Every rewrite of the history, compactions with what is known of them."""
        return await self._store.history.epochs(session)

    async def replaced(self, session: SessionId, epoch: int) -> Sequence[Message]:
        """What left the history when an epoch was opened."""
        return await self._store.history.replaced(session, epoch)

    async def pin(self, session: SessionId, message: MessageId, *, pinned: bool = True) -> None:
        """Keep a message word for word through compactions."""
        await self._store.history.pin(session, message, pinned)
        self._agents.drop(session)  # it would not know
        self._hub.changed(session)

    def _rewritten(self, session: SessionId) -> None:
        self._hub.changed(session)
        self._turns.wake()

    async def _last(self, session: SessionId) -> Turn:
        turn = await self._store.turns.latest(session)
        if turn is None:
            raise Conflict("Nothing has been said in this session yet.")
        return turn

    async def _started(self, session: SessionId, turn: TurnId | None) -> Turn:
        """The turn to take back. One that is under way has to be stopped first."""
        found = await self._last(session) if turn is None else await self._store.turns.get(turn)
        if found.session != session:
            raise NotFound("turn", turn)
        running = self._turns.running(session)
        # Whoever asks may have read of its end before this loop came to hear of it.
        if running is not None and (await self._store.turns.get(running)).state not in ENDED:
            raise Conflict("A turn is under way. Stop it first, or wait for it.")
        return found

    # Memory.

    async def uncommitted(self, session: SessionId) -> bool:
        """Whether there are turns that memory has not taken yet."""
        return await self._memory.uncommitted(self._user, session)

    async def commit_memory(self, session: SessionId) -> Report:
        """Send what was said to memory now, and say what came of it."""
        return await self._memory.commit(self._user, session)

    async def memory_status(self) -> MemoryStatus:
        """What is on its way to memory, and what keeps it."""
        return await self._memory.status(self._user)

    async def retry_memory(self) -> int:
        """Try again soon what memory could not take, also what failed too often; how much it is."""
        return await self._memory.retry(self._user)

    async def drop_memory(self) -> Sequence[GivenUp]:
        """Let go of what failed too often: memory will not have it."""
        return await self._memory.give_up(self._user)

    # Questions.

    async def approvals(self) -> Sequence[Approval]:
        """What waits for this user's answer."""
        return await self._store.approvals.pending()

    async def answer(
        self,
        approval: ApprovalId,
        decision: Decision,
        *,
        answer: str | None = None,
        route: str | None = None,
        keep: Keep = "once",
        pattern: str | None = None,
    ) -> Approval:
        """Say yes, no, or what was asked for. It counts once; the turn goes on with it. A yes or a
        no may hold for the session, or always: for exactly this, or for what `pattern` matches."""
        check_text((answer, pattern), "answer")
        rule = None if keep == "once" else await self._rule(approval, decision, keep, pattern)
        given = await self._store.approvals.answer(
            approval, decision, answer=answer, by=self._user, on=route, rule=rule
        )
        self._hub.changed(given.session)
        self._turns.wake()
        return given

    async def _rule(
        self, approval: ApprovalId, decision: Decision, keep: Keep, pattern: str | None
    ) -> Rule:
        found = await self._store.approvals.get(approval)
        if found.kind != "approval" or decision == "answered":
            raise InvalidInput("Only a yes or a no can hold for more than once.")
        calls = await self._store.turns.tool_calls(found.turn)
        (tool,) = [call.name for call in calls if call.call == found.call]
        return Rule(
            id=new_rule_id(),
            tool=tool,
            pattern=pattern or found.asked.rule,
            decision="allow" if decision == "approved" else "deny",
            session=found.session if keep == "session" else None,
        )

    async def rules(self) -> Sequence[Rule]:
        """What this user has settled about tools, the oldest first."""
        return await self._store.rules.all()

    async def add_rule(
        self, text: str, decision: RuleDecision, *, session: SessionId | None = None
    ) -> Rule:
        """`tool` or `tool: pattern`, for one session or for all."""
        rule = parse_rule(text, decision, id=new_rule_id())
        if session is not None:
            await self.session(session)  # whose it is
            rule = msgspec.structs.replace(rule, session=session)
        await self._store.rules.add(rule)
        return rule

    async def remove_rule(self, rule: RuleId) -> None:
        await self._store.rules.remove(rule)

    # Reading.

    async def snapshot(self, session: SessionId, *, limit: int = 50) -> Snapshot:
        return await self._store.history.snapshot(session, limit=limit)

    async def messages(
        self, session: SessionId, *, before: int | None = None, limit: int = 50
    ) -> Sequence[Message]:
        return await self._store.history.page(session, before=before, limit=limit)

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

    # Files, and sessions as files.

    async def keep_file(self, chunks: AsyncIterator[bytes], media_type: str) -> Blob:
        """Store an attachment, to be named in a message within a day."""
        return await self._store.blobs.put(chunks, media_type)

    async def file(self, blob: BlobId) -> Blob:
        return await self._store.blobs.get(blob)

    def read_file(self, blob: BlobId) -> AsyncIterator[bytes]:
        return self._store.blobs.read(blob)

    async def workspace(self, session: SessionId) -> Workspace:
        """Where a session's agent works."""
        await self.session(session)  # whose it is
        if self._workspaces is None:
            raise NotFound("workspace of session", session)
        return await self._workspaces.of(self._user, session)

    async def export(self, session: SessionId) -> bytes:
        """Everything of a session, as JSON that `load` takes."""
        return await self._store.transfer.export(session)

    async def markdown(self, session: SessionId) -> str:
        """A session's history, to read."""
        return await self._store.transfer.markdown(session)

    async def load(self, document: bytes) -> Imported:
        """Take in what was exported, here or elsewhere."""
        loaded = await self._store.transfer.load(document)
        self._hub.changed(loaded.session.id)
        return loaded


def _parts(message: str | tuple[Part, ...]) -> tuple[Part, ...]:
    parts = (TextPart(message),) if isinstance(message, str) else message
    if not any(not isinstance(part, TextPart) or part.text.strip() for part in parts):
        raise InvalidInput("The message is empty.")
    check_text(parts)
    return parts


def _ends(event: Changed, turn: TurnId) -> bool:
    return any(
        isinstance(each, TurnUpdated) and each.turn == turn and each.state in ENDED
        for each in event.events
    )
