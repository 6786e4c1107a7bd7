"""Roost inside another program: open it on a data folder, send, and follow what happens."""

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from roost.core.config import Config
from roost.runtime.account import Account
from roost.tools.base import Tool
from roost.wiring import running


@asynccontextmanager
async def open_roost(
    where: str | Path | Config, *, tools: Iterable[Tool] = ()
) -> AsyncGenerator[Account]:
    """The owner's Roost on a data folder, or by a whole configuration. Nobody else may use the
    folder meanwhile. Keys are taken from the vendors' usual variables in the environment."""
    _log_like_a_library()
    config = where if isinstance(where, Config) else Config(data=Path(where))
    async with running(config, {}, os.environ, tools=tools) as roost:
        yield roost.app.of((await roost.app.owner()).id)


def _log_like_a_library() -> None:
    """Into the program's own logging, unless it has set structlog up itself."""
    if not structlog.is_configured():
        structlog.configure(
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.stdlib.render_to_log_kwargs,
            ],
            logger_factory=structlog.stdlib.LoggerFactory(),
            wrapper_class=structlog.stdlib.BoundLogger,
        )
