"""Attempts to read or change what is outside of a workspace through the file tools, or to hang
them. Each is refused or contained."""

import asyncio
import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.core.ids import new_tool_call_id
from roost.tools.base import ToolError
from roost.workspace.base import Box, Folder, Ground, SandboxKind
from roost.workspace.files import content
from roost.workspace.files.paths import Refused, View
from tests.file_hands import FileHands

SECRET = "the secret of somebody else"  # noqa: S105


@pytest.fixture
async def hands(tmp_path: Path) -> AsyncGenerator[FileHands]:
    """Whatever a test tries, the secret beside the workspace is as it was, and nothing new is
    there."""
    hands = await FileHands(tmp_path).open()
    (hands.outside / "secret.txt").write_text(SECRET)
    yield hands
    assert {path.name: path.read_text() for path in hands.outside.iterdir()} == {
        "secret.txt": SECRET
    }


async def every_tool(hands: FileHands, path: str) -> list[str]:
    """What each tool says to a path that leads out."""
    return [
        await hands.refused("read_file", path=path),
        await hands.refused("write_file", path=path, content="mine now"),
        await hands.refused("edit_file", path=path, old="secret", new="mine"),
        await hands.refused("apply_patch", path=path, patch="@@ -1 +1 @@\n-a\n+b\n"),
        await hands.refused("find_files", path=path),
        await hands.refused("search_files", path=path, regex="."),
    ]


@pytest.mark.parametrize(
    "spelling",
    [
        "../../../outside/secret.txt",
        "../../../../../../../../../../../..{outside}/secret.txt",
        "/workspace/../../../outside/secret.txt",
        "/workspace/../..{outside}/secret.txt",
        "{outside}/secret.txt",
        "/{outside}/secret.txt",
        "/.{outside}/./secret.txt",
        "./../.././../outside/secret.txt",
        "..//..///../outside/secret.txt",
        "sub/../../../../outside/secret.txt",
        "new/../../../../outside/secret.txt",
        "/etc/passwd",
        "/etc/shadow",
        "/root/.ssh/id_rsa",
        "/",
        "..",
        "/workspace/..",
        "/workspaces/x",
        "/workspace2/secret.txt",
        "/proc/self/environ",
        "/proc/self/root{outside}/secret.txt",
        "/proc/self/cwd/secret.txt",
        "/proc/1/root/etc/passwd",
        "/proc/self/fd/0",
        "/dev/stdin",
        "/dev/fd/0",
        "/dev/zero",
        "/sys/kernel/uevent_helper",
        "~/secret.txt",
        "~root/.bashrc",
    ],
)
async def test_path_that_leads_out(hands: FileHands, spelling: str) -> None:
    (hands.home / "sub").mkdir()
    for said in await every_tool(hands, spelling.replace("{outside}", str(hands.outside))):
        assert "outside of what you may use" in said or "not known" in said or "no folder" in said
        assert SECRET not in said


@pytest.mark.parametrize(
    "spelling",
    [
        "..\\..\\..\\outside\\secret.txt",
        "%2e%2e/%2e%2e/%2e%2e/outside/secret.txt",
        "\uff0e\uff0e/\uff0e\uff0e/\uff0e\uff0e/outside/secret.txt",
        "..\u2215..\u2215..\u2215outside\u2215secret.txt",
        "..\u200b/..\u200b/..\u200b/outside/secret.txt",
        "\u2025/\u2025/\u2025/outside/secret.txt",
        ".. /.. /.. /outside/secret.txt",
        "..;/..;/..;/outside/secret.txt",
        "file:///etc/passwd",
        "$HOME/secret.txt",
        "`pwd`/secret.txt",
    ],
)
async def test_spelling_that_someone_might_take_for_dots_is_just_a_name(
    hands: FileHands, spelling: str
) -> None:
    assert "There is no file /workspace/" in await hands.refused("read_file", path=spelling)
    await hands.write(spelling, "mine")
    assert await hands.read(spelling) == "1\tmine"


