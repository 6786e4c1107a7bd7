"""What a messaging platform has to offer to be a channel. It turns updates into inbound messages,
and pieces into calls; nothing else. Order, retries, limits, sessions and who may talk are not its
concern.

What a platform raises (all in `core.errors`):
  ChannelBusy(seconds)    not now: asked again after that time (a 429 with its retry-after)
  ChannelLost             no connection, a 5xx, a timeout: asked again, with growing delays
  Undeliverable           never: the chat is gone, the bot was thrown out, the piece is refused
  ChannelRefused          the token is not taken, or a right is missing: a person has to see to it
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from roost.core.inbound import HookCall, HookReply, Inbound, InboundFile
from roost.core.keys import Key
from roost.core.outbound import Button

ENTRY_POINTS = "roost.channels"
"""The group of entry points in which packages register channels of their own: each a `Factory`."""

Options = Mapping[str, Key]
"""What the configuration or the web app says of one channel. Any of it may be secret."""


class Rate(msgspec.Struct, frozen=True):
    """At most `count` calls in `seconds`; a burst of `count` is fine."""

    count: int
    seconds: float


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a platform takes. `text` is the most that one message may `measure`; rates count
    messages and edits alike; `edit_every` is the least time between two edits of a message, in
    seconds, or None if it can't edit; files are in bytes. `keyed`: a message sent again with the
    same key is not shown twice. `group` is the rate of a chat of several people, where it is not
    that of `chat`."""

    text: int
    chat: Rate
    overall: Rate
    edit_every: float | None
    file_in: int
    file_out: int
    keyed: bool = False
    group: Rate | None = None

    def rate_of(self, chat: str) -> Rate:
        """How fast a chat takes messages. An address of one person's begins with `NAME:dm:`."""
        alone = chat.split(":")[1:2] == ["dm"]
        return self.chat if alone or self.group is None else self.group


class Attachment(msgspec.Struct, frozen=True):
    """A file to send. An image is shown, anything else is offered."""

    name: str
    media_type: str
    data: bytes


class Piece(msgspec.Struct, frozen=True):
    """One message: Markdown that measures no more than the limit, with buttons, or a file with no
    text. `reply_to` is the platform's id of a message in the same chat; if that is gone, the piece
    is sent all the same. If the platform can't read the markup made of it, the text goes as it is.
    """

    text: str = ""
    file: Attachment | None = None
    buttons: tuple[Button, ...] = ()
    reply_to: str | None = None


class Inlet(Protocol):
    """Where a channel puts what it receives."""

    async def put(
        self, inbounds: Sequence[Inbound], *, cursors: Mapping[str, str] | None = None
    ) -> None:
        """Keep messages, in this order, and how far the platform was read, in one transaction.
        Acknowledge only after this has returned. What was kept before (by `Inbound.id`) is left
        out, so that receiving again is harmless."""
        ...

    async def cursors(self) -> Mapping[str, str]:
        """How far the platform was read, by names of the channel's own: Telegram's offset,
        Discord's last message in each chat."""
        ...

    def connected(self, bot: str) -> None:
        """The connection is up; `bot` is what people call it there. To be told after every
        reconnect, also by libraries that reconnect by themselves."""
        ...

    def disconnected(self, why: str) -> None:
        """The library lost the connection and sees to it itself."""
        ...


class Channel(Protocol):
    """One account of one platform. `name` is what it is called in the configuration, and the
    beginning of its addresses (`name:...`). Everything but `run` may be called at any time while
    `run` goes on, from several tasks, before it is connected too: `ChannelLost`, then."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    async def run(self, inlet: Inlet) -> None:
        """Connect and receive, until cancelled. Raises `ChannelLost`, `ChannelRefused` or, if it
        may not connect yet, `ChannelBusy` when that is over; it is then called again, after a
        while. Leaves nothing open."""
        ...

    async def deliver(self, to: str, piece: Piece, *, key: str) -> str:
        """Send one message to an address; the platform's id of it. Asked again after a lost answer
        it gets the same key. Waits for no rate limit: it says `ChannelBusy`."""
        ...

    async def edit(self, to: str, message: str, piece: Piece) -> None:
        """Put a text in place of one that was sent; one that is the same already is fine. Buttons
        that the piece does not have go."""
        ...

    async def typing(self, to: str) -> None:
        """Show, for some seconds, that an answer is being written."""
        ...

    async def fetch(self, file: InboundFile) -> bytes:
        """The file that an inbound message names; no more than `limits.file_in` is asked for."""
        ...

    def measure(self, markdown: str) -> int:
        """How long a text is as the platform counts, made into its markup."""
        ...

    def chat_of(self, to: str) -> str:
        """What the rate of a chat counts for: an address without its topic or thread."""
        ...


@runtime_checkable
class Hooked(Protocol):
    """A channel that is called by its platform over HTTP, at `/hooks/NAME`. It checks the signature
    itself: nobody else does. `run` then waits, until cancelled, and hands the inlet to this."""

    async def hook(self, call: HookCall) -> HookReply: ...


@runtime_checkable
class Checked(Protocol):
    """A channel whose token can be tried without connecting, for `roost doctor`."""

    async def check(self) -> str:
        """What the bot is called. Raises `ChannelLost` or `ChannelRefused`."""
        ...


Factory = Callable[[str, Options], Channel]
"""Makes a channel of that name. Raises `ConfigError` if an option is missing or wrong; connects to
nothing."""


class Command(msgspec.Struct, frozen=True):
    """What every channel understands: for platforms that have people choose from a list."""

    name: str
    says: str
    argument: str = ""


COMMANDS = (
    Command("new", "End this conversation and begin another, or say when by itself", "when"),
    Command("stop", "Stop what is being done"),
    Command("undo", "Take the last message and its answer back"),
    Command("retry", "Answer the last message again"),
    Command("sessions", "List your conversations"),
    Command("resume", "Go on with another conversation, or with what broke off", "number"),
    Command("model", "Show the model, or choose another", "name"),
    Command("compact", "Sum up what was said, to make room"),
    Command("usage", "What this conversation has used"),
    Command("approve", "Say yes to what is asked", "answer"),
    Command("deny", "Say no to what is asked"),
    Command("help", "What can be said here"),
)

__all__ = [
    "COMMANDS",
    "ENTRY_POINTS",
    "Attachment",
    "Button",
    "Channel",
    "Checked",
    "Command",
    "Factory",
    "HookCall",
    "HookReply",
    "Hooked",
    "Inbound",
    "InboundFile",
    "Inlet",
    "Limits",
    "Options",
    "Piece",
    "Rate",
]
