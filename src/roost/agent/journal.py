"""The agent's only way to write. Whoever runs the agent implements it, with the session's token."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from roost.core.approvals import Approval, Question, Rule
from roost.core.compaction import Compaction
from roost.core.events import Delta
from roost.core.ids import BlobId, ToolCallId, UserId
from roost.core.messages import Message, Part
from roost.core.turns import Begun, Step, ToolCall, ToolCallState, Turn


class Journal(Protocol):
    """The turn as it is written down. What returns has become durable, except for `emit`."""

    @property
    def user(self) -> UserId: ...

    @property
    def turn(self) -> Turn: ...

    @property
    def streamed(self) -> tuple[Delta, ...]:
        """What the attempt under way has shown so far."""
        ...

    def emit(self, delta: Delta) -> None:
        """Show something of the attempt under way; a tick makes it durable soon."""
        ...

    async def record(self, step: Step) -> Begun:
        """Write what a step has come to, and begin the next attempt."""
        ...

    async def retry(self) -> None:
        """Give up the attempt under way and begin another of the same step."""
        ...

    async def move(
        self, call: ToolCallId, state: ToolCallState, result: tuple[Part, ...] | None = None
    ) -> None:
        """Before a tool's effect, and after its result."""
        ...

    async def park(self, questions: tuple[Question, ...]) -> None:
        """Wait for a person. The turn is no longer this agent's."""
        ...

    async def compact(self, compaction: Compaction) -> tuple[Sequence[Message], int, int]:
        """Write a compaction between two steps: the history as it is then, its epoch, and the
        position of its newest message."""
        ...

    async def steers(self) -> Sequence[Turn]:
        """Messages sent meanwhile that want to be heard before the turn is over, in order."""
        ...

    async def open_calls(self) -> Sequence[ToolCall]:
        """The tool calls of this turn whose results do not stand in its history yet."""
        ...

    async def approvals(self) -> Mapping[ToolCallId, Approval]:
        """What was asked for this turn's tool calls, each at its latest."""
        ...

    async def rules(self) -> Sequence[Rule]:
        """What the user has settled for this session, or for all of theirs."""
        ...

    async def keep(self, data: bytes, media_type: str) -> BlobId:
        """Store what a tool's result will name."""
        ...

    async def read(self, blobs: Sequence[BlobId]) -> Mapping[BlobId, bytes]:
        """The attachments of the history, but for those that were lost."""
        ...