@pytest.mark.parametrize(
    "path",
    ["a\0b", "\0", "../\0", "\ud800", "", "x" * 5000, "x" * 300, "a/" * 200 + "b", "a/" * 2047],
    ids=[
        "nul",
        "only nul",
        "nul after",
        "surrogate",
        "empty",
        "long",
        "long name",
        "deep",
        "deeper",
    ],
)
async def test_path_that_no_file_can_have(hands: FileHands, path: str) -> None:
    if path == "\ud800":
        ground = Ground((Folder(hands.home, "/workspace"),), hands.home)
        with View(ground) as view, pytest.raises(Refused, match="no path can have"):
            view.find(path)
        return
    for said in [
        await hands.refused("read_file", path=path),
        await hands.refused("write_file", path=path, content="x"),
    ]:
        assert len(said) < 500


def link_file(hands: FileHands) -> str:
    (hands.home / "link").symlink_to(hands.outside / "secret.txt")
    return "link"


def link_folder(hands: FileHands) -> str:
    (hands.home / "link").symlink_to(hands.outside)
    return "link/secret.txt"


def link_relative(hands: FileHands) -> str:
    (hands.home / "link").symlink_to("../../../outside/secret.txt")
    return "link"


def link_to_root(hands: FileHands) -> str:
    (hands.home / "link").symlink_to("/")
    return f"link{hands.outside}/secret.txt"


def link_to_parent_by_dots(hands: FileHands) -> str:
    (hands.home / "a" / "b").mkdir(parents=True)
    (hands.home / "a" / "b" / "link").symlink_to("../../..")
    return "a/b/link/../../outside/secret.txt"


def dots_after_link(hands: FileHands) -> str:
    (hands.home / "deep" / "er").mkdir(parents=True)
    (hands.home / "link").symlink_to("deep/er")
    return "link/../../../../../outside/secret.txt"


def link_chain(hands: FileHands) -> str:
    (hands.home / "link0").symlink_to(hands.outside)
    for n in range(10):
        (hands.home / f"link{n + 1}").symlink_to(f"link{n}")
    return "link10/secret.txt"


def link_through_proc(hands: FileHands) -> str:
    (hands.home / "link").symlink_to(f"/proc/self/root{hands.outside}/secret.txt")
    return "link"


def link_to_descriptor(hands: FileHands) -> str:
    (hands.home / "link").symlink_to("/proc/self/fd/1")
    return "link"


def link_dangling(hands: FileHands) -> str:
    (hands.home / "link").symlink_to(hands.outside / "new.txt")
    return "link"


def link_dangling_folder(hands: FileHands) -> str:
    (hands.home / "link").symlink_to(hands.outside / "new")
    return "link/deep/new.txt"


def link_with_odd_dots(hands: FileHands) -> str:
    (hands.home / "link").symlink_to(".//./..//../.././outside//secret.txt")
    return "./link"


@pytest.mark.parametrize(
    "attack",
    [
        link_file,
        link_folder,
        link_relative,
        link_to_root,
        link_to_parent_by_dots,
        dots_after_link,
        link_chain,
        link_through_proc,
        link_to_descriptor,
        link_dangling,
        link_dangling_folder,
        link_with_odd_dots,
    ],
)
async def test_link_that_leads_out(hands: FileHands, attack: Callable[[FileHands], str]) -> None:
    for said in await every_tool(hands, attack(hands)):
        assert "outside of what you may use" in said


def loop(home: Path) -> str:
    (home / "a").symlink_to("b")
    (home / "b").symlink_to("a")
    return "a/x"


def loop_that_grows(home: Path) -> str:
    (home / "a").symlink_to("a/a/a/a/a")
    return "a"


def loop_by_dots(home: Path) -> str:
    (home / "sub").mkdir()
    (home / "sub" / "a").symlink_to("../sub/a")
    return "sub/a"


def links_that_multiply(home: Path) -> str:
    """Each one means the one before it many times over."""
    (home / "l0").mkdir()
    for n in range(8):
        (home / f"l{n + 1}").symlink_to("/".join([f"l{n}/.."] * 300 + [f"l{n}"]))
    return "l8/x"


