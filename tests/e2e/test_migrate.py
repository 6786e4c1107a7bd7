"""`roost migrate`: from a server on SQLite to one on PostgreSQL."""

import asyncio
import contextlib
import os
import pty
import signal
from pathlib import Path

import pytest

from roost.core.keys import StoreAddress
from roost.store.postgres.connect import connect
from tests.e2e.command import DEADLINE, Roost
from tests.faults.scene import opened, populate


@pytest.fixture
def url(url: str) -> str:
    """With a password, which nobody asks for."""
    return url.replace("roost@", "roost:hush@")


@pytest.fixture
async def data(roost: Roost, url: str) -> Path:
    folder = roost.home / ".local" / "share" / "roost"
    async with opened(folder) as store:
        await populate(store)
    roost.environ["ROOST_STORE"] = url
    return folder


async def test_server_goes_on_in_postgres(roost: Roost, data: Path) -> None:
    moved = await roost("migrate")
    assert (moved.code, moved.err) == (0, "")
    lines = [line.split() for line in moved.out.splitlines()]
    assert ["messages", "6", "6"] in [line[:3] for line in lines]
    assert ["search", "6", "6", "✓", "the", "same"] in lines
    assert "rows are in roost_" in moved.out
    assert "ROOST_STORE=" in moved.out
    assert f"{data} stays this server's folder" in moved.out
    assert "hush" not in moved.out
    checked = await roost("migrate", "--verify")
    assert (checked.code, checked.err) == (0, "")
    assert "the same on both sides" in checked.out
    async with roost.running() as server:
        assert (await server.get("/readyz"))[0] == 200
        assert "ann" in (await roost("user", "list")).out.split()
        assert (await server.stop(signal.SIGTERM)).code == 0


async def test_what_differs_is_said(roost: Roost, data: Path, url: str) -> None:
    assert (await roost("migrate")).code == 0
    connection = await connect(StoreAddress(url), cached=False)
    await connection.execute("DELETE FROM deltas")
    await connection.close(timeout=60)
    checked = await roost("migrate", "--verify")
    assert (checked.code, checked.err) == (1, "")
    assert ["deltas", "1", "0"] in [line.split()[:3] for line in checked.out.splitlines()]
    assert checked.out.count("✗ differs") == 1
    assert "deltas differ" in checked.out
    assert "ROOST_STORE=" not in checked.out


async def test_running_server_and_no_address_are_refused(roost: Roost, data: Path) -> None:
    url = roost.environ.pop("ROOST_STORE")
    async with roost.running():
        nowhere = await roost("migrate")
        assert (nowhere.code, nowhere.out) == (2, "")
        assert "ROOST_STORE=postgresql://" in nowhere.err
        roost.environ["ROOST_STORE"] = url
        busy = await roost("migrate")
        assert (busy.code, busy.out) == (1, "")
        assert "is in use by process" in busy.err
        assert "hush" not in busy.err


async def test_database_that_is_not_there_is_said(roost: Roost, data: Path) -> None:
    roost.environ["ROOST_STORE"] = "postgresql://roost:hush@127.0.0.1:1/none"
    lost = await roost("migrate")
    assert (lost.code, lost.out) == (1, "")
    assert "none on 127.0.0.1:1" in lost.err
    assert "hush" not in lost.err


async def test_terminal_shows_how_far_it_is(roost: Roost, data: Path) -> None:
    ours, theirs = pty.openpty()
    roost.environ |= {"TERM": "xterm-256color", "COLUMNS": "100"}
    process = await roost.start("migrate", stdout=theirs)
    os.close(theirs)
    async with asyncio.timeout(DEADLINE):
        shown = await asyncio.to_thread(_read_all, ours)
        assert await process.wait() == 0
    assert "Copying" in shown
    assert "━" in shown
    assert "PostgreSQL" in shown  # the head of the table


def _read_all(terminal: int) -> str:
    content = b""
    # Linux says with an error that the other side of a terminal is closed.
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 4096):
            content += chunk
    os.close(terminal)
    return content.decode()
