"""A session as a person reads it on a terminal: answers as they come, everything else in a line."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from roost.cli.ask import harmless
from roost.cli.chat import words
from roost.cli.chat.blocks import Blocks
from roost.cli.chat.live import Live
from roost.cli.chat.prose import Prose
from roost.cli.started import as_started
from roost.core.events import (
    AttemptBegan,
    Changed,
    Delta,
    Noticed,
    NoticeDelta,
    ReasoningDelta,
    Rewound,
    SessionEvent,
    Snapshot,
    Streamed,
    TextDelta,
    ToolCallDelta,
    ToolOutputDelta,
    TurnUpdated,
)
from roost.core.ids import ToolCallId, TurnId
from roost.core.messages import Message, ReasoningPart, plain_text
from roost.core.turns import ENDED, ToolCall

FRAME = 1 / 15
"""Seconds between two drawings of what is being written."""

_OPEN = ("requested", "waiting", "running")
_RECALLED_LINES = 6

Kind = Literal["block", "line"]
"""Blocks stand apart from all else, lines only from blocks."""


class Page:
    """Takes a session's events in order. What is final is printed once; what may still change is
    kept at the end of the screen by `Live`."""

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._live = Live(console)
        self._last: Kind | Literal["blank", "typed"] = "blank"
        self._mine: set[TurnId] = set()
        self._watching = False
        self._seen = 0
        self._since: float | None = None
        self._drawn_at = 0.0
        self._behind = False
        # Of the attempt that is streaming.
        self._blocks = Blocks()
        self._shown: list[str] = []
        self._broke_off = False
        self._thinking_since: float | None = None
        self._thought = False
        self._preparing = ""
        # Of the turn under way.
        self._said = 0
        self._interruption = ""
        self._calls: dict[ToolCallId, ToolCall] = {}
        self._started: dict[ToolCallId, float] = {}
        self._output: dict[ToolCallId, str] = {}

    # What the loop tells.

    def expect(self, turn: TurnId) -> None:
        """The words of this turn stand on the screen already."""
        self._mine.add(turn)

    def begin(self) -> None:
        """Something is waited for from now on."""
        self._since = self._clock()

    def pause(self) -> None:
        """Nothing is waited for, or something else writes on the screen now: leave nothing there
        that could still change."""
        self._settle_text()
        self._settle_thought()
        self._settle_interruption()
        self._since = None
        self._live.clear()

    def make_room(self) -> None:
        """There will be a prompt."""
        if self._last != "blank":
            self._console.print()
        self._last = "blank"

    def typed(self) -> None:
        """There was one, and what was typed stays."""
        self._last = "typed"

    @property
    def interrupted(self) -> bool:
        """A turn was, and may go on by itself: what is to be said of it waits until `pause`."""
        return bool(self._interruption)

    @property
    def patience(self) -> float:
        """Seconds until the next `tick`, if nothing happens before."""
        return FRAME if self._behind else 1.0

    def tick(self) -> None:
        """Time has passed."""
        self._draw()

    def take(self, event: SessionEvent) -> None:
        if self._since is not None:
            self._since = self._clock()
        match event:
            case Snapshot():
                self._snapshot(event)
            case Changed():
                self._changed(event)
            case Streamed():
                self._stream(event.deltas.deltas)
            case Rewound():
                self._rewound()
            case Noticed():
                self.note(event.text)
        self._draw_soon()

    def recall(self, messages: Sequence[Message], number: int = 4) -> None:
        """The last words of a conversation, so that one knows where one was."""
        spoken = [each for each in messages if each.role in ("user", "assistant")]
        for message in [each for each in spoken if plain_text(each.parts).strip()][-number:]:
            lines = harmless(plain_text(message.parts)).strip().splitlines()
            if len(lines) > _RECALLED_LINES:
                lines = [*lines[:_RECALLED_LINES], "", "…"]
            if message.role == "user":
                self._print(_quoted(lines, "dim"), kind="block")
            else:
                self._print(Prose("\n".join(lines), style="dim"), kind="block")

    def note(self, text: str, *, dim: bool = True) -> None:
        """A line of Roost's own. It comes from anywhere, so it is made harmless."""
        self._print(Text(harmless(as_started(text)), "dim" if dim else ""), kind="line")

    def question(self, lines: Sequence[str]) -> None:
        self._print(Text(harmless("\n".join(lines)), "bold"), kind="block")

    # Events.

    def _snapshot(self, snapshot: Snapshot) -> None:
        """Where watching begins; later it takes the place of events that can't be told any more."""
        for message in snapshot.messages if self._watching else ():
            self._message(message)
        if snapshot.messages:
            self._seen = snapshot.messages[-1].position
        self._watching = True
        self._withdraw()
        self._blocks = Blocks()
        self._forget_attempt()
        for call in snapshot.calls:
            self._call(call)
        for run in snapshot.deltas:
            self._stream(run.deltas)

    def _changed(self, change: Changed) -> None:
        for message in change.messages:
            self._message(message)
        for call in change.calls:
            self._call(call)
        for event in change.events:
            if isinstance(event, AttemptBegan):
                self._withdraw(again=True)
                self._settle_text()
                self._forget_attempt()
            elif isinstance(event, TurnUpdated) and event.state in ENDED:
                self._turn_ended(event)
            elif isinstance(event, TurnUpdated):
                self._interruption = ""  # it goes on

    def _message(self, message: Message) -> None:
        if message.position <= self._seen:
            return
        self._seen = message.position
        if message.role == "assistant":
            self._answer(message)
        elif words.is_continuation(message):
            self._print(Text("Continued", "dim"), kind="block")
        elif message.role == "user" and message.turn not in self._mine:
            lines = harmless(plain_text(message.parts)).strip().splitlines()
            self._print(_quoted(lines, ""), kind="block")

    def _answer(self, message: Message) -> None:
        """The message that takes the place of what was streamed: mostly it says the same."""
        if not self._thought:
            reasons = [part for part in message.parts if isinstance(part, ReasoningPart)]
            if self._thinking_since is None and any(part.text for part in reasons):
                took = sum([part.duration_ms or 0 for part in reasons]) / 1000
                self._print(Text(words.thought(took), "dim"), kind="line")
        self._settle_thought()
        text, shown = harmless(words.plain(message.parts)), "".join(self._shown)
        if text.startswith(shown):
            self._write(text[len(shown) :])
            self._settle_text()
        else:
            self._settle_text()
            self._print(Text("The answer was written down as this:", "dim"), kind="line")
            self._write(text)
            self._settle_text()
        self._said += len(text.split())
        self._forget_attempt()

    def _call(self, call: ToolCall) -> None:
        before = self._calls.get(call.call)
        self._calls[call.call] = call
        if call.state == "running" and call.call not in self._started:
            self._started[call.call] = self._clock()
        if call.state in _OPEN or (before is not None and before.state not in _OPEN):
            return
        self._settle_text()
        self._settle_thought()
        self._output.pop(call.call, None)
        self._print(self._call_line(call, words.call_end(call)), kind="line")
        for line in words.call_error(call):
            self._print(Padding(Text(line, "dim"), (0, 0, 0, 4)), kind="line")

    def _turn_ended(self, event: TurnUpdated) -> None:
        self._withdraw()
        self._settle_text()
        self._settle_thought()
        self._calls, self._started, self._output = {}, {}, {}
        text = words.turn_end(event.state, event.reason, self._said)
        if event.state == "interrupted":
            self._interruption = text
        elif text:
            self._print(Text(text, "" if event.state != "completed" else "dim"), kind="block")
        self._said = 0

    def _settle_interruption(self) -> None:
        if self._interruption:
            self._print(Text(self._interruption), kind="block")
        self._interruption = ""

    def _rewound(self) -> None:
        """What was shown stays until it is known what comes of it: of an answer that a crash cut
        short there is a message, of one that the model begins again there is none."""
        self._broke_off = bool(self._shown) or self._thinking_since is not None
        if not self._broke_off:
            self._blocks = Blocks()
            self._forget_attempt()

    def _withdraw(self, *, again: bool = False) -> None:
        if not self._broke_off:
            return
        self._blocks = Blocks()
        self._forget_attempt()
        then = ", and it begins again." if again else "."
        text = f"The answer broke off. What it said is withdrawn{then}"
        self._print(Text(text, "dim"), kind="line")

    # What streams.

    def _stream(self, deltas: Iterable[Delta]) -> None:
        self._withdraw(again=True)
        for delta in deltas:
            match delta:
                case TextDelta():
                    self._settle_thought()
                    self._write(harmless(delta.text))
                case ReasoningDelta():
                    self._settle_text()
                    if self._thinking_since is None:
                        self._thinking_since = self._clock()
                case ToolCallDelta():
                    self._settle_text()
                    self._settle_thought()
                    self._preparing = delta.name or self._preparing
                case ToolOutputDelta():
                    # Its end is all that is shown: a line of what can be very much.
                    text = self._output.get(delta.call, "") + harmless(delta.text[-400:])
                    self._output[delta.call] = text[-400:]
                case NoticeDelta():
                    self.note(delta.text)

    def _write(self, text: str) -> None:
        if not text:
            return
        self._shown.append(text)
        for block in self._blocks.add(text):
            self._print(Prose(block), kind="block")

    def _settle_text(self) -> None:
        for block in self._blocks.close():
            self._print(Prose(block), kind="block")

    def _settle_thought(self) -> None:
        if self._thinking_since is not None:
            took = self._clock() - self._thinking_since
            self._thinking_since = None
            self._thought = True
            self._print(Text(words.thought(took), "dim"), kind="line")

    def _forget_attempt(self) -> None:
        self._shown = []
        self._broke_off = False
        self._thinking_since = None
        self._thought = False
        self._preparing = ""

    # The screen.

    def _print(self, content: RenderableType, *, kind: Kind) -> None:
        self._live.commit(["", content] if self._gap(kind) else [content])
        self._last = kind

    def _gap(self, kind: Kind) -> bool:
        return self._last != "blank" and (kind == "block" or self._last != kind)

    def _draw_soon(self) -> None:
        if self._clock() - self._drawn_at >= FRAME:
            self._draw()
        else:
            self._behind = True

    def _draw(self) -> None:
        self._behind = False
        self._drawn_at = self._clock()
        if self._since is None:
            self._live.clear()
            return
        kind, content = self._unfinished()
        if content and self._gap(kind):
            content.insert(0, "")
        self._live.show(content)

    def _unfinished(self) -> tuple[Kind, list[RenderableType]]:
        height, width = self._console.height, self._console.width
        if (tail := self._blocks.tail(height, height * width)).strip():
            return "block", [Prose(tail)]
        lines: list[RenderableType] = []
        for call in self._calls.values():
            if call.state == "running":
                lines.append(self._call_line(call, f"{self._passed(self._started[call.call])} …"))
                if output := self._output.get(call.call, "").strip():
                    lines.append(self._cut(Text("    " + output.splitlines()[-1], "dim")))
        if self._thinking_since is not None:
            lines.append(Text(f"Thinking, {self._passed(self._thinking_since)} …", "dim"))
        elif not lines and self._preparing:
            lines.append(Text(f"  {words.verb(self._preparing)} …", "dim"))
        elif not lines and self._since is not None and self._clock() - self._since >= 1:
            lines.append(Text(f"Working, {self._passed(self._since)} …", "dim"))
        return "line", lines

    def _passed(self, since: float) -> str:
        return words.seconds(max(self._clock() - since, 1))

    def _call_line(self, call: ToolCall, end: str) -> Text:
        """Verb, object, time; what doesn't fit is taken from the object."""
        what = Text(f"  {words.verb(call.name)}", "dim")
        tail = Text(f"  {end}", "dim")
        if about := words.subject(call.arguments):
            room = max(self._console.width - what.cell_len - tail.cell_len - 2, 8)
            object_ = Text(f" {about}")
            object_.truncate(room, overflow="ellipsis")
            what.append_text(object_)
        return what.append_text(tail)

    def _cut(self, text: Text) -> Text:
        text.truncate(self._console.width - 1, overflow="ellipsis")
        return text


def _quoted(lines: Sequence[str], style: str) -> Text:
    """A person's words, as they stand behind the prompt."""
    return Text("> " + "\n  ".join(lines), style)
