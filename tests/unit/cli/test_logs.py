"""Logs: one form for people, one for machines."""

import io
import json
import logging

import pytest
import structlog

from roost.cli.logs import configure_logs
from roost.core.config import LogLevel


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def log_something() -> None:
    log = structlog.stdlib.get_logger("roost.test")
    log.debug("too quiet")
    log.info("turn ended", session="s1", tokens=5)
    logging.getLogger("library").warning("%s is slow", "disk")


def test_elsewhere_every_line_is_one_json_object() -> None:
    stream = io.StringIO()
    configure_logs("info", stream, color=True)
    log_something()
    ours, theirs = map(json.loads, stream.getvalue().splitlines())
    assert ours.pop("timestamp").endswith("Z")
    assert ours == {
        "event": "turn ended",
        "level": "info",
        "logger": "roost.test",
        "session": "s1",
        "tokens": 5,
    }
    assert (theirs["event"], theirs["level"]) == ("disk is slow", "warning")
    assert theirs["logger"] == "library"


def test_what_json_has_no_word_for_is_logged_all_the_same() -> None:
    stream = io.StringIO()
    configure_logs("info", stream, color=True)
    structlog.stdlib.get_logger("roost.test").info("odd", thing=object())
    assert "<object object" in json.loads(stream.getvalue())["thing"]


def test_on_a_terminal_lines_are_for_people() -> None:
    stream = Terminal()
    configure_logs("info", stream, color=True)
    log_something()
    assert "\x1b[" in stream.getvalue()
    assert "turn ended" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_color_can_be_refused() -> None:
    stream = Terminal()
    configure_logs("info", stream, color=False)
    log_something()
    assert "disk is slow" in stream.getvalue()
    assert "\x1b[" not in stream.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_traceback_is_there_without_the_values_of_variables(stream: io.StringIO) -> None:
    configure_logs("info", stream, color=False)
    try:
        password = "hunter" + str(2)
        raise ValueError(len(password))
    except ValueError:
        structlog.stdlib.get_logger("roost.test").exception("failed")
    assert "ValueError: 7" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()


def test_level_is_obeyed() -> None:
    stream = io.StringIO()
    configure_logs("warning", stream, color=True)
    log_something()
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == [
        "disk is slow"
    ]


@pytest.mark.parametrize(("level", "lines"), [("info", 0), ("debug", 1)])
def test_servers_own_chatter_is_for_debugging(level: LogLevel, lines: int) -> None:
    stream = io.StringIO()
    configure_logs(level, stream, color=True)
    logging.getLogger("uvicorn.error").info("Started server process")
    assert len(stream.getvalue().splitlines()) == lines
