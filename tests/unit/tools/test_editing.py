"""The tools that change files, called as an agent calls them, on real files."""

import asyncio
import os
from pathlib import Path

import pytest

from roost.core.ids import new_tool_call_id
from roost.tools.base import ToolError
from tests.file_hands import USER, FileHands


@pytest.fixture
async def hands(tmp_path: Path) -> FileHands:
    (tmp_path / "shared").mkdir()
    return await FileHands(tmp_path, write=(tmp_path / "shared",)).open()


async def known(hands: FileHands, data: bytes, name: str = "a.txt") -> Path:
    """A file that the session has read."""
    path = hands.home / name
    path.write_bytes(data)
    await hands.read(name)
    return path


async def test_new_file_is_written_with_its_folders(hands: FileHands) -> None:
    assert await hands.write("src/new/a.py", "one\ntwo\n") == (
        "Wrote src/new/a.py: 2 lines, 8 bytes."
    )
    assert (hands.home / "src/new/a.py").read_text() == "one\ntwo\n"
    assert [path.name for path in (hands.home / "src/new").iterdir()] == ["a.py"]


async def test_replacing_needs_to_have_read_it_and_shows_what_changed(hands: FileHands) -> None:
    path = hands.home / "a.txt"
    path.write_text("one\ntwo\n")
    path.chmod(0o750)
    said = await hands.refused("write_file", path="a.txt", content="mine")
    assert "was not read yet" in said
    await hands.read("a.txt")
    answer = await hands.write("a.txt", "one\nthree\n")
    assert answer == "Replaced a.txt.\n@@ -1,2 +1,2 @@\n one\n-two\n+three"
    assert path.stat().st_mode & 0o7777 == 0o750
    assert await hands.write("a.txt", "one\nthree\n") == "a.txt holds just this already."


async def test_own_write_counts_as_read(hands: FileHands) -> None:
    await hands.write("a.txt", "one\n")
    await hands.edit("a.txt", "one", "two")
    await hands.write("a.txt", "three\n")
    assert (hands.home / "a.txt").read_text() == "three\n"


async def test_edit_of_what_changed_since_it_was_read_is_refused(hands: FileHands) -> None:
    path = await known(hands, b"one\n")
    before = path.stat()
    path.write_bytes(b"uno\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "changed since you read it" in await hands.refused(
        "edit_file", path="a.txt", old="uno", new="two"
    )
    await hands.read("a.txt")
    await hands.edit("a.txt", "uno", "two")
    assert path.read_bytes() == b"two\n"


async def test_file_that_was_touched_but_holds_the_same_can_be_edited(hands: FileHands) -> None:
    path = await known(hands, b"one\n")
    os.utime(path, ns=(1, 1))
    await hands.edit("a.txt", "one", "two")
    assert path.read_bytes() == b"two\n"


async def test_what_one_session_read_the_other_has_not(hands: FileHands, tmp_path: Path) -> None:
    shared = tmp_path / "shared" / "a.txt"
    shared.write_text("one\n")
    other = await FileHands(tmp_path, write=(tmp_path / "shared",)).open()
    await hands.read(str(shared))
    assert "not read yet" in await other.refused(
        "edit_file", path=str(shared), old="one", new="two"
    )


async def test_edit_shows_a_diff_with_the_lines_of_the_file(hands: FileHands) -> None:
    await known(hands, "".join([f"line {n}\n" for n in range(1, 101)]).encode())
    assert await hands.edit("a.txt", "line 50\n", "line fifty\nand more\n") == (
        "Changed a.txt.\n@@ -47,7 +47,8 @@\n line 47\n line 48\n line 49\n-line 50\n"
        "+line fifty\n+and more\n line 51\n line 52\n line 53"
    )


async def test_edit_must_mean_one_place(hands: FileHands) -> None:
    path = await known(hands, b"x = 1\ny\nx = 1\n")
    said = await hands.refused("edit_file", path="a.txt", old="x = 1", new="x = 2")
    assert "2 times, at lines 1, 3." in said
    await hands.edit("a.txt", "x = 1", "x = 2", all=True)
    assert path.read_bytes() == b"x = 2\ny\nx = 2\n"


@pytest.mark.parametrize(
    ("old", "told"),
    [
        (
            "def f(a,b):\n  return a",
            "But for spaces, it is this:\n2\tdef f(a, b):\n3\t    return a",
        ),
        ("    return a + c", "The most similar lines are:\n3\t    return a"),
        ("zzzz qqqq", "nothing like it is there"),
        ("", "`old` is empty"),
        ("\n", "2 times"),
    ],
)
async def test_what_is_not_found_is_answered_by_what_is(
    hands: FileHands, old: str, told: str
) -> None:
    await known(hands, b"import os\ndef f(a, b):\n    return a")
    assert told in await hands.refused("edit_file", path="a.txt", old=old, new="new")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nold\r\nb\r\n", b"a\r\nnew\r\nmore\r\nb\r\n"),
        (b"\xef\xbb\xbfa\nold\nb\n", b"\xef\xbb\xbfa\nnew\nmore\nb\n"),
        (
            "\ufeffa\nold\nb\n".encode("utf-16-le"),
            "\ufeffa\nnew\nmore\nb\n".encode("utf-16-le"),
        ),
        (b"caf\xe9\na\nold\nb", b"caf\xe9\na\nnew\nmore\nb"),
    ],
    ids=["windows", "bom", "utf-16", "latin-1"],
)
@pytest.mark.parametrize("way", ["edit", "patch"])
async def test_encoding_and_line_ends_are_kept(
    hands: FileHands, before: bytes, after: bytes, way: str
) -> None:
    path = await known(hands, before)
    if way == "edit":
        await hands.edit("a.txt", "a\nold\nb", "a\nnew\nmore\nb")
    else:
        await hands("apply_patch", path="a.txt", patch="@@\n a\n-old\n+new\n+more\n b\n")
    assert path.read_bytes() == after


