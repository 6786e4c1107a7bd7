"""What a streamed attempt amounts to when it breaks off."""

from collections.abc import Iterable

import msgspec

from roost.core.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from roost.core.ids import ToolCallId
from roost.core.messages import Part, ReasoningPart, TextPart, ToolCallPart

Spoken = TextDelta | ReasoningDelta | ToolCallDelta


class _Growing(msgspec.Struct):
    """A part on its way. `name` may come after the first piece of a tool call."""

    kind: type[Spoken]
    call: ToolCallId | None
    name: str
    pieces: list[str]


def partial_parts(deltas: Iterable[Delta]) -> tuple[Part, ...]:
    """The parts of the message that keeps what was streamed, in the order they began.

    A tool call's arguments stand as far as they came, which may be less than JSON. Reasoning has no
    payload: its maker would not take it back unfinished. What tools and Roost itself said meanwhile
    is no part of the answer.
    """
    growing: list[_Growing] = []
    calls: dict[ToolCallId, _Growing] = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            _grow_call(growing, calls, delta)
        elif isinstance(delta, TextDelta | ReasoningDelta) and delta.text:
            _grow_text(growing, delta)
    return tuple([_part(each) for each in growing])


def _grow_call(
    growing: list[_Growing], calls: dict[ToolCallId, _Growing], delta: ToolCallDelta
) -> None:
    call = calls.get(delta.call)
    if call is None:
        call = calls[delta.call] = _Growing(ToolCallDelta, delta.call, delta.name, [])
        growing.append(call)
    call.name = call.name or delta.name
    call.pieces.append(delta.arguments)


def _grow_text(growing: list[_Growing], delta: TextDelta | ReasoningDelta) -> None:
    if not growing or growing[-1].kind is not type(delta):
        growing.append(_Growing(type(delta), None, "", []))
    growing[-1].pieces.append(delta.text)


def _part(grown: _Growing) -> Part:
    text = "".join(grown.pieces)
    if grown.call is not None:
        return ToolCallPart(grown.call, grown.name, text)
    return TextPart(text) if grown.kind is TextDelta else ReasoningPart(text)
