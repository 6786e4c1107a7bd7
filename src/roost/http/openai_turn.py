"""A turn, as someone follows it who can only be told more text: what it says, and how it ends."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from http import HTTPStatus

from msgspec.structs import replace

from roost.core.events import (
    AttemptBegan,
    Changed,
    Deltas,
    ReasoningDelta,
    Rewound,
    SessionEvent,
    Snapshot,
    Streamed,
    TextDelta,
    ToolCallDelta,
    TurnUpdated,
)
from roost.core.ids import MessageId
from roost.core.messages import Message, Part, TextPart
from roost.core.turns import ENDED, Turn
from roost.http.openai_errors import NO_RETRY, OpenAIError, turn_failed
from roost.runtime.account import Account

APPROVAL_SECONDS = 300.0
"""How long a request waits for a person to answer what a tool asks. Clients wait ten minutes."""

AGAIN = "\n\n[The answer broke off here; it begins again.]\n\n"
_BETWEEN = "\n\n"
_PAGE = 200


class Words:
    """All that a turn has said: a text for each answer of its model that is kept, and the one that
    streams. What streams may be withdrawn, which text that was sent can't be: then the same words
    are not sent again, and for others it is said that they begin anew."""

    def __init__(self) -> None:
        self._kept: dict[MessageId, str] = {}
        self._streaming = ""
        self._apart = False
        self._sent = ""

    def __str__(self) -> str:
        return _BETWEEN.join(filter(None, [*self._kept.values(), self._streaming]))

    def keep(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._kept[message.id] = _text(message.parts)
            self.withdraw()

    def withdraw(self) -> None:
        self._streaming, self._apart = "", False

    def stream(self, deltas: Deltas) -> None:
        for delta in deltas.deltas:
            if isinstance(delta, ReasoningDelta | ToolCallDelta):
                self._apart = bool(self._streaming)
            elif isinstance(delta, TextDelta) and delta.text:
                self._streaming += (_BETWEEN if self._apart else "") + delta.text
                self._apart = False

    def unsent(self) -> str:
        said, sent = str(self), self._sent
        if sent.startswith(said):
            return ""
        self._sent = said
        if said.startswith(sent):
            return said[len(sent) :]
        whole = _BETWEEN.join(filter(None, self._kept.values())) if self._streaming else ""
        common = whole if whole and sent.startswith(whole) else ""
        return AGAIN + said[len(common) :].lstrip("\n")


def _text(parts: tuple[Part, ...]) -> str:
    return _BETWEEN.join([part.text for part in parts if isinstance(part, TextPart) and part.text])


class Followed:
    """Yields text until the turn has ended; `words` are all of it then, `turn` how it ended. Raises
    if there is no answer."""

    def __init__(self, account: Account, turn: Turn, events: AsyncIterator[SessionEvent]) -> None:
        self.words = Words()
        self.turn = turn
        self._account = account
        self._events = events
        self._deadline: float | None = None
        self._began = False

    async def __aiter__(self) -> AsyncIterator[str]:
        if self.turn.state in ENDED:  # before it was sent again
            await self._look()
        while self.turn.state not in ENDED:
            await self._next()
            if text := self.words.unsent():
                yield text
        if text := self.words.unsent():
            yield text
        if self.turn.state != "completed":
            raise _without_answer(self.turn)

    async def _next(self) -> None:
        try:
            async with asyncio.timeout_at(self._deadline):
                event = await anext(self._events)
        except TimeoutError:
            raise await self._unanswered() from None
        except StopAsyncIteration:
            said = "The session was deleted."
            raise OpenAIError(HTTPStatus.NOT_FOUND, said, code="not_found") from None
        turn = self.turn.id
        match event:
            case Snapshot():
                await self._begin(event)
            case Streamed() if event.cursor.turn == turn:
                self.words.stream(event.deltas)
            case Rewound() if event.turn == turn:
                self.words.withdraw()
            case Changed():
                self._change(event)
            case _:
                pass

    async def _begin(self, snapshot: Snapshot) -> None:
        """The first is from before the turn was sent. A later one stands for all that was missed,
        maybe for the end of the turn."""
        self.words.withdraw()
        self.words.keep(filter(self._is_answer, snapshot.messages))
        if snapshot.cursor.turn == self.turn.id:
            for deltas in snapshot.deltas:
                self.words.stream(deltas)
        under_way = [snapshot.turn] if snapshot.turn is not None else []
        there = [turn for turn in (*under_way, *snapshot.queue) if turn.id == self.turn.id]
        if there:
            self._become(there[0])
        elif self._began:
            await self._look()
        self._began = True

    def _change(self, event: Changed) -> None:
        for each in event.events:
            if isinstance(each, AttemptBegan) and each.turn == self.turn.id:
                self.words.withdraw()
        self.words.keep(filter(self._is_answer, event.messages))
        for each in event.events:
            if isinstance(each, TurnUpdated) and each.turn == self.turn.id:
                self._become(replace(self.turn, state=each.state, reason=each.reason))

    def _become(self, turn: Turn) -> None:
        if turn.state != "waiting":
            self._deadline = None
        elif self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + APPROVAL_SECONDS
        self.turn = turn

    def _is_answer(self, message: Message) -> bool:
        return message.turn == self.turn.id and message.role == "assistant"

    async def _look(self) -> None:
        """What is stored of a turn that has ended, from its first message on."""
        self._become(await self._account.turn(self.turn.session, self.turn.id))
        if self.turn.message is None:
            return
        found: list[Message] = []
        before: int | None = None
        while page := await self._account.messages(self.turn.session, before=before, limit=_PAGE):
            found = [*page, *found]
            before = page[0].position
            if any(message.id == self.turn.message for message in page):
                break
        self.words.keep([message for message in found if self._is_answer(message)])

    async def _unanswered(self) -> OpenAIError:
        waiting = await self._account.decisions.pending()
        asked = [each.asked.does for each in waiting if each.session == self.turn.session]
        said = f"The agent waits for an answer in Roost: {'; '.join(asked) or 'may it go on?'}"
        return OpenAIError(HTTPStatus.CONFLICT, said, code="approval_needed", headers=NO_RETRY)


def _without_answer(turn: Turn) -> OpenAIError:
    if turn.state == "failed":
        return turn_failed(turn.reason)
    if turn.state == "interrupted":
        said = "Roost was stopped. The turn goes on in its session when Roost is back."
        return OpenAIError(
            HTTPStatus.SERVICE_UNAVAILABLE, said, code="interrupted", headers=NO_RETRY
        )
    said = "The turn was stopped in Roost."
    return OpenAIError(HTTPStatus.CONFLICT, said, code=turn.state, headers=NO_RETRY)
