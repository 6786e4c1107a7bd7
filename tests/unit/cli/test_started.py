"""What is printed as a command works where it is read."""

import sys
from pathlib import Path

import pytest

from roost.cli.started import as_started, command

SAID = "Start it with `roost run`."


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that is on no path, as `make run` makes one, and where it is seen from."""
    made = tmp_path / ".venv" / "bin"
    made.mkdir(parents=True)
    for name in ("roost", "python"):
        (made / name).touch(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(sys, "executable", str(made / "python"))
    return made


@pytest.mark.parametrize(
    ("started", "said"),
    [
        (".venv/bin/roost", "Start it with `.venv/bin/roost run`."),
        ("lib/roost/__main__.py", "Start it with `{place}/python -m roost run`."),
        ("bin/pytest", SAID),
        ("lib/pytest/__main__.py", SAID),
    ],
)
def test_hint_names_what_was_started(
    started: str, said: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [started, "doctor"])
    assert as_started(SAID) == said.format(place=place)


@pytest.mark.parametrize("started", [".venv/bin/roost", "lib/roost/__main__.py"])
def test_command_on_the_path_is_called_by_its_name(
    started: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    (place.parent.parent / "shortcut").mkdir()
    (place.parent.parent / "shortcut" / "roost").symlink_to(place / "roost")
    monkeypatch.setenv("PATH", str(place.parent.parent / "shortcut"))
    assert command() == "roost"


def test_another_roost_on_the_path_is_not_meant(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "roost").touch(0o755)
    monkeypatch.setenv("PATH", str(other))
    monkeypatch.setattr(sys, "argv", [str(place / "roost")])
    assert command() == str(place / "roost")
