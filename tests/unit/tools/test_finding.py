"""`find_files` and `search_files`, called as an agent calls them, on real trees."""

import asyncio
import os
from pathlib import Path

import pytest

from roost.workspace.inside.trees import children
from tests.file_hands import FileHands


@pytest.fixture
async def hands(tmp_path: Path) -> FileHands:
    return await FileHands(tmp_path).open()


def tree(hands: FileHands, **files: str) -> None:
    """Files by their path, with `__` for a slash and `_` for a dot."""
    for name, text in files.items():
        path = hands.home / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def find(hands: FileHands, pattern: str, **given: object) -> list[str]:
    answer = await hands("find_files", pattern=pattern, **given)
    return [line.split("  ")[0] for line in answer.split("\n")]


async def test_glob_finds_at_the_depth_that_it_says(hands: FileHands) -> None:
    tree(hands, a_py="", b_txt="", src__c_py="", src__deep__d_py="", src__deep__e_ts="")
    assert await find(hands, "*") == ["a.py", "b.txt", "src/"]
    assert await find(hands, "*.py") == ["a.py"]
    assert await find(hands, "**/*.py") == ["a.py", "src/c.py", "src/deep/d.py"]
    assert await find(hands, "src/*/*.{py,ts}") == ["src/deep/d.py", "src/deep/e.ts"]
    assert await find(hands, "**/d.*", path="src") == ["src/deep/d.py"]
    assert await find(hands, "*.rs") == ["Nothing is there that matches."]


async def test_newest_first_says_when(hands: FileHands) -> None:
    tree(hands, a="", b="", c="")
    for name, when in (("a", 1_000_000_000), ("b", 1_200_000_000), ("c", 1_100_000_000)):
        os.utime(hands.home / name, (when, when))
    answer = await hands("find_files", sort="newest")
    assert answer.split("\n")[0] == "b  0  2008-01-10 21:20"
    assert await find(hands, "*", sort="newest") == ["b", "c", "a"]


async def test_what_programs_made_is_passed_over_unless_asked_for(hands: FileHands) -> None:
    tree(hands, a_py="", sub__x_py="", dist__b_py="", keep_log="", x_log="")
    (hands.home / ".git").mkdir()
    (hands.home / ".git" / "c.py").touch()
    (hands.home / "node_modules").mkdir()
    (hands.home / "node_modules" / "d.py").touch()
    (hands.home / ".gitignore").write_text("# made\n/dist/\n*.log\n!keep.log\n")
    assert await find(hands, "**/*.{py,log}") == ["a.py", "keep.log", "sub/x.py"]
    everything = await find(hands, "**/*.{py,log}", all=True)
    assert {".git/c.py", "node_modules/d.py", "dist/b.py", "x.log"} < set(everything)


async def test_search_shows_lines_by_file(hands: FileHands) -> None:
    tree(hands, a_py="import os\nimport sys\n", src__b_py="x\nimport re\n", c_txt="import\n")
    assert await hands("search_files", regex=r"^import (os|re)$") == (
        "a.py\n1: import os\nsrc/b.py\n2: import re"
    )
    assert await hands("search_files", regex="import", files="*.txt") == "c.txt\n1: import"
    assert await hands("search_files", regex="import", path="src") == "src/b.py\n2: import re"
    assert await hands("search_files", regex="sys", path="a.py") == "a.py\n2: import sys"
    assert await hands("search_files", regex="nowhere") == "No line matches."


async def test_search_shows_what_is_around(hands: FileHands) -> None:
    tree(hands, a="1\n2\nhit\n4\n5\n6\n7\nhit\n9\n")
    assert await hands("search_files", regex="hit", around=1) == (
        "a\n2- 2\n3: hit\n4- 4\n--\n7- 7\n8: hit\n9- 9"
    )


async def test_search_passes_over_what_is_no_text_and_follows_no_link(hands: FileHands) -> None:
    (hands.home / "binary").write_bytes(b"hit\0hit")
    (hands.outside / "secret").write_text("hit")
    (hands.home / "link").symlink_to(hands.outside)
    (hands.home / "secret").symlink_to(hands.outside / "secret")
    (hands.home / "latin").write_bytes(b"caf\xe9 hit")
    assert await hands("search_files", regex="hit", all=True) == "latin\n1: caf\ufffd hit"


async def test_matches_are_bounded_and_say_so(hands: FileHands) -> None:
    tree(hands, a="hit\n" * 10_000, b="hit " * 10_000)
    answer = await hands("search_files", regex="hit")
    assert answer.count(": hit") == 150
    assert answer.endswith("[There is more: narrow it down.]")
    wide = await hands("search_files", regex="hit", path="b")
    assert len(wide) < 1_000


@pytest.mark.parametrize("regex", ["(", "[z-a]", "a{99999999999}", "(?P<1>a)"])
async def test_pattern_that_is_none_is_explained(hands: FileHands, regex: str) -> None:
    tree(hands, a="a")
    said = await hands.refused("search_files", regex=regex)
    assert said.startswith("The pattern ")


async def test_search_that_is_cancelled_ends_its_process(hands: FileHands) -> None:
    (hands.home / "a").write_text("a" * 60 + "b")
    before = _children()
    task = asyncio.create_task(hands("search_files", regex=r"^(a+)+$"))
    async with asyncio.timeout(60):
        while not _children() - before:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not _children() - before


def _children() -> set[int]:
    return set(children(os.getpid()))
