"""What a scripted model answers: pieces in a row, as Python or as JSON."""

import re
from typing import Literal

import msgspec

Quirk = Literal[
    "no_usage",
    "usage_on_finish",
    "no_index",
    "index_zero",
    "no_call_ids",
    "reasoning",
    "reasoning_details",
    "no_finish_reason",
    "no_done",
    "failed_event",
    "keep_alive",
    "crlf",
    "no_final_newline",
]
"""How servers that are nearly compatible differ. The last three are of every protocol,
`failed_event` is of responses, the others are of chat completions."""

Problem = Literal[
    "bad_request",
    "bad_key",
    "no_credit",
    "forbidden",
    "unknown_model",
    "timeout",
    "conflict",
    "too_large",
    "context_too_long",
    "filtered",
    "rate_limit",
    "server_error",
    "overloaded",
]
"""What can be wrong; each protocol has its own status and words for it."""

# A blank at the end goes with the last word: who has seen that word has seen all that was said.
_WORD = re.compile(r"\s*\S+(?:\s+\Z)?|\s+")


def tokens(text: str, size: int | None) -> list[str]:
    """Text as it will be sent: word by word, `size` characters at a time, or (0) all at once."""
    if size is None:
        return _WORD.findall(text)
    if size == 0:
        return [text] if text else []
    return [text[at : at + size] for at in range(0, len(text), size)]


class _Piece(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    pass


class Say(_Piece, frozen=True, tag="say"):
    """Text. `pace` is the time before each token, in seconds."""

    text: str
    size: int | None = None
    pace: float = 0


class Think(_Piece, frozen=True, tag="think"):
    """Reasoning. `payload` is what the vendor wants back with it: Anthropic's signature (or, when
    `redacted`, the data), OpenAI's encrypted content."""

    text: str
    payload: str | None = None
    redacted: bool = False
    size: int | None = None
    pace: float = 0


class Call(_Piece, frozen=True, tag="call"):
    """A tool call; several in a row are parallel. Arguments given as text are sent as they are."""

    name: str
    arguments: str | dict[str, object] = {}
    id: str | None = None
    size: int = 10
    pace: float = 0

    @property
    def arguments_text(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return msgspec.json.encode(self.arguments).decode()


class Refuse(_Piece, frozen=True, tag="refuse"):
    """The model declines, or, when `filtered`, the provider's filter stops it."""

    text: str = "I can't help with that."
    filtered: bool = False


class Fail(_Piece, frozen=True, tag="fail"):
    """An HTTP status with the vendor's error; an event in the stream if that has begun, or if
    `in_stream` says so."""

    what: int | Problem
    message: str | None = None
    retry_after: float | None = None
    in_stream: bool = False


class Pause(_Piece, frozen=True, tag="pause"):
    seconds: float


class Stall(_Piece, frozen=True, tag="stall"):
    """Send nothing more until released."""


class Cut(_Piece, frozen=True, tag="cut"):
    """Close the connection without a goodbye."""


class Finish(_Piece, frozen=True, tag="finish"):
    """Why the answer ends: `stop`, `length` and `tool_calls` in each vendor's words, or one of its
    own words as it is."""

    reason: str


class Use(_Piece, frozen=True, tag="use"):
    """Usage to report instead of what was counted."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


class Echo(_Piece, frozen=True, tag="echo"):
    """Say the last text of the conversation, or the `whole` body of the request."""

    whole: bool = False
    size: int | None = None
    pace: float = 0


class Raw(_Piece, frozen=True, tag="raw"):
    """Bytes as they are. In a reply of these alone, the status and the type count as well."""

    text: str = ""
    data: bytes = b""
    status: int = 200
    content_type: str = "text/event-stream"

    @property
    def content(self) -> bytes:
        return self.text.encode() + self.data


Piece = Say | Think | Call | Refuse | Fail | Pause | Stall | Cut | Finish | Use | Echo | Raw


class Reply(msgspec.Struct, frozen=True, tag_field="kind", tag="reply", omit_defaults=True):
    """The answer to one request. Replies add up: `think("Hm.") + say("Yes.")`."""

    pieces: tuple[Piece, ...] = ()
    quirks: frozenset[Quirk] = frozenset()
    sizes: tuple[int, ...] = ()
    seed: int | None = None

    def __add__(self, other: "Reply") -> "Reply":
        return Reply(
            self.pieces + other.pieces,
            self.quirks | other.quirks,
            self.sizes or other.sizes,
            self.seed if self.seed is not None else other.seed,
        )

    def quirky(self, *quirks: Quirk) -> "Reply":
        """The same, from a server that is only nearly compatible."""
        return msgspec.structs.replace(self, quirks=self.quirks | set(quirks))

    def split(self, *sizes: int, seed: int | None = None) -> "Reply":
        """The same bytes, sent in pieces of these sizes in turn, or of random sizes."""
        return msgspec.structs.replace(self, sizes=sizes, seed=seed)


ScriptItem = Reply | Piece | tuple[Piece, ...]
"""In JSON a reply is a piece, a list of pieces, or an object of kind `reply`."""


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON form of a plan."""

    replies: tuple[ScriptItem, ...] = ()
    otherwise: ScriptItem | None = None
    model: str | None = None


def as_reply(item: ScriptItem) -> Reply:
    if isinstance(item, Reply):
        return item
    return Reply(item if isinstance(item, tuple) else (item,))


decode_script = msgspec.json.Decoder(Script).decode