@pytest.mark.parametrize("attack", [loop, loop_that_grows, loop_by_dots, links_that_multiply])
async def test_links_without_end(hands: FileHands, attack: Callable[[Path], str]) -> None:
    began = time.monotonic()
    for said in await every_tool(hands, attack(hands.home)):
        assert "goes round in links" in said or "too many folders" in said
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "folder"])
async def test_what_is_no_file_is_not_even_opened(hands: FileHands, kind: str) -> None:
    path = hands.home / "odd"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as server, opened(path.parent) as at:
            server.bind(f"/proc/self/fd/{at}/odd")  # a socket's path has at most 108 bytes
    elif kind == "folder":
        path.mkdir()
    else:
        try:
            os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("only root makes devices")
    async with asyncio.timeout(20):
        if kind != "folder":
            assert "not an ordinary file" in await hands.refused("read_file", path="odd")
            assert "not an ordinary" in await hands.refused("search_files", path="odd", regex=".")
        said = await hands.refused("write_file", path="odd", content="x")
        assert "not an ordinary file" in said or "is a folder" in said
        assert await hands("search_files", regex=".") == "No line matches."


async def test_hard_link_to_a_file_outside_is_cut_not_written_through(hands: FileHands) -> None:
    (hands.home / "hard").hardlink_to(hands.outside / "secret.txt")
    await hands.read("hard")
    await hands.edit("hard", "secret", "changed")
    assert "changed" in (hands.home / "hard").read_text()
    assert (hands.outside / "secret.txt").read_text() == SECRET


async def test_set_id_bits_are_not_kept(hands: FileHands) -> None:
    (hands.home / "tool").write_text("one")
    (hands.home / "tool").chmod(0o6755)
    await hands.read("tool")
    await hands.edit("tool", "one", "two")
    assert (hands.home / "tool").stat().st_mode & 0o7777 == 0o755


@contextmanager
def opened(folder: Path) -> Generator[int]:
    at = os.open(folder, os.O_RDONLY)
    try:
        yield at
    finally:
        os.close(at)


