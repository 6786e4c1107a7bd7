"""Makes messages of what is in the outbox: the words, the buttons, the order of files."""

from collections.abc import Sequence

from roost.channels.base import Button
from roost.channels.splitting import Measure, split
from roost.core.ids import TurnId
from roost.core.outbound import Asks, Failed, Outbound, Said, StoredPiece, Told

APPROVE, DENY = "yes", "no"
_LABELS = {"/resume": "Go on", "/retry": "Try again"}
_LONGEST_LABEL = 40


def composed(outbound: Outbound, measure: Measure, limit: int) -> list[StoredPiece]:
    """At least one message, the first of which takes the place of what was shown of the turn."""
    match outbound:
        case Said():
            pieces = _texts(outbound.text, measure, limit, turn=outbound.turn)
            pieces += [StoredPiece(file=file) for file in outbound.files]
        case Failed():
            words = _joined(outbound.text, f"*{outbound.reason}*")
            buttons = tuple([Button(_LABELS[each], each) for each in outbound.commands])
            pieces = _texts(words, measure, limit, buttons=buttons, turn=outbound.turn)
        case Asks():
            buttons = _answers(outbound)
            pieces = _texts(_asked(outbound), measure, limit, buttons=buttons, turn=outbound.turn)
        case Told():
            pieces = _texts(outbound.text, measure, limit, reply_to=outbound.reply_to)
    return pieces or [StoredPiece("*(an answer without words)*")]


def _texts(
    text: str,
    measure: Measure,
    limit: int,
    *,
    buttons: tuple[Button, ...] = (),
    reply_to: str | None = None,
    turn: TurnId | None = None,
) -> list[StoredPiece]:
    """Buttons stand under the last, a reply and a turn belong to the first."""
    texts = [each for each in split(text, measure, limit) if each.strip()]
    last = len(texts) - 1
    return [
        StoredPiece(
            each,
            buttons=buttons if number == last else (),
            reply_to=reply_to if number == 0 else None,
            turn=turn if number == 0 else None,
        )
        for number, each in enumerate(texts)
    ]


def _joined(*texts: str) -> str:
    return "\n\n".join([text for text in texts if text.strip()])


def _asked(asks: Asks) -> str:
    asked = asks.asked
    if asks.question == "question":
        return _joined(asks.text, asked.subject, _choices(asked.choices))
    # What it is about can't leave its block, and be taken for something that Roost says.
    inside = asked.subject.replace("```", "``\u200b`")
    subject = f"```\n{inside}\n```" if inside else ""
    return _joined(asks.text, f"**{asked.does}?**", subject, asked.why)


def _choices(choices: Sequence[str]) -> str:
    return "\n".join([f"{number}. {each}" for number, each in enumerate(choices, 1)])


def _answers(asks: Asks) -> tuple[Button, ...]:
    if asks.question == "approval":
        return (
            Button("Approve", f"{asks.approval}:{APPROVE}"),
            Button("Deny", f"{asks.approval}:{DENY}"),
        )
    return tuple(
        [
            Button(_label(each), f"{asks.approval}:{number}")
            for number, each in enumerate(asks.asked.choices, 1)
        ]
    )


def _label(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LABEL else line[: _LONGEST_LABEL - 1] + "…"
