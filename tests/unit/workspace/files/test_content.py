"""What is read and replaced at a spot, also where it changes between the look and the deed."""

import os
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from roost.workspace.base import Folder, Ground
from roost.workspace.files import content
from roost.workspace.files.paths import Refused, Spot, View

Swap = Callable[[Callable[[], object]], None]

FOREVER = 20.0
"""Longer than anything here takes; a wait that long has failed."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    path = tmp_path / "files" / "a"
    path.write_text("mine")
    (tmp_path / "secret").write_text("secret")
    return path


@pytest.fixture
def spot(file: Path) -> Generator[Spot]:
    ground = Ground((Folder(file.parent, "/workspace", writable=True),), file.parent)
    with View(ground) as view, view.find("a") as spot:
        yield spot


@pytest.fixture
def swapped(spot: Spot, file: Path, monkeypatch: pytest.MonkeyPatch) -> Swap:
    """Has something else put in the place of the file as soon as it was looked at."""

    def swap(put: Callable[[], object]) -> None:
        look = spot.look

        def look_and_swap() -> os.stat_result | None:
            found = look()
            file.unlink(missing_ok=True)
            put()
            return found

        monkeypatch.setattr(spot, "look", look_and_swap)

    return swap


def whole(spot: Spot) -> content.Content:
    return content.read(spot, lambda: None)


def test_link_in_the_place_of_a_file_is_not_followed(spot: Spot, file: Path, swapped: Swap) -> None:
    swapped(lambda: file.symlink_to("../secret"))
    with pytest.raises(OSError, match="symbolic links"):
        whole(spot)


def test_pipe_in_the_place_of_a_file_is_not_waited_for(
    spot: Spot, file: Path, swapped: Swap
) -> None:
    swapped(lambda: os.mkfifo(file))
    rescue = threading.Timer(FOREVER, lambda: os.open(file, os.O_WRONLY | os.O_NONBLOCK))
    rescue.start()
    with pytest.raises(Refused, match="not an ordinary file"):
        whole(spot)
    assert rescue.is_alive(), "it was waited for"
    rescue.cancel()


def test_what_is_new_takes_no_place_of_anothers(spot: Spot, file: Path, swapped: Swap) -> None:
    file.unlink()
    swapped(lambda: file.write_text("theirs"))
    with pytest.raises(Refused, match="made by someone else"):
        content.replace(spot, b"new", lambda: None, was=None)
    assert file.read_text() == "theirs"
    assert os.listdir(file.parent) == ["a"]  # noqa: PTH208


def test_what_was_changed_since_it_was_read_is_not_replaced(spot: Spot, file: Path) -> None:
    was = whole(spot)
    before = file.stat()
    file.write_text("ours")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(Refused, match="changed by someone else"):
        content.replace(spot, b"new", lambda: None, was=was)
    assert file.read_text() == "ours"
    assert os.listdir(file.parent) == ["a"]  # noqa: PTH208


def test_what_is_too_much_for_a_file_or_in_a_folder_for_reading_is_not_written(
    spot: Spot, file: Path
) -> None:
    was = whole(spot)
    with pytest.raises(Refused, match="too much for one file"):
        content.replace(spot, bytes(content.MOST + 1), lambda: None, was=was)
    ground = Ground((Folder(file.parent, "/workspace"),), file.parent)
    with View(ground) as view, view.find("a") as kept, pytest.raises(Refused, match="read-only"):
        content.replace(kept, b"new", lambda: None, was=was)
    assert file.read_text() == "mine"


def test_what_is_private_is_so_while_it_is_written(spot: Spot, file: Path) -> None:
    file.chmod(0o600)
    was = whole(spot)
    modes: list[int] = []

    def look() -> None:
        modes.extend([each.stat().st_mode & 0o777 for each in file.parent.iterdir()])

    content.replace(spot, b"new", look, was=was)
    assert set(modes) == {0o600}
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o600)


def test_a_stop_before_the_end_changes_nothing(spot: Spot, file: Path) -> None:
    was = whole(spot)
    asked = 0

    def stop_at_the_last_moment() -> None:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise Refused("It was stopped.")

    with pytest.raises(Refused, match="stopped"):
        content.replace(spot, b"new", stop_at_the_last_moment, was=was)
    assert file.read_text() == "mine"
    assert os.listdir(file.parent) == ["a"]  # noqa: PTH208
