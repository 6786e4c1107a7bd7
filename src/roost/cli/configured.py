"""What every command begins with: the configuration, and a log as that says."""

import os
import sys

from roost.cli import terminal
from roost.cli.logs import configure_logs
from roost.cli.settings import Settings, read_config
from roost.core.config import Config, LogLevel


def configure(
    settings: Settings, *, host: str | None = None, port: str | None = None, quiet: bool = False
) -> Config:
    """`quiet` leaves the log to what goes wrong: the command itself says what it did."""
    config = read_config(settings, os.environ, host=host, port=port)
    level = config.log.level
    log_at("error" if quiet and level != "debug" else level)
    return config


def log_at(level: LogLevel) -> None:
    configure_logs(level, sys.stderr, color=terminal.has_color(terminal.err()))
