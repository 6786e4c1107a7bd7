"""Taking back, saying again, making room: what a user can do to a session's history."""

from collections.abc import Sequence

from roost.core.compaction import Compaction
from roost.core.errors import Conflict, NotFound
from roost.core.ids import MessageId, SessionId, TurnId, UserId, new_turn_id
from roost.core.messages import Part, message_parts
from roost.core.turns import Effort, NewTurn, Turn, TurnOptions
from roost.runtime.building import Plan
from roost.runtime.parts import Parts
from roost.store.history import Epoch
from roost.store.watching import Page


class Rewriting:
    """Each takes the session as a turn would: one at a time, and never during a turn."""

    def __init__(self, parts: Parts, user: UserId) -> None:
        self._store = parts.store.of(user)
        self._user = user
        self._hub = parts.hub
        self._turns = parts.turns
        self._agents = parts.agents
        self._compactions = parts.compactions
        self._memory = parts.memory
        self._builder = parts.builder

    async def retry(
        self, session: SessionId, turn: TurnId | None = None, *, model: str | None = None
    ) -> Turn:
        """Take a turn back, with all that came after it, and ask the same again, maybe another
        model, which is the session's from then on. One is not done without the other."""
        found = await self._started(session, turn)
        plan = None
        if model is not None:
            plan = self._builder.plan(await self._store.sessions.get(session), model=model)
        return await self._instead(found, _again(found, found.parts), plan)

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
        return await self._instead(found, _again(found, message_parts(message), effort))

    async def _instead(self, old: Turn, new: NewTurn, plan: Plan | None = None) -> Turn:
        session, history = old.session, self._store.history
        made = None if plan is None else (plan.config, self._builder.prompt(plan))
        async with self._turns.held(session) as lease:
            await history.edit(session, lease.token, old.id, new, configuration=made)
            if made is not None:
                self._agents.drop(session)
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
        await self._store.sessions.get(session)  # whose it is
        async with self._turns.held(session) as lease:
            await self._store.history.restore(session, lease.token)
        self._rewritten(session)

    async def clear(self, session: SessionId) -> None:
        """Begin the history anew. What was said stays in past epochs."""
        await self._store.sessions.get(session)  # whose it is
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
        await self._store.sessions.get(session)  # whose it is
        return await self._store.history.epochs(session)

    async def replaced(
        self, session: SessionId, epoch: int, *, before: int | None = None, limit: int = 50
    ) -> Page:
        """What left the history when an epoch was opened: the last of it, before a position."""
        if epoch not in [each.epoch for each in await self.rewrites(session)]:
            raise NotFound("rewrite", epoch)
        return await self._store.history.replaced(session, epoch, before=before, limit=limit)

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
        if await self._turns.is_under_way(self._user, session):
            raise Conflict("A turn is under way. Stop it first, or wait for it.")
        return found


def _again(old: Turn, parts: tuple[Part, ...], effort: Effort | None = None) -> NewTurn:
    options = TurnOptions(effort=effort or old.options.effort)
    return NewTurn(id=new_turn_id(), parts=parts, route=old.route, options=options)
