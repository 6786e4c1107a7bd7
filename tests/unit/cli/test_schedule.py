"""`roost schedule`: made, looked at, paused, run and removed without a server."""

from pathlib import Path

import pytest

from tests.unit.cli.test_user import Desk


@pytest.fixture
def desk(begun: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(begun, capsys)


def make(desk: Desk, *flags: str) -> str:
    said = desk.ask(
        "schedule",
        "add",
        "News",
        "Any news?",
        *(flags or ("--cron", "0 9 * * mon-fri", "--zone", "UTC")),
    )
    id, _, rest = said.partition(" ")
    assert rest.startswith("runs next 20")
    return id


def test_schedule_is_listed_until_it_is_removed(desk: Desk) -> None:
    assert desk.ask("schedule", "list").startswith("There are no schedules.")
    id = make(desk)
    (line,) = desk.ask("schedule", "list").splitlines()
    found, name, when, _, where = line.split("  ")
    assert (found, name, when) == (id, "News", "0 9 * * mon-fri (UTC)")
    assert where == "a session of its own"
    assert desk.ask("schedule", "remove", id) == "News is removed.\n"
    assert desk.ask("schedule", "list").startswith("There are no schedules.")


def test_schedule_is_paused_and_resumed(desk: Desk) -> None:
    id = make(desk, "--every", "1h")
    assert desk.ask("schedule", "pause", id) == "News: paused\n"
    assert "  paused  " in desk.ask("schedule", "list")
    assert desk.ask("schedule", "resume", id).startswith("News: 20")


def test_run_waits_for_a_server_and_is_in_the_history(desk: Desk) -> None:
    id = make(desk, "--every", "1h", "--zone", "Asia/Tokyo", "--skip-missed")
    assert desk.ask("schedule", "history", id) == "It has not run yet.\n"
    said = desk.ask("schedule", "run", id)
    assert said.startswith("It runs when Roost runs again, in ses_")
    (line,) = desk.ask("schedule", "history", id).splitlines()
    assert line.split("  ")[1] == "queued"
    assert line.split("  ")[2] in said


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--every", "1h", "--cron", "* * * * *"),
        ("--every", "1s"),
        ("--at", "1999-01-01T00:00"),
        ("--every", "1h", "--zone", "Moon/Base"),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, flags: tuple[str, ...]) -> None:
    assert desk.ask("schedule", "add", "News", "Any news?", *flags, code=2)
    assert desk.ask("schedule", "list").startswith("There are no schedules.")


def test_what_is_not_there_is_said(desk: Desk) -> None:
    assert "no schedule sch_1" in desk.ask("schedule", "pause", "sch_1", code=1)
