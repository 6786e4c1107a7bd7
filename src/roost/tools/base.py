"""What a tool is, what it is given when it runs, and what it answers."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Literal, Protocol

import msgspec

from roost.core.approvals import Approval, ApprovalKind
from roost.core.errors import ConfigError
from roost.core.ids import BlobId, SessionId, ToolCallId, TurnId, UserId
from roost.core.messages import FilePart, ImagePart, TextPart
from roost.llm.base import ToolSchema

TOOL_SECONDS = 600.0


class ToolError(Exception):
    """Something the model can mend, said to the model: a wrong argument, a missing file."""


class ToolOutput(msgspec.Struct, frozen=True):
    content: tuple[TextPart | ImagePart | FilePart, ...]
    error: bool = False

    @classmethod
    def of(cls, text: str, *, error: bool = False) -> "ToolOutput":
        """Text that may come from anywhere: what can't be written as UTF-8 is replaced."""
        return cls((TextPart(text.encode("utf-8", "replace").decode()),), error)


Allowed = Literal["by default", "by rule", "by tool", "by a person"]
"""Who let a call run. A rule with a pattern is about what a command says, so what it lets through
must not mean something else here: it runs in a fresh shell. `by tool` is a rule for all of it."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What a call would do, told before it does anything, for whoever decides about it.

    `does` is a line for people ("Run a command"), `subject` exactly what: the command, the path,
    the address. Rules match the subject, word by word if it is a `command` for a shell. It `asks` a
    person unless a rule allows it, and says `why`. An answer holds for this intent alone; if any of
    it has changed when the answer comes, it is asked again. A `question` always asks: its subject
    is the question itself, its `choices` are offered."""

    does: str
    subject: str
    command: bool = False
    asks: bool = False
    why: str = ""
    kind: ApprovalKind = "approval"
    choices: tuple[str, ...] = ()
    directory: str | None = None
    workspace: str | None = None


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a tool works for, and what it may use. `show` is for output as it comes: people see it,
    the model does not. `keep` stores bytes (a picture, a long output) that a result can then name.
    `approval` is what a person said, if they were asked."""

    user: UserId
    session: SessionId
    turn: TurnId
    call: ToolCallId
    show: Callable[[str], None]
    keep: Callable[[bytes, str], Awaitable[BlobId]]
    allowed: Allowed = "by default"
    approval: Approval | None = None


class Tool(Protocol):
    """`arguments` is the JSON text that the model wrote, unchecked. `parallel` tools may run beside
    others of the same step. A tool is cancelled by cancelling `run`, which must then end quickly.
    """

    @property
    def schema(self) -> ToolSchema: ...

    @property
    def parallel(self) -> bool: ...

    @property
    def seconds(self) -> float:
        """How long it may take."""
        ...

    async def intent(self, arguments: str, context: ToolContext) -> Intent | None:
        """What the call would do; None if nobody needs to know. Nothing has happened yet, nor may
        it."""
        ...

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput: ...


class Toolbox:
    """The tools an agent has, in a fixed order. `name` says which these are: it changes when what
    the model is told of those that last does."""

    def __init__(
        self, tools: Iterable[Tool] = (), late: Iterable[Tool] = (), *, name: str = "full"
    ) -> None:
        self._tools: dict[str, Tool] = {}
        lasting = tuple(tools)
        for tool in (*lasting, *late):
            if tool.schema.name in self._tools:
                raise ConfigError(f"There are two tools named {tool.schema.name}.")
            self._tools[tool.schema.name] = tool
        self.schemas = tuple([tool.schema for tool in self._tools.values()])
        written = msgspec.json.encode([tool.schema for tool in lasting])
        digest = blake2b(written, digest_size=6).hexdigest()
        self.name = f"{name}:{digest if self._tools else 'none'}"

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def find(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def __len__(self) -> int:
        return len(self._tools)
