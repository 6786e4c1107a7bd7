"""`roost doctor` before, beside and after a server."""

import asyncio
import contextlib
import os
import pty
import re
import signal
import sys
from pathlib import Path

import pytest

from roost.http.server import bind
from roost.store.sqlite.connect import Connection, connect_reader
from tests.e2e.command import DEADLINE, Roost


@pytest.fixture(autouse=True)
def any_port(roost: Roost) -> None:
    """The default one may be taken on the machine that runs the tests."""
    roost.environ["ROOST_SERVER_PORT"] = "0"


def rows(out: str) -> dict[str, tuple[str, str]]:
    """State and finding by subject."""
    found = re.findall(r"^[✓!✗] (good|warn|bad) +(.{13})(.*)$", out, re.MULTILINE)
    return {subject.strip(): (state, words) for state, subject, words in found}


async def test_fresh_machine_is_well_and_left_untouched(roost: Roost) -> None:
    examined = await roost("doctor")
    found = rows(examined.out)
    assert (examined.code, examined.err) == (0, "")
    # What the machine has for a sandbox is told, good or not.
    assert {state for name, (state, _) in found.items() if name != "Sandbox"} == {"good"}
    assert found["Sandbox"][1].startswith("bubblewrap")
    assert "made at the first start" in found["Data folder"][1]
    assert list(roost.home.iterdir()) == []


async def test_works_beside_a_running_server(roost: Roost) -> None:
    async with roost.running() as server:
        roost.environ["ROOST_SERVER_PORT"] = str(server.port)
        examined = await roost("doctor")
        found = rows(examined.out)
        assert (examined.code, examined.err) == (0, "")
        assert found["Store"] == ("good", "whole")
        assert f"process {server.process.pid} on" in found["In use by"][1]
        assert server.address in found["In use by"][1]
        assert found["Port"] == ("good", f"{server.port}, held by process {server.process.pid}")


@pytest.mark.usefixtures("database")
async def test_stopped_server_holds_nothing(roost: Roost) -> None:
    found = rows((await roost("doctor")).out)
    assert found["In use by"] == ("good", "nobody")
    assert found["Schema"][0] == "good"


async def test_what_is_bad_comes_with_advice_and_exit_code_1(roost: Roost) -> None:
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        roost.environ["ROOST_SERVER_PORT"] = str(port)
        examined = await roost("doctor")
    assert examined.code == 1
    assert rows(examined.out)["Port"] == (
        "bad",
        f"{port} on 127.0.0.1 is taken by another program",
    )
    assert "Choose another: `roost run --port NUMBER`." in examined.out
    last = examined.out.splitlines()[-1]
    assert re.fullmatch(r"1 of \d+ checks failed. Until that is mended, Roost can't work.", last)


@pytest.mark.parametrize("mode", [0o500, 0o000])
async def test_unwritable_data_folder_is_bad(roost: Roost, mode: int) -> None:
    data = roost.home / "data"
    data.mkdir(mode=mode)
    examined = await roost("doctor", "--data", str(data), ordinary=True)
    assert examined.code == 1
    assert rows(examined.out)["Data folder"] == ("bad", f"{data} is not writable")


@pytest.mark.parametrize("data", ["closed", "closed/data"])
async def test_folder_that_is_closed_to_this_user_is_no_surprise(roost: Roost, data: str) -> None:
    (roost.home / "closed").mkdir(mode=0o000)
    folder = str(roost.home / data)
    examined = await roost("doctor", "--data", folder, ordinary=True)
    assert rows(examined.out)["Data folder"][0] == "bad"
    for command in (("doctor", "--repair"), ("backup", "copy"), ("run", "--port", "0")):
        refused = await roost(*command, "--data", folder, ordinary=True)
        assert refused.code == 1
        assert refused.err.startswith(f"The data folder {folder} can't be used: ")
        assert "permission denied" in refused.err.lower()


@pytest.mark.parametrize("name", ["owner.lock", "roost.db", "secret.key", "blobs"])
async def test_files_of_another_user_are_named(roost: Roost, database: Path, name: str) -> None:
    """As after a start with sudo."""
    (database.parent / name).chmod(0o000)
    examined = await roost("doctor", ordinary=True)
    state, found = rows(examined.out)["Data folder"]
    assert (examined.code, state) == (1, "bad")
    assert found == f"{database.parent} has files that this user may not use: {name}"


