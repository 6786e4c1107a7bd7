"""The words for what happens, the same as on every other surface."""

import unicodedata
from collections.abc import Iterable

import msgspec

from roost.cli.ask import harmless
from roost.cli.started import as_started
from roost.core.amounts import amount
from roost.core.approvals import Approval
from roost.core.messages import Message, Part, TextPart, ToolResultPart
from roost.core.sessions import Counters, Session
from roost.core.turns import ToolCall, ToolCallState, TurnState
from roost.core.usage import NANO

_TELLING = ("command", "path", "file", "query", "url", "pattern", "question", "title", "name")
"""The arguments that say best what a tool is about to do, the best first."""

_decode_fields = msgspec.json.Decoder(dict[str, object]).decode


def one_line(text: str) -> str:
    """Text from anywhere on one line, without anything that hides or reorders part of it."""
    shown = [c if unicodedata.category(c) != "Cf" else "" for c in harmless(text)]
    return " ".join("".join(shown).split())


def seconds(duration: float) -> str:
    """How long something took: 0.3 s, 9 s, 2 min 5 s, 1 h 3 min."""
    if duration < 0.95:
        return f"{max(duration, 0.1):.1f} s"
    whole = round(duration)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def ago(then_ms: int, now_ms: int) -> str:
    """How long ago something was, in one unit."""
    passed = max(now_ms - then_ms, 0) // 1000
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if passed >= size:
            number = passed // size
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"


def thought(duration: float) -> str:
    return f"Thought for {seconds(max(duration, 1))}"


# Tool calls.


def verb(name: str) -> str:
    words = one_line(name).replace("_", " ").split()
    return " ".join(words).capitalize() or "Tool"


def subject(arguments: str) -> str:
    """What a call is about: its most telling argument."""
    try:
        decoded = _decode_fields(arguments)
    except msgspec.DecodeError:
        return ""
    given = {name: value for name, value in decoded.items() if isinstance(value, str | int)}
    for name in _TELLING:
        if name in given:
            return one_line(str(given[name]))
    return one_line(str(next(iter(given.values()), "")))


_ENDS: dict[ToolCallState, str] = {
    "failed": "failed",
    "denied": "not allowed",
    "cancelled": "stopped",
    "unknown": "unknown whether it took effect",
}


def call_end(call: ToolCall) -> str:
    """How a call went: its time, and what went wrong if something did."""
    took = ""
    if call.started_at is not None and call.ended_at is not None:
        took = seconds((call.ended_at - call.started_at) / 1000)
    return ", ".join([text for text in (_ENDS.get(call.state, ""), took) if text]) or "done"


def call_error(call: ToolCall, lines: int = 3) -> list[str]:
    """The first lines of what a failed call said."""
    if call.state not in ("failed", "denied"):
        return []
    said = [
        line
        for part in call.result or ()
        if isinstance(part, ToolResultPart)
        for line in harmless(plain(part.content)).splitlines()
        if line.strip()
    ]
    return [*said[:lines], *(["…"] if len(said) > lines else [])]


# Questions.


def question_lines(approval: Approval) -> list[str]:
    """What a person is asked, whole: what is not shown could be what matters."""
    asked = approval.asked
    if approval.kind == "question":
        return [*_lines(asked.subject), *[f"- {one_line(each)}" for each in asked.choices]]
    lines = [f"{one_line(asked.does)}?", *[f"  {line}" for line in _lines(asked.subject)]]
    if asked.why:
        lines.append(one_line(asked.why))
    if approval.directory:
        lines.append(f"In {one_line(approval.directory)}")
    return lines


def _lines(text: str) -> list[str]:
    return [one_line(line) for line in text.splitlines()]


# Turns.


def is_continuation(message: Message) -> bool:
    """Whether it only says that an answer goes on where it stopped."""
    return any(isinstance(part, TextPart) and part.note == "continuation" for part in message.parts)


def plain(parts: Iterable[Part]) -> str:
    return "".join([part.text for part in parts if isinstance(part, TextPart)])


def turn_end(state: TurnState, reason: str | None, said: int) -> str:
    """What is told when a turn ends otherwise than with an answer: what happened, what is kept,
    what to do. `said` is how many words of the answer there are."""
    why = because(reason)
    kept = f"Your message and {amount(said, 'word')} of its answer are kept."
    if not said:
        kept = "Your message is kept."
    match state:
        case "completed":
            return why
        case "cancelled":
            return f"Stopped. {'What it said' if said else 'Your message'} is kept."
        case "failed" | "interrupted":
            return f"{why or 'The turn stopped short.'} {kept} /continue or /retry."
        case "removed":
            return "Stopped before it began. The message was taken back."
        case _:
            return ""


def because(reason: str | None) -> str:
    """The sentence of a turn's reason, without the word for programs before it."""
    return one_line(as_started((reason or "").partition(": ")[2] or reason or ""))


# Sessions.


def title(session: Session) -> str:
    return one_line(session.title or "") or "untitled"


def usage(counters: Counters) -> str:
    tokens = f"{amount(counters.input_tokens, 'token')} in, {counters.output_tokens:,} out"
    calls = amount(counters.unpriced, "model call")
    unknown = f"the price of {calls} is unknown" if counters.unpriced else ""
    cost = f"${counters.cost / NANO:.4f}" if counters.cost else "" if unknown else "free"
    return ", ".join([text for text in (tokens, cost, unknown) if text]) + "."
