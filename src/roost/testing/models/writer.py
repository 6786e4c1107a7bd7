"""How an answer is written: the part that the protocols share."""

import abc
from collections.abc import Mapping
from typing import Literal

import msgspec

from roost.testing.models.failures import Failure
from roost.testing.models.prompt import Json
from roost.testing.models.request import ModelRequest
from roost.testing.models.script import Fail, Quirk
from roost.testing.models.signature import sign

BlockKind = Literal["text", "thought", "call", "refusal"]


class Block(msgspec.Struct):
    """One thing in an answer, while it is being written. `name` and `id` are a call's."""

    kind: BlockKind
    index: int = 0
    tokens: list[str] = []
    name: str = ""
    id: str = ""
    payload: str | None = None
    redacted: bool = False

    @property
    def text(self) -> str:
        return "".join(self.tokens)

    @property
    def seal(self) -> str:
        return self.payload or sign(self.text)


class Counts(msgspec.Struct, frozen=True):
    """`input_tokens` includes the cached and the written ones, `output_tokens` the reasoning."""

    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int


class Ending(msgspec.Struct, frozen=True):
    reason: str
    counts: Counts


def sse(data: bytes, event: str = "") -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.encode(), data) if event else b"data: %s\n\n" % data


class Writer(abc.ABC):
    """Turns an answer into one protocol's bytes, event by event; `whole` is the same in one."""

    def __init__(self, request: ModelRequest, quirks: frozenset[Quirk]) -> None:
        self.request = request
        self.quirks = quirks
        self.blocks: list[Block] = []

    @property
    @abc.abstractmethod
    def headers(self) -> Mapping[str, str]: ...

    @abc.abstractmethod
    def call_id(self, index: int) -> str:
        """The name of a call that the script did not name."""

    @abc.abstractmethod
    def begin(self, counts: Counts) -> bytes: ...

    @abc.abstractmethod
    def opened(self, block: Block) -> bytes: ...

    @abc.abstractmethod
    def delta(self, block: Block, token: str) -> bytes: ...

    @abc.abstractmethod
    def closed(self, block: Block) -> bytes: ...

    @abc.abstractmethod
    def end(self, ending: Ending) -> bytes: ...

    @abc.abstractmethod
    def whole(self, ending: Ending) -> Json: ...

    @abc.abstractmethod
    def failure(self, fail: Fail) -> Failure: ...

    @abc.abstractmethod
    def error_body(self, failure: Failure) -> Json: ...

    @abc.abstractmethod
    def error_event(self, failure: Failure) -> bytes: ...
