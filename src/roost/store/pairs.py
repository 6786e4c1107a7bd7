"""Tool calls and their results in a history: no model takes a call without its result."""

from collections.abc import Mapping, Sequence

import msgspec

from roost.core.ids import SessionId, ToolCallId, new_message_id
from roost.core.messages import Draft, Message, TextPart, ToolCallPart, ToolResultPart
from roost.store.operations import Operation, query


class Unanswered(msgspec.Struct, frozen=True):
    """A message whose `calls` have no result in its history. What answers them is to stand at
    `place`, which is not free if others speak right after it."""

    message: Message
    calls: tuple[ToolCallId, ...]
    place: int
    is_free: bool


def unanswered(history: Sequence[Message]) -> list[Unanswered]:
    """Of a live history, in its order."""
    answered = {
        part.call
        for message in history
        for part in message.parts
        if isinstance(part, ToolResultPart)
    }
    found: list[Unanswered] = []
    for at, message in enumerate(history):
        calls = [part.call for part in message.parts if isinstance(part, ToolCallPart)]
        if missing := tuple([call for call in calls if call not in answered]):
            found.append(Unanswered(message, missing, *_place_after(history, at)))
    return found


def _place_after(history: Sequence[Message], at: int) -> tuple[int, bool]:
    place = history[at].position + 1
    for later in history[at + 1 :]:
        if later.position > place:
            break
        if later.role != "tool":
            return place, False
        place += 1
    return place, True


def make_room(session: SessionId, place: int) -> Operation[None]:
    """Have all that stands there, and after it, stand one further."""
    yield query("move_messages_on", session=session, position=place)
    yield query("move_turns_on", session=session, position=place)


def stand_in(words: Mapping[ToolCallId, str]) -> Draft:
    """The message that says of each call why it has no result."""
    results = [ToolResultPart(call, (TextPart(why),), error=True) for call, why in words.items()]
    return Draft(new_message_id(), "tool", tuple(results))
