"""One server of tools: started, asked what it offers, and started again whenever it ends."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import structlog

from roost.core.config import McpConfig
from roost.tools.base import ToolError, ToolOutput
from roost.tools.mcp.launching import Launcher
from roost.tools.mcp.offers import Offer, schema_of
from roost.tools.mcp.tool import Keep, McpTool

if TYPE_CHECKING:
    from roost.tools.mcp.connection import Connection

log = structlog.stdlib.get_logger("roost.mcp")

FIRST = 0.5
LONGEST = 300.0
"""Seconds until a server that ended is started again: the first time, and at most."""
STEADY = 60.0
"""Seconds after which one that ran counts as well again."""
_STOP = 0.3
"""Seconds that a call has to end once it is told to."""
_STARTING = "It is being started."


class McpServer:
    """`tools` are those it offered last, also while it is down: calls fail then, and say why.
    `settled` is set once it is known whether it starts."""

    def __init__(self, name: str, config: McpConfig, launcher: Launcher) -> None:
        self.name = name
        self.tools: tuple[McpTool, ...] = ()
        self.settled = asyncio.Event()
        self._config = config
        self._launcher = launcher
        self._timeout = config.timeout.total_seconds()
        self._connection: Connection | None = None
        self._trouble = _STARTING
        self._calls: set[asyncio.Task[ToolOutput]] = set()

    async def run(self) -> None:
        """Until cancelled."""
        delay, tries = FIRST, 0
        loop = asyncio.get_running_loop()
        while True:
            began, tries = loop.time(), tries + 1
            try:
                # Every other time as one does with old servers, some of which end when they are
                # asked anything else first.
                why = await self._serve(legacy=tries % 2 == 0)
            except TimeoutError:
                why = f"It did not start within {self._timeout:g} s."
            except Exception as error:  # noqa: BLE001 (it is anyone's; why it failed is logged)
                why = str(error) or type(error).__name__
            if loop.time() - began > STEADY:
                delay, tries = FIRST, 0
            self._down(why, delay)
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST)

    async def _serve(self, *, legacy: bool) -> str:
        """For as long as it answers; what there is to say of its end."""
        make = await asyncio.to_thread(_connection)
        connection = make(self.name, self._config, self._launcher, legacy=legacy)
        opening = asyncio.timeout(self._timeout)
        async with opening, connection.open():
            self.take(await connection.offers())
            opening.reschedule(None)
            self._connection = connection
            self._trouble = _STARTING
            self.settled.set()
            log.info("a server of tools is there", server=self.name, tools=len(self.tools))
            try:
                await self._attend(connection)
            finally:
                self._connection = None
        return f"It ended. {connection.last_words}".strip()

    async def _attend(self, connection: "Connection") -> None:
        """Until it is lost."""
        while not connection.lost:
            await connection.news.wait()
            connection.news.clear()
            if connection.changed and not connection.lost:
                self.take(await connection.offers())

    @property
    def trouble(self) -> str | None:
        """Why it is not there, if it is not."""
        return None if self._connection is not None else self._trouble

    def take(self, offers: list[Offer]) -> None:
        """These are what it has from now on."""
        made = [(offer, schema_of(self.name, offer)) for offer in offers]
        self.tools = tuple(
            [
                McpTool(self.name, offer, schema, self.call, seconds=self._timeout)
                for offer, schema in made
                if schema is not None
            ]
        )

    def _down(self, why: str, delay: float) -> None:
        self._trouble = f"{why} It is started again soon."
        self.settled.set()
        log.warning("a server of tools is down", server=self.name, why=why, again_in=delay)

    async def call(self, tool: str, arguments: Mapping[str, Any], keep: Keep) -> ToolOutput:
        connection = self._connection
        if connection is None or connection.lost:
            raise ToolError(f"The server {self.name} is not there. {self._trouble}")
        work = asyncio.create_task(connection.call(tool, arguments, keep))
        self._calls.add(work)
        work.add_done_callback(self._calls.discard)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # The server is told, if it listens.
            work.cancel()
            await asyncio.wait([work], timeout=_STOP)
            raise
        except ConnectionError as error:
            raise ToolError(
                f"The server {self.name} was lost during the call: nobody knows whether it took"
                f" effect. ({error})"
            ) from error


def _connection() -> "type[Connection]":
    """The import takes a second, the first time."""
    from roost.tools.mcp.connection import Connection

    return Connection
