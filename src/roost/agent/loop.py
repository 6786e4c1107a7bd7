"""A turn: ask the model, write down what it says, run the tools it calls, and ask again."""

import asyncio
import time
from collections.abc import Sequence
from functools import partial

import msgspec
import structlog

from roost.agent.budget import Budget
from roost.agent.compaction import MAKING_ROOM, Compactor
from roost.agent.execution import Execution, Guard
from roost.agent.journal import Journal
from roost.agent.model import Model
from roost.core.compaction import Compaction, Trigger
from roost.core.errors import Conflict, ContextTooLong, ModelTransient, NoAnswer, QueueChanged
from roost.core.events import NoticeDelta, ReasoningDelta, TextDelta, ToolCallDelta
from roost.core.ids import BlobId, new_message_id
from roost.core.messages import (
    Draft,
    Message,
    Part,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
    shown,
)
from roost.core.partial import partial_parts
from roost.core.signature import Signature
from roost.core.turns import Begun, Step, ToolCall, TurnEnd
from roost.core.usage import Usage
from roost.llm.base import FellBack, Finished, Request, Retrying, ToolSchema
from roost.llm.tokens import Size
from roost.tools.base import Toolbox

log = structlog.stdlib.get_logger("roost.agent")

ATTEMPTS = 3
"""How often a step is tried whose answer breaks off."""

_HOPE = 8
"""Messages after which a compaction that gained nothing is tried again."""

_SHOWN = (TextDelta, ReasoningDelta, ToolCallDelta)


class Position(msgspec.Struct, frozen=True):
    """How much of the session's history an agent holds: up to `head`, as of `epoch`."""

    epoch: int
    head: int


class Answer(msgspec.Struct, frozen=True):
    draft: Draft
    calls: tuple[ToolCall, ...]
    usage: tuple[Usage, ...]
    cut: bool