@contextmanager
def meanwhile(*steps: Callable[[], object]) -> Generator[None]:
    """A hostile process: it does these things over and over."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            for step in steps:
                with contextlib.suppress(OSError):
                    step()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=20)


def swapping(home: Path, outside: Path, name: str) -> tuple[Callable[[], object], ...]:
    """A folder and a link to the outside take turns under one name."""
    real, link = home / f"{name}-real", home / f"{name}-link"
    real.mkdir(exist_ok=True)
    link.symlink_to(outside)
    away = home / f"{name}-away"
    return (
        lambda: real.rename(home / name),
        lambda: (home / name).rename(away),
        lambda: link.rename(home / name),
        lambda: (home / name).rename(link),
        lambda: away.rename(real),
    )


def put(view: View, path: str) -> None:
    with view.find(path) as spot:
        content.replace(spot, b"x", lambda: None, was=None)


def got(view: View, path: str) -> bytes:
    with view.find(path) as spot:
        return content.read(spot, lambda: None).data


def missed(view: View, path: str) -> str:
    try:
        return got(view, path).decode()
    except Refused as error:
        return str(error)


def test_folder_swapped_for_a_link_during_2000_writes(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    ground = Ground((Folder(home, "/workspace", writable=True),), tmp_path)
    written = 0
    with meanwhile(*swapping(home, outside, "dir")):
        for number in range(2_000):
            with contextlib.suppress(Refused, OSError), View(ground) as view:
                put(view, f"dir/sub/{number}.txt")
                written += 1
    assert list(outside.iterdir()) == []
    assert written, "now and then the folder was there"


def test_file_swapped_for_a_link_during_2000_reads(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (home / "own").write_text("own")
    (home / "link").symlink_to(outside / "secret.txt")
    ground = Ground((Folder(home, "/workspace", writable=True),), tmp_path)
    swaps = (
        lambda: (home / "own").rename(home / "a"),
        lambda: (home / "a").rename(home / "own"),
        lambda: (home / "link").rename(home / "a"),
        lambda: (home / "a").rename(home / "link"),
    )
    with meanwhile(*swaps):
        for _ in range(2_000):
            with contextlib.suppress(Refused, OSError), View(ground) as view:
                assert got(view, "a") == b"own"


def test_folder_moved_away_while_its_dots_are_walked(tmp_path: Path) -> None:
    """Going up from a folder that was moved up meanwhile would end above the workspace."""
    home = tmp_path / "home"
    (home / "a" / "b" / "c" / "d").mkdir(parents=True)
    (tmp_path / "marker").write_text(SECRET)
    ground = Ground((Folder(home, "/workspace", writable=True),), tmp_path)
    deep, up = home / "a" / "b" / "c", home / "c"
    with meanwhile(lambda: deep.rename(up), lambda: up.rename(deep)):
        for _ in range(2_000):
            with contextlib.suppress(OSError), View(ground) as view:
                assert missed(view, "a/b/c/d/../../../../marker").startswith("There is no ")


async def test_link_put_in_between_the_decision_and_the_deed(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "a.txt").write_text("shared")
    hands = await FileHands(tmp_path, write=(shared,)).open()
    (hands.home / "dir").mkdir()
    call = new_tool_call_id()
    assert not (await hands.intent("write_file", call, path="dir/b.txt", content="x")).asks
    (hands.home / "dir").rmdir()
    (hands.home / "dir").symlink_to(shared)
    for use in (call, None):  # also if nobody had been asked at all
        with pytest.raises(ToolError, match=r"leads to|nobody was asked"):
            await hands.run("write_file", use, path="dir/b.txt", content="x")
    assert [path.name for path in shared.iterdir()] == ["a.txt"]


async def test_folder_that_is_for_reading_stays_so_by_any_path(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "a.txt").write_text("shared")
    hands = await FileHands(tmp_path, read=(shared,)).open()
    (hands.home / "link").symlink_to(shared)
    for path in (f"{shared}/a.txt", "link/a.txt", f"/workspace/..{shared}/a.txt"):
        await hands.read(path)
        assert "read-only" in await hands.refused("edit_file", path=path, old="s", new="x")
        assert "read-only" in await hands.refused(
            "write_file", path=path.replace("a.txt", "new/b.txt"), content="x"
        )
    assert [path.name for path in shared.iterdir()] == ["a.txt"]


async def test_huge_sparse_file_is_neither_read_nor_replaced(hands: FileHands) -> None:
    with (hands.home / "huge").open("wb") as file:
        file.truncate(1 << 40)
    began = time.monotonic()
    assert "not text" in await hands.refused("read_file", path="huge")
    assert "too large" in await hands.refused("write_file", path="huge", content="x")
    assert await hands("search_files", regex="x") == "No line matches."
    assert time.monotonic() - began < 20


async def test_huge_file_of_one_line_is_cut(hands: FileHands) -> None:
    with (hands.home / "line").open("wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    assert len(await hands.read("line")) < 70_000
    assert len(await hands("search_files", regex="x")) < 1_000


async def test_folder_with_very_many_files_is_listed_in_part(hands: FileHands) -> None:
    many = hands.home / "many"
    many.mkdir()
    for number in range(20_000):
        (many / f"{'n' * 100}{number}").touch()
    answer = await hands.read("many")
    assert answer.endswith("[There is more: narrow it down.]")
    assert len(answer) < 41_000


async def test_very_deep_tree_is_walked_in_part(hands: FileHands) -> None:
    at = os.open(hands.home, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    answer = await hands("find_files", pattern="**")
    assert answer.count("\n") < 100
    assert "There is more" in answer


async def test_picture_that_would_unpack_to_gigabytes(hands: FileHands) -> None:
    header = struct.pack(">I4sIIBBBBB", 13, b"IHDR", 2**31 - 1, 2**31 - 1, 16, 6, 0, 0, 0)
    (hands.home / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + header)
    assert "pixels; up to" in await hands.refused("read_file", path="bomb.png")
    assert not hands.kept


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "\udcff\udcfe", "<system> do", "-rf"])
async def test_odd_names_are_shown_and_break_nothing(hands: FileHands, name: str) -> None:
    (hands.home / name).write_text("x")
    assert (await hands("find_files")).endswith("  1")
    assert "1: x" in await hands("search_files", regex="x")


async def test_regular_expression_that_never_ends(tmp_path: Path) -> None:
    hands = await FileHands(tmp_path, search_seconds=3.0).open()
    (hands.home / "a").write_text("found\n")
    (hands.home / "b").write_text("a" * 60 + "b\n")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    began = time.monotonic()
    answer = await hands("search_files", regex=r"^(a+)+$|found")
    ticking.cancel()
    assert (
        answer == "a\n1: found\n[It took too long and was stopped: not everything was looked at.]"
    )
    assert time.monotonic() - began < 15
    assert ticks > 5, "the loop went on meanwhile"


@pytest.mark.parametrize(
    "regex",
    [
        "(" * 900,
        "(?:" * 300 + "a" + "){2}" * 300,
        "((((a{99}){99}){99}){99}){99}",
        "a{,65536}" * 90,
    ],
)
async def test_regular_expression_that_takes_all_memory(tmp_path: Path, regex: str) -> None:
    hands = await FileHands(tmp_path, search_seconds=2.0).open()
    (hands.home / "a").write_text("a" * 1000)
    async with asyncio.timeout(30):
        try:
            answer = await hands("search_files", regex=regex)
        except ToolError as error:
            answer = str(error)
    assert len(answer) < 2_000


@pytest.mark.parametrize(
    "pattern", ["**/" * 300 + "x", "*a" * 200 + "b", "{a,b}" * 40, "[" * 500, "{" * 500, "**" * 400]
)
async def test_glob_that_would_take_for_ever(hands: FileHands, pattern: str) -> None:
    (hands.home / ("a" * 200)).touch()
    deep = hands.home / "/".join("abcdefghijklmnop")
    deep.mkdir(parents=True)
    began = time.monotonic()
    try:
        answer = await hands("find_files", pattern=pattern)
    except ToolError as error:
        answer = str(error)
    assert len(answer) < 2_000
    assert time.monotonic() - began < 15


async def test_gitignore_made_to_slow_down_or_to_lead_out(hands: FileHands) -> None:
    (hands.home / ".gitignore").symlink_to(hands.outside / "secret.txt")
    (hands.home / "sub").mkdir()
    (hands.home / "sub" / ".gitignore").write_text(("**/" * 50 + "*a" * 50 + "b\n") * 100_000)
    (hands.home / "fifo").mkdir()
    os.mkfifo(hands.home / "fifo" / ".gitignore")
    (hands.home / "sub" / ("a" * 200)).touch()
    async with asyncio.timeout(30):
        assert "sub/aaa" in await hands("find_files", pattern="**")


async def test_results_never_name_the_host(hands: FileHands) -> None:
    said = [
        await hands.write("a.txt", "x"),
        await hands.read("a.txt"),
        await hands("find_files"),
        await hands("search_files", regex="x"),
        await hands.refused("read_file", path="none"),
        await hands.refused("read_file", path="a.txt/b"),
        await hands.refused("read_file", path="/etc/passwd"),
        await hands.refused("write_file", path="x" * 300, content="x"),
    ]
    assert not [text for text in said if str(hands.home.parent) in text]


async def test_no_descriptor_and_no_draft_is_left(hands: FileHands) -> None:
    await hands.write("warm.txt", "x")
    await hands("search_files", regex="x")
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for number in range(20):
        await hands.write(f"{number}.txt", "x")
        await hands.refused("write_file", path="../../x", content="x")
        await hands.refused("edit_file", path="0.txt", old="absent", new="y")
    await hands("search_files", regex="x")
    assert len(set(os.listdir("/proc/self/fd")) - before) <= 1  # noqa: PTH208
    assert not [path for path in hands.home.iterdir() if path.name.startswith(".roost")]


class _Boxes:
    """A sandbox that is never asked for a box: the file tools need none."""

    kind: SandboxKind = "bubblewrap"

    async def open(self, ground: Ground, *, network: bool) -> Box:
        raise AssertionError

    async def close(self) -> None:
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root acts as somebody else")
async def test_under_root_the_tools_are_no_stronger_than_the_box(tmp_path: Path) -> None:
    hands = await FileHands(tmp_path, sandbox=_Boxes()).open()
    (hands.home / "roots.txt").write_text(SECRET)
    (hands.home / "roots.txt").chmod(0o600)
    (hands.home / "locked").mkdir(mode=0o700)
    assert "Permission denied" in await hands.refused("read_file", path="roots.txt")
    assert "Permission denied" in await hands.refused("write_file", path="locked/a", content="x")
    assert await hands("search_files", regex=".", all=True) == "No line matches."
    await hands.write("new/own.txt", "own")
    assert (hands.home / "new" / "own.txt").stat().st_uid == hands.home.stat().st_uid != 0
    assert await hands("search_files", regex=".") == "new/own.txt\n1: own"
