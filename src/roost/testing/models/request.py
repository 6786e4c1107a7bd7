"""A request as it arrived, and what became of it."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

import msgspec

from roost.testing.models.prefix_cache import CacheUse
from roost.testing.models.prompt import Json, Prompt

ProtocolName = Literal["chat", "responses", "anthropic"]
T = TypeVar("T")

_NO_PROMPT = Prompt("", False, (), "", (), {})


class ModelRequest:
    """`body` is byte for byte what was sent, `json` the same decoded; header names are in lower
    case. `refused` says why a strict vendor would not take it."""

    def __init__(
        self,
        *,
        number: int,
        protocol: ProtocolName,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        at: float,
    ) -> None:
        self.number = number
        self.protocol: ProtocolName = protocol
        self.path = path
        self.headers = headers
        self.body = body
        self.at = at
        self.json: Json = {}
        self.prompt = _NO_PROMPT
        self.cache = CacheUse(0)
        self.refused: str | None = None
        self.left: bool | None = None
        self._over = asyncio.Event()
        self._stalled = asyncio.Event()
        self._resume: Callable[[], None] | None = None
        self._releases = 0

    def __repr__(self) -> str:
        return f"<ModelRequest {self.number} {self.protocol} {self.model} {len(self.body)} bytes>"

    @property
    def model(self) -> str:
        return self.prompt.model

    @property
    def stream(self) -> bool:
        return self.prompt.stream

    @property
    def last_text(self) -> str:
        """The last text of the conversation: what the user, or else a tool, said."""
        return self.prompt.last_text

    @property
    def tools(self) -> tuple[str, ...]:
        return self.prompt.tools

    @property
    def results(self) -> dict[str, str]:
        """What the tools answered, by the id of the call."""
        return self.prompt.results

    def read(self, type: type[T]) -> T:
        """The body as a type of the test's own."""
        return msgspec.json.decode(self.body, type=type)

    async def closed(self) -> bool:
        """Wait until the exchange is over; True if the client left before the end."""
        await self._over.wait()
        return bool(self.left)

    @property
    def is_stalled(self) -> bool:
        return self._stalled.is_set()

    async def stalled(self) -> None:
        """Wait until everything before a `stall()` was sent."""
        await self._stalled.wait()

    def release(self) -> None:
        """Go on after a stall, the present one or the next."""
        if self._resume is None:
            self._releases += 1
            return
        resume, self._resume = self._resume, None
        self._stalled.clear()
        resume()

    # The server's side.

    def hold(self, resume: Callable[[], None]) -> bool:
        """Stall here, unless a release came before; True if it stalls."""
        if self._releases:
            self._releases -= 1
            return False
        self._resume = resume
        self._stalled.set()
        return True

    def over(self, *, left: bool) -> None:
        if self.left is None:
            self.left = left
            self._resume = None
            self._over.set()