async def test_character_that_the_encoding_lacks_is_refused(hands: FileHands) -> None:
    await known(hands, b"caf\xe9")
    said = await hands.refused("edit_file", path="a.txt", old="caf", new="\u20ac")
    assert said == "The file is latin-1 and can't hold '\u20ac'."


async def test_patch_is_applied_whole_or_not_at_all(hands: FileHands) -> None:
    path = await known(hands, b"1\n2\n3\n4\n5\n")
    both = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n@@ -4,2 +4,2 @@\n 4\n"
    said = await hands.refused("apply_patch", path="a.txt", patch=both + "-6\n+six\n")
    assert "Hunk 2 does not fit; nothing was changed" in said
    assert path.read_bytes() == b"1\n2\n3\n4\n5\n"
    await hands("apply_patch", path="a.txt", patch=both + "-5\n+five\n")
    assert path.read_bytes() == b"one\n2\n3\n4\nfive\n"


async def test_read_only_file_is_left_alone(hands: FileHands) -> None:
    path = await known(hands, b"one\n")
    path.chmod(0o444)
    assert "read-only (mode 444)" in await hands.refused(
        "edit_file", path="a.txt", old="one", new="two"
    )


async def test_link_stays_a_link(hands: FileHands) -> None:
    path = await known(hands, b"one\n")
    (hands.home / "link").symlink_to("a.txt")
    await hands.edit("link", "one", "two")
    assert path.read_bytes() == b"two\n"
    assert (hands.home / "link").is_symlink()


async def test_writing_outside_of_the_workspace_asks(hands: FileHands, tmp_path: Path) -> None:
    shared = str(tmp_path / "shared" / "a.txt")
    intent = await hands.intent("write_file", path=shared, content="x")
    assert (intent.asks, intent.subject) == (True, shared)
    assert intent.directory == "/workspace"
    assert intent.workspace == (await hands.workspaces.of(USER, hands.session)).id
    with pytest.raises(ToolError, match="nobody was asked"):
        await hands.run("write_file", path=shared, content="x")
    await hands.write(shared, "x")
    assert Path(shared).read_text() == "x"
    assert not (await hands.intent("write_file", path="a.txt", content="x")).asks
    assert not (await hands.intent("read_file", path=shared)).asks


async def test_link_changes_what_is_asked(hands: FileHands, tmp_path: Path) -> None:
    (hands.home / "link").symlink_to(tmp_path / "shared")
    intent = await hands.intent("write_file", path="link/a.txt", content="x")
    assert (intent.asks, intent.subject) == (True, str(tmp_path / "shared" / "a.txt"))


async def test_what_was_decided_is_what_is_done(hands: FileHands, tmp_path: Path) -> None:
    """A process puts a link there after a person has said yes."""
    first, second = tmp_path / "shared" / "first", tmp_path / "shared" / "second"
    link = hands.home / "link"
    link.symlink_to(first)
    call = new_tool_call_id()
    await hands.intent("write_file", call, path="link", content="x")
    link.unlink()
    link.symlink_to(second)
    with pytest.raises(ToolError, match=r"leads to .*second now"):
        await hands.run("write_file", call, "by a person", path="link", content="x")
    assert not second.exists()


async def test_full_disk_is_told_before_anything_is_written(tmp_path: Path) -> None:
    async def never(size: int) -> bool:
        return False

    hands = await FileHands(tmp_path, has_room=never).open()
    assert "almost full" in await hands.refused("write_file", path="a", content="x")
    assert not (hands.home / "a").exists()


async def test_cancelled_write_leaves_the_file_or_replaces_it(hands: FileHands) -> None:
    path = await known(hands, b"one\n")
    whole = "x" * (4 << 20)
    task = asyncio.create_task(hands.write("a.txt", whole))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert path.read_bytes() in (b"one\n", whole.encode())


async def test_of_many_sessions_that_make_a_file_one_does(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    sessions = [await FileHands(tmp_path, write=(shared,)).open() for _ in range(8)]
    path = str(shared / "a.txt")
    done = await asyncio.gather(
        *[each.write(path, f"{n}\n" * 1000) for n, each in enumerate(sessions)],
        return_exceptions=True,
    )
    won = [n for n, each in enumerate(done) if isinstance(each, str)]
    assert len(won) == 1
    assert (shared / "a.txt").read_text() == f"{won[0]}\n" * 1000
    assert [path.name for path in shared.iterdir()] == ["a.txt"]
