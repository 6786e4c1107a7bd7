"""An output of any length: what the model gets, what is saved, what people see meanwhile."""

import asyncio
import os
import tracemalloc
from pathlib import Path

import pytest

from roost.workspace import output
from roost.workspace.base import Folder
from roost.workspace.output import FILES, HEAD, LAST, SHOWN_AT_ONCE, TAIL, Output, Saved, Window


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    return Saved(Folder(tmp_path, "/output"), None)


def test_window_keeps_both_ends() -> None:
    window = Window(4, 3)
    for character in "abcdefghij":
        window.add(character)
    assert window.take("; see there") == "abcd\n[3 characters left out; see there]\nhij"
    assert window.take() == ""


def test_window_with_room_leaves_nothing_out() -> None:
    window = Window(4, 3)
    window.add("abcdefg")
    assert window.take() == "abcdefg"


async def test_short_output_is_not_saved(saved: Saved, tmp_path: Path) -> None:
    found = Output(saved)
    found.feed(b"hello\n")
    await found.close()
    assert (found.take(), found.path) == ("hello\n", None)
    assert not list(tmp_path.iterdir())


async def test_long_output_is_saved_whole_and_its_ends_are_given(
    saved: Saved, tmp_path: Path
) -> None:
    lines = b"".join([b"line %d\n" % number for number in range(10_000)])
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    found = Output(saved)
    for at in range(0, len(lines), 1000):
        found.feed(lines[at : at + 1000])
    await found.close()
    text = found.take()
    assert len(text) < HEAD + TAIL + 100
    assert text.startswith("line 0\n")
    assert text.endswith("line 9999\n")
    assert "; all of it is in /output/1.txt]" in text
    assert found.last == lines[-LAST:].decode()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    assert (tmp_path / "1.txt").read_bytes() == lines
    assert (tmp_path / "1.txt").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_saved_output_belongs_to_who_may_read_it(tmp_path: Path) -> None:
    found = Output(Saved(Folder(tmp_path, "/output"), 1_900_000_123))
    found.feed(b"x\n" * HEAD * 2)
    await found.close()
    made = (tmp_path / "1.txt").stat()
    assert (made.st_uid, made.st_gid) == (1_900_000_123, 1_900_000_123)


async def test_output_past_the_cap_keeps_its_end(
    saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "SAVED", 100_000)
    found = Output(saved)
    for number in range(50):
        found.feed(b"%d " % number * 10_000)
        await found.settle()
    found.feed(b"the end")
    await found.close()
    content = (tmp_path / "1.txt").read_text()
    assert content.startswith("0 0 0")
    assert content.endswith("49 the end")
    assert "only the end is kept" in content
    assert len(content) < 200_000
    assert found.take().endswith("49 the end")


async def test_numbers_go_on_and_old_files_go(saved: Saved, tmp_path: Path) -> None:
    for number in range(1, FILES + 5):
        (tmp_path / f"{number}.txt").touch()
    (tmp_path / "someone's.txt").touch()
    found = Output(saved)
    found.feed(b"x\n" * HEAD * 2)
    await found.close()
    assert found.path == f"/output/{FILES + 5}.txt"
    assert len(list(tmp_path.iterdir())) == FILES + 1
    assert (tmp_path / "someone's.txt").exists()


async def test_output_that_can_not_be_saved_says_so(tmp_path: Path) -> None:
    found = Output(Saved(Folder(tmp_path / "missing", "/output"), None))
    found.feed(b"x\n" * HEAD * 2)
    await found.close()
    assert "; not all of it could be saved]" in found.take()


async def test_output_that_could_not_be_saved_is_not_saved_in_part(tmp_path: Path) -> None:
    found = Output(Saved(Folder(tmp_path / "missing", "/output"), None))
    found.feed(b"x\n" * HEAD * 2)
    await found.settle()
    (tmp_path / "missing").mkdir()
    found.feed(b"y\n" * HEAD * 2)
    await found.close()
    assert found.path is None
    assert not list((tmp_path / "missing").iterdir())


async def test_memory_is_bounded_also_while_nobody_looks(
    saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "SAVED", 1000)
    found = Output(saved)
    found.feed(b"x\n" * 1000)
    await found.settle()
    tracemalloc.start()
    for _ in range(100):
        found.feed(bytes(100_000))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_000_000
    await found.close()


async def test_people_are_not_shown_much_at_once(saved: Saved) -> None:
    shown: list[str] = []
    found = Output(saved, shown.append)
    found.feed(b"x\n" * 100_000)
    await found.close()
    assert max(map(len, shown)) < SHOWN_AT_ONCE + 100


async def test_people_see_lines_as_they_come_and_questions_after_a_while(saved: Saved) -> None:
    shown: asyncio.Queue[str] = asyncio.Queue()
    found = Output(saved, shown.put_nowait)
    found.feed(b"building\nName: ")
    async with asyncio.timeout(60):
        assert await shown.get() == "building\n"
        assert await shown.get() == "Name: "
    await found.close()
    assert found.take() == "building\nName: "


async def test_each_part_is_taken_once(saved: Saved) -> None:
    found = Output(saved)
    found.feed(b"one\ntw")
    assert found.take() == "one\ntw"
    found.feed(b"o\n")
    async with asyncio.timeout(60):
        await found.news()
    assert found.take() == "o\n"
    assert found.last == "one\ntwo\n"
    await found.close()
