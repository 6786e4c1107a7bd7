"""Segments to remember, and a model that is told what to find in them."""

from collections.abc import Mapping, Sequence

import msgspec

from roost.core.ids import SessionId, UserId, new_message_id, new_turn_id
from roost.core.messages import Message, Part, Role, TextPart
from roost.memory.base import Scope, Segment
from roost.memory.ports import Inquiry

Stated = Mapping[str, object]

ADA = Scope("builtin", "default", UserId("usr_ada"))
SESSION = SessionId("ses_1")


class Model:
    """Answers in turn; with nothing planned it finds no facts."""

    def __init__(self) -> None:
        self.answers: list[str | Exception] = []
        self.asked: list[Inquiry] = []

    def plan(self, *facts: Stated, entities: Sequence[Stated] = ()) -> None:
        answer = {"facts": [{"turn": 1, **fact} for fact in facts], "entities": list(entities)}
        self.answers.append(msgspec.json.encode(answer).decode())

    async def __call__(self, inquiry: Inquiry) -> str:
        self.asked.append(inquiry)
        answer = self.answers.pop(0) if self.answers else '{"facts": []}'
        if isinstance(answer, Exception):
            raise answer
        return answer


def segment(
    key: str, *said: str, scope: Scope = ADA, session: SessionId = SESSION, answer: str = "Noted."
) -> Segment:
    """A turn for each thing said."""
    turns = [new_turn_id() for _ in said]
    messages: list[Message] = []
    for turn, text in zip(turns, said, strict=True):
        messages += [spoken("user", text, turn=turn), spoken("assistant", answer, turn=turn)]
    return Segment(
        key=key, scope=scope, session=session, turns=tuple(turns), messages=tuple(messages)
    )


def spoken(role: Role, text: str, *more: Part, turn: str) -> Message:
    at = 1_800_000_000_000
    parts = (TextPart(text), *more)
    return msgspec.structs.replace(Message(new_message_id(), role, parts, created_at=at), turn=turn)
