"""What of a turn goes to the channel that it came from: written with its end, or its questions."""

from collections.abc import Callable, Sequence

import msgspec

from roost.core.approvals import Asked, Question
from roost.core.ids import ToolCallId, TurnId
from roost.core.messages import Draft, FilePart, ImagePart, Part, plain_text, sent_files
from roost.core.outbound import Asks, Failed, Outbound, Said, encode_outbound
from roost.core.turns import OutboxEntry, Turn, TurnEnd

_decode_asked = msgspec.json.Decoder(Asked).decode

GO_ON, AGAIN = "/resume", "/retry"
_QUOTED = 200


def is_channel(route: str | None) -> bool:
    """Routes of channels begin with the channel's name and a colon; `web` and `cli` have none."""
    return route is not None and ":" in route


class Delivery:
    """`listeners` are told of every route that something was written for, once it is durable; None
    is any. `tellers` are told of what was written here. `elsewhere` says that channels may run on
    other servers."""

    def __init__(self, *, elsewhere: bool = False) -> None:
        self.listeners: list[Callable[[str | None], None]] = []
        self.tellers: list[Callable[[str], None]] = []
        self._elsewhere = elsewhere

    @property
    def has_channels(self) -> bool:
        """Whether channels run, as far as is known here."""
        return self._elsewhere or bool(self.listeners)

    def wrote(self, entries: Sequence[OutboxEntry]) -> None:
        for entry in entries:
            self.heard(entry.route)
            for teller in self.tellers:
                teller(entry.route)

    def heard(self, route: str | None) -> None:
        """The same, maybe of another server."""
        for listener in self.listeners:
            listener(route)


def with_delivery(
    turn: Turn,
    end: TurnEnd,
    attempt: int,
    *,
    before: str = "",
    watching: Sequence[str] = (),
) -> TurnEnd:
    """The end, with what the channel is told of it; `before` is what was said of it before it broke
    off and went on. An interruption is told of by recovery: the turn may go on by itself.
    `watching` are other channels where the session is current."""
    if end.state == "interrupted":
        return end
    said = before + said_in(end.messages)
    outbox = _overheard(turn, attempt, said, watching) if end.state == "completed" else ()
    if turn.route is not None and is_channel(turn.route):
        told = _completed if end.state == "completed" else _stopped
        outbox = (_entry(turn.route, turn.id, attempt, told(turn.id, end, said)), *outbox)
    return msgspec.structs.replace(end, outbox=outbox)


def _overheard(
    turn: Turn, attempt: int, answer: str, watching: Sequence[str]
) -> tuple[OutboxEntry, ...]:
    """What was asked and answered on another surface."""
    if not answer.strip():
        return ()
    asked = " ".join(plain_text(turn.parts).split())
    asked = asked if len(asked) <= _QUOTED else asked[:_QUOTED] + "…"
    body = encode_outbound(Said(f"> {asked}\n\n{answer}", turn.id))
    return tuple(
        [
            OutboxEntry(f"out_{turn.id}_{attempt}_{number}", route, body)
            for number, route in enumerate(watching)
        ]
    )


def questions_of(turn: Turn, questions: Sequence[Question], said: str) -> tuple[OutboxEntry, ...]:
    """What a turn asks before it waits; `said` is what it said with that."""
    if turn.route is None or not is_channel(turn.route):
        return ()
    return tuple(
        [
            OutboxEntry(
                f"out_{question.id}",
                turn.route,
                encode_outbound(
                    Asks(
                        said if number == 0 else "",
                        question.id,
                        question.kind,
                        _decode_asked(question.body),
                        turn.id,
                    )
                ),
            )
            for number, question in enumerate(questions)
        ]
    )


def files_of(
    turn: Turn, call: ToolCallId, result: tuple[Part, ...], *, watching: Sequence[str]
) -> tuple[OutboxEntry, ...]:
    """What a tool call gave to the person: it goes out with its result, not with the answer, which
    may be a question about it. `watching` is as above."""
    files = sent_files(result)
    if not files:
        return ()
    mine = (turn.route,) if turn.route is not None and is_channel(turn.route) else ()
    routes = (*mine, *watching)
    body = encode_outbound(Said("", turn.id, files))
    return tuple(
        [OutboxEntry(f"out_{call}_{number}", route, body) for number, route in enumerate(routes)]
    )


def interruption(route: str, turn: TurnId, attempt: int, said: str) -> OutboxEntry:
    """For a turn that will not go on by itself."""
    reason = "Roost was stopped while it answered this."
    told = Failed(said, reason, turn, "interrupted", (GO_ON, AGAIN))
    return _entry(route, turn, attempt, told)


def _completed(turn: TurnId, end: TurnEnd, text: str) -> Said:
    if end.reason is not None:
        text += f"\n\n*{_sentence(end.reason)}*"
    parts = [part for draft in end.messages if draft.role == "assistant" for part in draft.parts]
    files = tuple([part for part in parts if isinstance(part, ImagePart | FilePart)])
    return Said(text, turn, files)


def _stopped(turn: TurnId, end: TurnEnd, text: str) -> Failed:
    reason = "Stopped." if end.state == "cancelled" else _sentence(end.reason or "")
    commands = (GO_ON, AGAIN) if text else (AGAIN,)
    return Failed(text, reason, turn, end.state, commands)


def said_in(drafts: Sequence[Draft]) -> str:
    """The words of the last message of the agent's."""
    said = [plain_text(draft.parts) for draft in drafts if draft.role == "assistant"]
    return said[-1] if said else ""


def _sentence(reason: str) -> str:
    """Without the word for programs: see `reason_of`."""
    return reason.partition(": ")[2] or reason


def _entry(route: str, turn: TurnId, attempt: int, outbound: Outbound) -> OutboxEntry:
    """A turn that goes on after its end has another attempt, and another end."""
    return OutboxEntry(f"out_{turn}_{attempt}", route, encode_outbound(outbound))
