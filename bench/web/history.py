"""A long session as an export has it: to import it takes a moment, to talk that long does not."""

import time

import msgspec

from roost.core.ids import new_message_id, new_session_id, new_turn_id
from roost.core.messages import Role, TextPart
from roost.store.document import (
    Document,
    ExportedMessage,
    ExportedSession,
    ExportedTurn,
    encode,
)

_ASKED = "And what did the owl say then?"
_ANSWER = """It said **three** things, one after the other:

1. that nothing is lost which was once said,
2. that it had said so *before*, in `owl.txt`,
3. and that it would say it again.

Then it flew away, as it had done every time before, and nobody asked it why."""


def document(count: int) -> bytes:
    """Of so many messages, two in a turn."""
    now = time.time_ns() // 1_000_000
    messages: list[ExportedMessage] = []
    turns: list[ExportedTurn] = []
    for start in range(0, count, 2):
        asked = _message(_ASKED, "user", position=start, at=now)
        answer = _message(_ANSWER, "assistant", position=start + 1, at=now)
        turn = _turn(asked, place=start // 2)
        turns.append(turn)
        messages += [msgspec.structs.replace(each, turn=turn.id) for each in (asked, answer)]
    session = ExportedSession(
        id=new_session_id(),
        origin="web",
        title="Bench",
        revision=count,
        epoch=0,
        head=count,
        created_at=now,
        active_at=now,
    )
    return encode(Document(session=session, messages=tuple(messages), turns=tuple(turns)))


def _message(text: str, role: Role, *, position: int, at: int) -> ExportedMessage:
    return ExportedMessage(
        id=new_message_id(),
        role=role,
        parts=msgspec.Raw(msgspec.json.encode([TextPart(text)])),
        position=position + 1,
        revision=position + 1,
        born=0,
        created_at=at,
    )


def _turn(asked: ExportedMessage, *, place: int) -> ExportedTurn:
    return ExportedTurn(
        id=new_turn_id(),
        state="completed",
        place=place,
        options=msgspec.Raw(b"{}"),
        parts=asked.parts,
        message=asked.id,
        start=asked.position,
        created_at=asked.created_at,
        started_at=asked.created_at,
        ended_at=asked.created_at,
    )
