"""Turns: send a message, see to what waits, stop, retry, take back."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from roost.core.errors import InvalidInput
from roost.core.ids import SessionId, TurnId
from roost.core.messages import FilePart, ImagePart, Part, TextPart
from roost.core.turns import Effort
from roost.http.calls import Call
from roost.http.endpoint import Header, endpoint
from roost.http.fields import GivenBlob, GivenTurn, OwnTurn, Phrase, Text
from roost.http.views import TurnView, turn_view

_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_LONGEST_KEY = 200


class Attachment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that was uploaded before."""

    file: GivenBlob
    name: Phrase


class Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person says: words, files, or both."""

    text: Text = ""
    files: Annotated[tuple[Attachment, ...], msgspec.Meta(max_length=50)] = ()


class NewMessage(Said, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """While a turn runs it waits for its own, or, as a `steer`, joins that one at its next step.
    Sent again with the same `id`, or the same `Idempotency-Key`, it is the same turn."""

    id: OwnTurn | None = None
    steer: bool = False
    effort: Effort | None = None


class Requeued(Said, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Without words and files it says what it said. A `steer` joins the turn under way at its next
    step."""

    steer: bool | None = None


class Edited(Said, frozen=True, kw_only=True, forbid_unknown_fields=True):
    effort: Effort | None = None


class WhichTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Without a turn it is the latest."""

    turn: GivenTurn | None = None


class Retry(WhichTurn, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Without a turn it is the latest. A `model` is the session's from then on."""

    model: Phrase | None = None


class TurnList(msgspec.Struct, frozen=True):
    turns: Sequence[TurnView]


class Cancelled(msgspec.Struct, frozen=True):
    """Whether there was a turn to stop."""

    cancelled: bool


async def parts_of(call: Call, said: Said) -> tuple[Part, ...]:
    """What kind of file it is stands with the file; a client only names it."""
    parts: list[Part] = [TextPart(said.text)] if said.text else []
    for each in said.files:
        blob = await call.account.files.get(each.file)
        if blob.media_type in _PICTURES:
            parts.append(ImagePart(blob.id, blob.media_type, each.name))
        else:
            parts.append(FilePart(blob.id, blob.media_type, each.name, blob.size))
    return tuple(parts)


def check_key(key: str | None) -> None:
    if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isprintable()):
        raise InvalidInput(f"An Idempotency-Key is a text of 1 to {_LONGEST_KEY} characters.")


async def sent(
    call: Call,
    session: SessionId,
    body: NewMessage,
    key: Annotated[str | None, Header("Idempotency-Key")],
) -> TurnView:
    """Send a message. Once this answers, it can't be lost."""
    check_key(key)
    turn = await call.account.send(
        session,
        await parts_of(call, body),
        id=body.id,
        key=key,
        steer=body.steer,
        route=call.surface if call.who.via == "cli" else None,
        effort=body.effort,
    )
    return turn_view(turn)


async def listed(call: Call, session: SessionId) -> TurnList:
    """List a session's turns, those that were taken back included."""
    return TurnList([turn_view(turn) for turn in await call.account.turns(session)])


async def found(call: Call, session: SessionId, turn: TurnId) -> TurnView:
    """Read a turn."""
    return turn_view(await call.account.turn(session, turn))


async def queue(call: Call, session: SessionId) -> TurnList:
    """List what waits for its turn, the next one first."""
    await call.account.session(session)
    return TurnList([turn_view(turn) for turn in await call.account.queue(session)])


async def requeued(call: Call, session: SessionId, turn: TurnId, body: Requeued) -> TurnView:
    """Change a message that waits, or have it join the turn under way after all."""
    await call.account.turn(session, turn)
    parts = await parts_of(call, body)
    said = None if not parts and body.steer is not None else parts
    return turn_view(await call.account.edit_queued(turn, said, steer=body.steer))


async def removed(call: Call, session: SessionId, turn: TurnId) -> None:
    """Take a message that waits out of the queue."""
    await call.account.turn(session, turn)
    await call.account.remove_queued(turn)


async def cancelled(call: Call, session: SessionId, body: WhichTurn) -> Cancelled:
    """Stop the turn under way, or the named one. What it said is kept, what waits goes on."""
    return Cancelled(await call.account.cancel(session, body.turn))


async def continued(call: Call, session: SessionId) -> TurnView:
    """Go on with the last turn, if it stopped short."""
    await call.account.session(session)
    return turn_view(await call.account.proceed(session))


async def retried(call: Call, session: SessionId, body: Retry) -> TurnView:
    """Take a turn back, with all that came after it, and ask the same again, or another model."""
    call.check_model(body.model)
    await call.account.session(session)
    retry = call.account.history.retry
    return turn_view(await retry(session, body.turn, model=body.model))


async def undone(call: Call, session: SessionId, body: WhichTurn) -> TurnView:
    """Take a turn back, with all that came after it."""
    await call.account.session(session)
    return turn_view(await call.account.history.undo(session, body.turn))


async def edited(call: Call, session: SessionId, turn: TurnId, body: Edited) -> TurnView:
    """Take a turn back, with all that came after it, and say something else instead."""
    await call.account.turn(session, turn)
    parts = await parts_of(call, body)
    return turn_view(await call.account.history.edit(session, turn, parts, effort=body.effort))


ENDPOINTS = (
    endpoint("POST", "/api/sessions/{session}/turns", sent, scope="chat", status=202),
    endpoint("GET", "/api/sessions/{session}/turns", listed, scope="read"),
    endpoint("GET", "/api/sessions/{session}/turns/{turn}", found, scope="read"),
    endpoint("PUT", "/api/sessions/{session}/turns/{turn}", edited, scope="chat", status=202),
    endpoint("GET", "/api/sessions/{session}/queue", queue, scope="read"),
    endpoint("PUT", "/api/sessions/{session}/queue/{turn}", requeued, scope="chat"),
    endpoint("DELETE", "/api/sessions/{session}/queue/{turn}", removed, scope="chat"),
    endpoint("POST", "/api/sessions/{session}/cancel", cancelled, scope="chat"),
    endpoint("POST", "/api/sessions/{session}/continue", continued, scope="chat", status=202),
    endpoint("POST", "/api/sessions/{session}/retry", retried, scope="chat", status=202),
    endpoint("POST", "/api/sessions/{session}/undo", undone, scope="chat"),
)