class Agent:
    """A session's live agent. It holds the history and nothing that could not be read again."""

    def __init__(
        self,
        model: Model,
        tools: Toolbox,
        compactor: Compactor,
        *,
        guard: Guard,
        signature: Signature,
        system: str,
        schemas: tuple[ToolSchema, ...],
    ) -> None:
        self.signature = signature
        self.model = model
        self.fell_back = False
        self._asked: Request | None = None
        """What the model is answering now, until it is known what that used."""
        self._wasted: list[Usage] = []
        """What was used for answers that broke off."""
        self._tools = tools
        self._guard = guard
        self._compactor = compactor
        self._hopeless = 0
        """How many messages there were when a compaction last gained nothing."""
        self._system = system
        self._schemas = schemas
        self._messages: list[Message] = []
        self._size, self._measured = Size(), 0
        self._attached: set[BlobId] = set()
        self.position: Position | None = None
        """None is unknown: the history has to be read before the next turn."""

    async def close(self) -> None:
        """Nothing of its own to close: connections are shared among agents."""

    # History: what the runtime hands in.

    def load(self, messages: Sequence[Message], position: Position) -> None:
        self._messages, self._attached = [], set()
        self._size, self._measured = Size(), 0
        self._hopeless = 0
        self.catch_up(messages, position)

    def catch_up(self, messages: Sequence[Message], position: Position) -> None:
        self._messages += messages
        for message in messages:
            self._attached |= shown(message.parts)
        self.position = position

    def remember(self, drafts: Sequence[Draft], position: Position) -> None:
        """Add what was just written as the newest of the history, if it joins on to what is held;
        otherwise something else was written too, and the history has to be read."""
        first = position.head - len(drafts) + 1
        if self.position != Position(position.epoch, first - 1):
            return
        written = [
            Message(draft.id, draft.role, draft.parts, None, draft.partial, first + place)
            for place, draft in enumerate(drafts)
        ]
        self.catch_up(written, position)

    @property
    def size(self) -> Size:
        """Of all messages; each is measured once, and not before someone asks."""
        if self._measured < len(self._messages):
            self._size += self.model.measure(self._messages[self._measured :])
            self._measured = len(self._messages)
        return self._size

    # The turn.

    async def run(self, journal: Journal, budget: Budget) -> TurnEnd | None:
        """Carry a turn that has begun to its end; None if it is parked. What stops it short is
        raised, and whoever runs the agent writes down what there is."""
        timeout = asyncio.timeout(budget.seconds_left())
        try:
            async with timeout:
                return await self._run(journal, budget)
        except TimeoutError:
            if timeout.expired():
                raise budget.out_of_time() from None
            raise

    async def _run(self, journal: Journal, budget: Budget) -> TurnEnd | None:
        # A turn that was parked has calls to see to first.
        if (calls := await journal.open_calls()) and not await self._act(calls, journal):
            return None
        while True:
            answer = await self._step(journal, budget)
            if not answer.calls:
                reason = "length: The answer reached the model's limit." if answer.cut else None
                return TurnEnd(
                    state="completed",
                    reason=reason,
                    messages=(answer.draft,),
                    usage=answer.usage,
                )
            step = Step(messages=(answer.draft,), usage=answer.usage, unfinished=True)
            self._remember_step(step, await journal.record(step))
            if not await self._act(answer.calls, journal):
                return None

    async def _step(self, journal: Journal, budget: Budget) -> Answer:
        """Ask until there is a whole answer. One that breaks off is withdrawn and tried again."""
        await budget.look()
        budget.begin_step()
        request = await self._request(journal, budget)
        if self._compactor.is_due(request, self.size) and len(self._messages) > self._hopeless:
            request = await self._make_room(request, journal, budget, "turn") or request
        for attempt in range(1, ATTEMPTS + 1):
            query = _Query(journal)
            self._asked = request
            try:
                finished = await query.ask(self.model, request)
            except ContextTooLong:
                if attempt == ATTEMPTS:
                    raise
                smaller = await self._make_room(request, journal, budget, "overflow")
                if smaller is None:
                    raise
                request = smaller
                await journal.retry()
            except (ModelTransient, NoAnswer) as error:
                if attempt == ATTEMPTS or not (query.said or isinstance(error, NoAnswer)):
                    raise
                log.info("an answer broke off; asking again", error=str(error))
                self._wasted += await self.unaccounted(query.parts())
                await journal.retry()
                journal.emit(NoticeDelta(f"{error} Trying again."))
            else:
                return await self._answer(journal, request, finished, budget)
            finally:
                self.fell_back |= query.fell_back
        raise AssertionError("the last attempt returns or raises")

    async def unaccounted(self, parts: tuple[Part, ...]) -> tuple[Usage, ...]:
        """What an answer that broke off after these parts used. Nobody tells: it is estimated."""
        request, self._asked = self._asked, None
        wasted, self._wasted = tuple(self._wasted), []
        if request is None or not parts:
            return wasted
        said = Message(new_message_id(), "assistant", parts)
        return (*wasted, await self.model.guess(request, said, self.size))

    async def _make_room(
        self, request: Request, journal: Journal, budget: Budget, trigger: Trigger
    ) -> Request | None:
        """Compact the history between two steps (B5); None if that gained nothing."""
        spent: list[Usage] = []
        try:
            made = await self._compact(request, journal, trigger, spent)
        finally:
            # What came to nothing is counted with the answer.
            self._wasted += spent
        if made is None:
            self._hopeless = len(self._messages) + _HOPE
            return None
        for usage in made.usage:
            budget.add(usage)
        smaller = await self._request(journal, budget)
        if self._compactor.is_due(smaller, self.size):
            # What is left can't go. To do it again at every step would gain nothing.
            self._hopeless = len(self._messages) + _HOPE
        return smaller

    async def _compact(
        self, request: Request, journal: Journal, trigger: Trigger, spent: list[Usage]
    ) -> Compaction | None:
        """`spent` is what was used for nothing."""
        assert self.position is not None, "a turn that runs knows its history"
        made = await self._compactor.make(
            request,
            self.position.epoch,
            trigger=trigger,
            began=partial(journal.emit, NoticeDelta(MAKING_ROOM)),
            spent=spent,
            measured=self.size,
        )
        if made is None:
            return None
        try:
            messages, epoch, head = await journal.compact(made)
        except Conflict:
            return None  # someone pinned a message of it meanwhile
        spent.clear()
        self.load(messages, Position(epoch, head))
        return made

    async def _request(self, journal: Journal, budget: Budget) -> Request:
        profile = self.model.target.profile
        limits = [budget.output_left(), profile.output if profile.brief else None]
        return Request(
            model=self.model.target.model,
            system=self._system,
            tools=self._schemas,
            messages=tuple(self._messages),
            effort=journal.turn.options.effort,
            max_output_tokens=min([limit for limit in limits if limit is not None], default=None),
            blobs=await journal.read(sorted(self._attached)) if self._attached else {},
        )

    async def _answer(
        self, journal: Journal, request: Request, finished: Finished, budget: Budget
    ) -> Answer:
        draft = Draft(new_message_id(), "assistant", finished.parts)
        message = Message(draft.id, draft.role, draft.parts)
        usage = (*self._wasted, await self.model.account(request, finished, message, self.size))
        self._asked, self._wasted = None, []
        for each in usage:
            budget.add(each)
        calls = tuple(
            [
                ToolCall(
                    call=part.call, turn=journal.turn.id, name=part.name, arguments=part.arguments
                )
                for part in finished.parts
                if isinstance(part, ToolCallPart)
            ]
        )
        return Answer(draft, calls, usage, finished.reason == "length")

    async def _act(self, calls: Sequence[ToolCall], journal: Journal) -> bool:
        """Run tools and write down their results, in the order of the calls, with what the person
        said meanwhile. False if the turn is parked."""
        observers = self.model.observers
        results = await Execution(self._tools, journal, self._guard, observers).run(calls)
        if results is None:
            return False
        parts: tuple[ToolResultPart, ...] = tuple([results[call.call] for call in calls])
        answered = Draft(new_message_id(), "tool", parts)
        while not await self._go_on(answered, journal):
            pass
        return True

    async def _go_on(self, answered: Draft, journal: Journal) -> bool:
        """False if a steer was edited or removed before it was heard."""
        steers = await journal.steers()
        words = [Draft(new_message_id(), "user", steer.parts) for steer in steers]
        step = Step(messages=(answered, *words), steers=tuple([steer.id for steer in steers]))
        try:
            self._remember_step(step, await journal.record(step))
        except QueueChanged:
            return False
        return True

    def _remember_step(self, step: Step, begun: Begun) -> None:
        self.remember(step.messages, Position(begun.epoch, begun.head))


