"""How a turn that stops short is written down: with all it said, and a result for each call."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from roost.core.events import Delta, ToolOutputDelta
from roost.core.ids import ToolCallId, new_message_id
from roost.core.messages import (
    Draft,
    FilePart,
    ImagePart,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from roost.core.partial import partial_parts
from roost.core.turns import CallEnd, EndState, ToolCall, TurnEnd

_NOT_WHOLE = "Not run: the answer broke off while it was asking for this."
_NOT_RUN = "Not run: the turn stopped before it came to this."
_CANCELLED = "Stopped while it ran."
_UNKNOWN = (
    "Roost stopped while this ran, and nobody knows whether it took effect. Check before doing it"
    " again."
)
_TAIL = 4000


def closing(
    state: EndState,
    reason: str | None,
    deltas: Sequence[Delta],
    calls: Iterable[ToolCall],
    *,
    running: Literal["cancelled", "unknown"],
) -> TurnEnd:
    """`deltas` is what the attempt under way has streamed, `calls` are the turn's tool calls;
    `running` is what became of those that ran."""
    parts = partial_parts(deltas)
    output = _shown(deltas)
    results: list[ToolResultPart] = []
    ends: list[CallEnd] = []
    for call in calls:
        if call.result is not None:
            results += [part for part in call.result if isinstance(part, ToolResultPart)]
        elif call.state == "running":
            text = _CANCELLED if running == "cancelled" else _UNKNOWN
            results.append(_result(call.call, text + output.get(call.call, "")))
            ends.append(CallEnd(call.call, running))
        elif call.state in ("requested", "waiting"):
            results.append(_result(call.call, _NOT_RUN))
            ends.append(CallEnd(call.call, "cancelled"))
    for part in parts:
        if isinstance(part, ToolCallPart):
            results.append(_result(part.call, _NOT_WHOLE))
            ends.append(CallEnd(part.call, "cancelled"))
    messages: list[Draft] = []
    if parts:
        messages.append(Draft(new_message_id(), "assistant", parts, partial=True))
    if results:
        messages.append(Draft(new_message_id(), "tool", tuple(results)))
    return TurnEnd(state=state, reason=reason, messages=tuple(messages), calls=tuple(ends))


def _shown(deltas: Iterable[Delta]) -> Mapping[ToolCallId, str]:
    """The end of what each tool had shown, for the result of one that was stopped."""
    pieces: defaultdict[ToolCallId, list[str]] = defaultdict(list)
    for delta in deltas:
        if isinstance(delta, ToolOutputDelta):
            pieces[delta.call].append(delta.text)
    return {call: f" Its output so far:\n{''.join(p)[-_TAIL:]}" for call, p in pieces.items()}


def _result(call: ToolCallId, text: str) -> ToolResultPart:
    return ToolResultPart(call, (TextPart(text),), error=True)


def plainly(end: TurnEnd) -> TurnEnd:
    """The same end in words alone, for when something that it names can't be kept."""
    messages = tuple([_in_words(draft) for draft in end.messages])
    return msgspec.structs.replace(end, messages=messages)


def _in_words(draft: Draft) -> Draft:
    parts = tuple([_words(part) for part in draft.parts])
    return Draft(new_message_id(), draft.role, parts, draft.partial)


def _words(part: Part) -> Part:
    match part:
        case ImagePart() | FilePart():
            return TextPart(f"[{part.name or part.media_type}: could not be kept]")
        case ToolResultPart():
            content = tuple(
                [
                    each
                    if isinstance(each, TextPart)
                    else TextPart(f"[{each.name or each.media_type}: could not be kept]")
                    for each in part.content
                ]
            )
            return msgspec.structs.replace(part, content=content)
        case _:
            return part
