"""Events of a session as the hub tells them, and a page to show them on."""

import io
from collections.abc import Sequence

from rich.console import Console

from roost.cli.chat.page import Page
from roost.cli.chat.prose import THEME
from roost.core.events import (
    AttemptBegan,
    Changed,
    Cursor,
    Delta,
    Deltas,
    Event,
    MessageAdded,
    Rewound,
    Streamed,
    ToolCallUpdated,
    TurnUpdated,
)
from roost.core.ids import MessageId, ToolCallId, TurnId
from roost.core.messages import Message, Part, Role, TextPart, ToolResultPart
from roost.core.turns import ToolCall, ToolCallState, TurnState
from tests.screen import Screen

TURN = TurnId("trn_1")
CALL = ToolCallId("cal_1")


def streamed(*deltas: Delta, turn: TurnId = TURN) -> Streamed:
    return Streamed(Cursor(1, 1, turn, 1, 1), Deltas(1, 1, deltas))


def changed(
    *events: Event, messages: Sequence[Message] = (), calls: Sequence[ToolCall] = ()
) -> Changed:
    return Changed(
        cursor=Cursor(1, 1), at=0, events=events, messages=tuple(messages), calls=tuple(calls)
    )


def message(
    role: Role, *parts: Part | str, position: int = 1, turn: TurnId = TURN, partial: bool = False
) -> Message:
    made = tuple([TextPart(part) if isinstance(part, str) else part for part in parts])
    return Message(MessageId(f"msg_{position}"), role, made, turn, partial, position)


def added(*messages: Message) -> Changed:
    return changed(*[MessageAdded(each.id) for each in messages], messages=messages)


def ended(state: TurnState = "completed", reason: str | None = None) -> Changed:
    return changed(TurnUpdated(TURN, state, reason))


def answered(text: str, *, position: int = 2) -> Changed:
    said = message("assistant", text, position=position)
    return changed(MessageAdded(said.id), TurnUpdated(TURN, "completed"), messages=[said])


def attempt(number: int = 1) -> Changed:
    return changed(AttemptBegan(TURN, 1, number))


def rewound() -> Rewound:
    return Rewound(Cursor(1, 1), TURN, 1, 0)


def called(
    state: ToolCallState,
    *,
    name: str = "read_file",
    arguments: str = '{"path": "notes.md"}',
    took: int | None = None,
    result: str | None = None,
    call: ToolCallId = CALL,
) -> Changed:
    made = ToolCall(
        call=call,
        turn=TURN,
        name=name,
        arguments=arguments,
        state=state,
        started_at=None if took is None else 1000,
        ended_at=None if took is None else 1000 + took,
        result=None if result is None else (ToolResultPart(call, (TextPart(result),), error=True),),
    )
    return changed(ToolCallUpdated(call, state), calls=[made])


class Paper:
    """A page on a terminal of 60 by 20, and what stands there. Time passes when it is told to."""

    def __init__(self, *, terminal: bool = True, color: bool = False) -> None:
        self.now = 100.0
        self.file = io.StringIO()
        self.console = Console(
            file=self.file,
            theme=THEME,
            width=60,
            height=20,
            force_terminal=terminal,
            color_system="standard" if color else None,
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
            _environ={"TERM": "xterm"},
        )
        self.page = Page(self.console, clock=lambda: self.now)
        self.page.begin()

    def take(self, *events: Streamed | Changed | Rewound) -> str:
        for event in events:
            self.page.take(event)
        return self.shown

    def wait(self, seconds: float) -> str:
        self.now += seconds
        self.page.tick()
        return self.shown

    @property
    def shown(self) -> str:
        screen = Screen(20, 60)
        screen.feed(self.file.getvalue().replace("\n", "\r\n"))
        return str(screen).strip("\n")