class _Query:
    """One attempt to get an answer. `said` tells whether any of it was shown."""

    def __init__(self, journal: Journal) -> None:
        self.said = False
        self._journal = journal
        self.fell_back = False
        self._emit = journal.emit
        self._thinking_since: float | None = None
        self._thought_ms: int | None = None

    async def ask(self, model: Model, request: Request) -> Finished:
        finished: Finished | None = None
        async with model.client.stream(request) as events:
            async for event in events:
                if isinstance(event, _SHOWN):
                    if self._thought_ms is None:
                        self._time(event)
                    self._emit(event)
                    if not self.said:
                        self.said = True
                        # Whoever watches sees the first word before the rest of its packet is read.
                        await asyncio.sleep(0)
                elif isinstance(event, Finished):
                    finished = event
                elif isinstance(event, Retrying):
                    wait = f"Trying again in {event.delay:.0f} s."
                    self._emit(NoticeDelta(f"{event.reason} {wait}"))
                elif isinstance(event, FellBack):
                    self.fell_back = True
                    other = f"{event.provider}/{event.model}"
                    self._emit(NoticeDelta(f"{event.reason} {other} answers instead."))
        assert finished is not None, "a stream that was not cut ends with Finished"
        return msgspec.structs.replace(finished, parts=self._timed(finished.parts))

    def parts(self) -> tuple[Part, ...]:
        return partial_parts(self._journal.streamed)

    def _time(self, event: TextDelta | ReasoningDelta | ToolCallDelta) -> None:
        """How long the first thought took, for people: "Thought for 9 s"."""
        now = time.monotonic()
        if isinstance(event, ReasoningDelta):
            self._thinking_since = self._thinking_since or now
        else:
            since = self._thinking_since
            self._thought_ms = round((now - since) * 1000) if since is not None else 0

    def _timed(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        for place, part in enumerate(parts):
            if isinstance(part, ReasoningPart) and part.text and self._thought_ms:
                timed = msgspec.structs.replace(part, duration_ms=self._thought_ms)
                return (*parts[:place], timed, *parts[place + 1 :])
        return parts