@pytest.fixture
async def database(roost: Roost) -> Path:
    """The file of a server that has run."""
    async with roost.running() as server:
        await server.stop(signal.SIGTERM)
    return roost.home / ".local" / "share" / "roost" / "roost.db"


def damage(database: Path, table: str) -> None:
    """Overwrite the page where a table begins."""
    connection = connect_reader(database)
    query = "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = :name"
    ((page, size),) = connection.rows(query, {"name": table})
    connection.close()
    assert isinstance(page, int)
    assert isinstance(size, int)
    content = bytearray(database.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    database.write_bytes(content)


async def test_damaged_store_is_found_and_repaired_after_a_copy(
    roost: Roost, database: Path
) -> None:
    damage(database, "sessions")
    damaged = database.read_bytes()

    examined = await roost("doctor")
    assert examined.code == 1
    assert rows(examined.out)["Store"][0] == "bad"
    assert "roost doctor --repair" in examined.out
    assert database.read_bytes() == damaged

    repaired = await roost("doctor", "--repair")
    assert repaired.code == 0, repaired
    assert rows(repaired.out)["Store"] == ("good", "whole")
    assert "some rows of sessions could not be read" in repaired.out
    assert re.search(r"^  Kept  1 user, \d+ other rows$", repaired.out, re.MULTILINE), repaired.out
    copy = re.search(r"kept in (.*)\.$", repaired.out, re.MULTILINE)
    assert copy is not None
    assert (Path(copy[1]) / "roost.db").read_bytes() == damaged
    async with roost.running() as server:
        assert (await server.get("/healthz"))[0] == 200


async def test_store_beyond_repair_is_left_as_it_is(roost: Roost, database: Path) -> None:
    damaged = b"\xff" * len(database.read_bytes())
    database.write_bytes(damaged)
    examined = await roost("doctor")
    assert rows(examined.out)["Store"][0] == "bad"
    assert examined.err == ""  # what is stored is not looked for where there is no store
    refused = await roost("doctor", "--repair")
    assert refused.code == 1
    assert re.fullmatch(
        "The store .* can't be repaired: its table of contents can't be read. "
        "It was left as it was. Restore a backup.\n",
        refused.err,
    )
    assert database.read_bytes() == damaged


async def test_store_in_use_is_not_repaired(roost: Roost, database: Path) -> None:
    async with roost.running() as server:
        damage(database, "sessions")
        refused = await roost("doctor", "--repair")
        assert refused.code == 1
        assert f"in use by process {server.process.pid}" in refused.err


async def test_database_of_another_program_is_neither_examined_nor_repaired(
    roost: Roost, database: Path
) -> None:
    database.unlink()
    another = Connection(str(database))
    another.rows("CREATE TABLE theirs (id)")
    another.close()
    examined = await roost("doctor")
    assert "not one of Roost's" in rows(examined.out)["Store"][1]
    assert examined.err == ""
    repaired = await roost("doctor", "--repair")
    assert (repaired.code, repaired.out) == (1, "")
    assert "not one of Roost's" in repaired.err


@pytest.mark.usefixtures("database")
async def test_whole_store_is_not_repaired(roost: Roost) -> None:
    repaired = await roost("doctor", "--repair")
    assert repaired.code == 0
    assert "nothing to repair" in repaired.out


@pytest.mark.parametrize("no_color", [False, True])
async def test_color_is_never_the_only_sign(roost: Roost, *, no_color: bool) -> None:
    environ = roost.environ | {"TERM": "xterm-256color"} | ({"NO_COLOR": "1"} if no_color else {})
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "roost", "doctor", env=environ, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    async with asyncio.timeout(DEADLINE):
        shown = await asyncio.to_thread(_read_all, ours)
        assert await process.wait() == 0
    assert "✓ good" in shown
    assert ("\x1b[" in shown) == (not no_color)


def _read_all(terminal: int) -> str:
    content = b""
    # Linux says with an error that the other side of a terminal is closed.
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 4096):
            content += chunk
    os.close(terminal)
    return content.decode()
