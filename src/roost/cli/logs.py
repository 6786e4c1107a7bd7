"""Structured logs on stderr: readable on a terminal, one JSON object a line elsewhere."""

import logging
from typing import TextIO

import msgspec
import structlog
from structlog.typing import Processor

from roost.core.config import LogLevel


def configure_logs(level: LogLevel, stream: TextIO, *, color: bool) -> None:
    """Send our own logs and those of every library the same way."""
    terminal = stream.isatty()
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=not terminal),
    ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *(_for_terminal(color=color) if terminal else _for_machines()),
            ],
        )
    )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # uvicorn tells of its start and stop at info; Roost says that itself.
    logging.getLogger("uvicorn").setLevel(level.upper() if level == "debug" else "WARNING")
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


def _for_terminal(*, color: bool) -> list[Processor]:
    # The default traceback shows local variables, and with them whatever secrets they hold.
    return [
        structlog.dev.ConsoleRenderer(
            colors=color, exception_formatter=structlog.dev.plain_traceback
        )
    ]


def _for_machines() -> list[Processor]:
    return [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(serializer=_to_json),
    ]


def _to_json(record: object, **_: object) -> str:
    return msgspec.json.encode(record, enc_hook=repr).decode()
