"""`roost sessions` and `roost usage` on a folder that no server has."""

import asyncio
import io
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from roost.cli.app import invoke
from roost.cli.reach import reached
from roost.cli.sessions import listed
from roost.cli.usage import used_in
from roost.core.clock import SystemClock
from roost.core.config import Config
from roost.core.ids import SessionId
from roost.core.usage import Usage
from roost.store.sessions import SessionFilter
from tests.store_driver import Driver, eventually, opened


class Desk:
    """Runs commands on one data folder, and keeps what they say."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def ask(self, *words: str, code: int = 0) -> str:
        assert invoke([*words, "--data", str(self.folder)]) == code
        captured = self._capsys.readouterr()
        return captured.err if code else captured.out


@pytest.fixture
def desk(begun: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(begun, capsys)


async def _talked(folder: Path, number: int) -> list[SessionId]:
    """Sessions in which something was said and used, the oldest first."""
    found: list[SessionId] = []
    async with opened(folder, SystemClock()) as store:
        (owner,) = await store.users.all()
        driver = Driver(store, owner)
        for each in range(number):
            session = await driver.session()
            await driver.talk(session, f"Say \x1b[2J{each}", "Said.")
            await driver.usage.add(session, session, (Usage("nest", "heron", cost=2_000_000_000),))
            found.append(session)
    return found


async def _indexed(folder: Path) -> None:
    async with opened(folder, SystemClock()) as store:
        (owner,) = await store.users.all()
        await eventually(partial(Driver(store, owner).search, "said"))


def talked(desk: Desk, number: int = 1) -> list[SessionId]:
    assert desk.ask("sessions", "list") == "There are no sessions yet.\n"
    return asyncio.run(_talked(desk.folder, number))


def test_list_is_a_line_each_the_latest_first(desk: Desk) -> None:
    made = talked(desk, 3)
    lines = [line.split("  ") for line in desk.ask("sessions", "list").splitlines()]
    assert [line[0] for line in lines] == made[::-1]
    assert {(line[2], line[3], line[4]) for line in lines} == {("open", "1 turn", "untitled")}
    assert len(desk.ask("sessions", "list", "--limit", "2").splitlines()) == 2
    assert desk.ask("sessions", "list", "no", "such") == "No session is like that.\n"
    assert desk.ask("sessions", "list", "--archived") == "No session is like that.\n"


def test_list_goes_over_pages(desk: Desk) -> None:
    made = talked(desk, 5)

    async def found() -> list[SessionId]:
        async with reached(Config(data=desk.folder), {}, {}) as roost:
            four = await listed(roost.account, SessionFilter(), 4, page=3)
            assert [each.id for each in four] == made[:0:-1]
            return [each.id for each in await listed(roost.account, SessionFilter(), 9, page=2)]

    assert asyncio.run(found()) == made[::-1]


def test_what_was_said_can_not_steer_the_terminal(desk: Desk) -> None:
    (session,) = talked(desk)
    desk.ask("sessions", "rename", session, "A \x1b[2Jtitle")
    for words in (("list",), ("show", session), ("search", "say")):
        assert "\x1b" not in desk.ask("sessions", *words)
    assert "Title    A [2Jtitle\n" in desk.ask("sessions", "show", session)


def test_search_takes_words_beginnings_and_words_in_order(desk: Desk) -> None:
    (session,) = talked(desk)
    asyncio.run(_indexed(desk.folder))
    for words in (("2J0", "say"), ("sa*",), ('"say 2J0"',)):
        assert desk.ask("sessions", "search", *words).startswith(session)
    for words in (("say", "nothing"), ("sa",), ('"2J0 say"',)):
        assert desk.ask("sessions", "search", *words) == "Nothing that was said matches.\n"


def test_session_that_is_deleted_is_gone_with_its_files(desk: Desk) -> None:
    (session,) = talked(desk)
    files = desk.folder / "workspaces" / session / "files"
    files.mkdir(parents=True)
    assert desk.ask("sessions", "delete", session) == f"Deleted {session}, untitled.\n"
    assert not files.exists()
    assert desk.ask("sessions", "list") == "There are no sessions yet.\n"


def test_export_comes_back_in_another_folder(desk: Desk, tmp_path: Path) -> None:
    (session,) = talked(desk)
    file = tmp_path / "herons.json"
    assert desk.ask("sessions", "export", session, str(file)) == f"Wrote {session} to {file}.\n"
    assert "exists. Choose a new name." in desk.ask(
        "sessions", "export", session, str(file), code=2
    )
    other = ["--data", str(tmp_path / "other")]
    assert invoke(["sessions", "import", str(file), *other]) == 0
    assert invoke(["sessions", "show", session, *other]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("delete",), "Name what is to be deleted"),
        (("import",), "Name what is to be imported"),
        (("import", "nothing.json"), "nothing.json can't be read: no such file or directory."),
        (("search", " "), "Say what to look for"),
        (("search", "owls", "--limit", "0"), "--limit is a whole number from 1 on, not '0'."),
        (("list", "--limit", "0"), "--limit is a whole number from 1 on, not '0'."),
        (("rename", "ses_1", " "), "A title is a text of 1 to 500 characters."),
        (("rename", "ses_1", "x" * 501), "A title is a text of 1 to 500 characters."),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, words: tuple[str, ...], said: str) -> None:
    assert said in desk.ask("sessions", *words, code=2)


@pytest.mark.parametrize("command", ["export", "show", "list"])
def test_reader_who_leaves_early_is_no_error(desk: Desk, command: str) -> None:
    (session,) = talked(desk)
    reader, writer = os.pipe()
    os.close(reader)
    which = () if command == "list" else (session,)
    words = ("sessions", command, *which, "--data", str(desk.folder))
    left = subprocess.run(
        [sys.executable, "-m", "roost", *words], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (left.returncode, left.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["export", "show"])
def test_full_disk_behind_the_output_is_said(desk: Desk, command: str) -> None:
    (session,) = talked(desk)
    words = ("sessions", command, session, "--data", str(desk.folder))
    with Path("/dev/full").open("wb") as full:
        failed = subprocess.run(
            [sys.executable, "-m", "roost", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    said = b"A disk is full: that of the output, or of the data. Free some of it.\n"
    assert (failed.returncode, failed.stderr) == (1, said)


@pytest.mark.parametrize("name", ["no/where", "x" * 300])
def test_export_into_no_folder_is_refused(desk: Desk, tmp_path: Path, name: str) -> None:
    (session,) = talked(desk)
    nowhere = str(tmp_path / name)
    assert "can't be written" in desk.ask("sessions", "export", session, nowhere, code=2)


def test_usage_is_by_day_and_model(desk: Desk) -> None:
    assert desk.ask("usage") == "Nothing was used.\n"
    talked(desk, 2)
    (line,) = desk.ask("usage", "--days", "1").splitlines()
    assert line.split("  ")[1:] == ["nest/heron", "2", "0", "0", "$4.0000"]
    text = io.StringIO()
    console = Console(
        file=text, force_terminal=True, no_color=True, width=90, markup=False, highlight=False
    )

    async def done() -> None:
        async with reached(Config(data=desk.folder), {}, {}) as roost:
            await used_in(30)(roost, console)

    asyncio.run(done())
    assert text.getvalue().splitlines()[-1] == "2 model calls, 0 tokens, $4.0000."


def test_file_that_can_not_be_imported_is_named(desk: Desk, tmp_path: Path) -> None:
    (session,) = talked(desk)
    good, wrong = tmp_path / "good.json", tmp_path / "wrong.json"
    desk.ask("sessions", "export", session, str(good))
    wrong.write_text("{}")
    said = desk.ask("sessions", "import", str(good), str(wrong), code=2)
    assert said.startswith(f"{wrong}: ")


@pytest.mark.parametrize("option", ["--config", "--data", "--log-level"])
def test_option_before_the_command_is_told_where_it_goes(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert invoke([option, "x", "sessions", "list"]) == 2
    assert capsys.readouterr().err == (
        "Options go after the whole command. `roost sessions --help` shows what there is.\n"
    )


def test_command_that_lacks_something_names_its_own_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert invoke(["sessions", "show"]) == 2
    assert capsys.readouterr().err.endswith("`roost sessions show --help` shows what there is.\n")


def test_schedule_with_two_times_is_told_that_one_is_enough(desk: Desk) -> None:
    two = ("--cron", "0 9 * * *", "--every", "1d")
    said = desk.ask("schedule", "add", "News", "Any?", *two, code=2)
    assert said == "Say when: give only one of --cron, --at and --every.\n"
