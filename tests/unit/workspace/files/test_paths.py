"""Where paths lead, as a box sees them."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from roost.workspace.base import Folder, Ground
from roost.workspace.files import content
from roost.workspace.files.paths import DEEPEST, LONGEST, Refused, View


def ground(tmp_path: Path, *more: Folder, owner: int | None = None) -> Ground:
    files = tmp_path / "files"
    files.mkdir(exist_ok=True)
    return Ground((Folder(files, "/workspace", writable=True), *more), tmp_path, owner)


def leads_to(view: View, path: str) -> str:
    with view.find(path) as spot:
        return spot.path


def read(view: View, path: str) -> bytes:
    with view.find(path) as spot:
        return content.read(spot, lambda: None).data


@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("a", "/workspace/a"),
        ("/workspace/a", "/workspace/a"),
        ("./sub/../a", "/workspace/a"),
        ("../workspace//a/", "/workspace/a"),
        ("/../../workspace/./a", "/workspace/a"),
        (".", "/workspace"),
        ("sub/..", "/workspace"),
        ("to-sub/x", "/workspace/sub/x"),
        ("to-sub/../a", "/workspace/a"),
        ("sub/up/a", "/workspace/a"),
        ("absolute/x", "/workspace/sub/x"),
        ("chain/x", "/workspace/sub/x"),
        ("dangling", "/workspace/sub/none"),
        ("new/folder/x", "/workspace/new/folder/x"),
        ("...", "/workspace/..."),
    ],
)
def test_path_leads_where_a_process_in_the_box_would_go(
    tmp_path: Path, path: str, end: str
) -> None:
    files = tmp_path / "files"
    (files / "sub").mkdir(parents=True)
    (files / "to-sub").symlink_to("sub")
    (files / "sub" / "up").symlink_to("..")
    (files / "absolute").symlink_to("/workspace/sub")
    (files / "chain").symlink_to("absolute")
    (files / "dangling").symlink_to("sub/none")
    with View(ground(tmp_path)) as view:
        assert leads_to(view, path) == end


def test_folders_of_the_host_are_found_by_their_own_path(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "a").write_text("shared")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "link").symlink_to(shared / "a")
    with View(ground(tmp_path, Folder(shared, str(shared)))) as view:
        assert read(view, str(shared / "a")) == read(view, "link") == b"shared"
        with view.find("link") as spot, pytest.raises(Refused, match="read-only"):
            spot.must_be_writable()
        with pytest.raises(Refused, match="outside of what you may use: /workspace, "):
            view.find(str(tmp_path))


def test_without_a_box_paths_are_those_of_the_host(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    (home / "a").write_text("mine")
    (home / "link").symlink_to(home / "a")
    outside.write_text("not mine")
    with View(Ground((Folder(home, str(home), writable=True),), tmp_path)) as view:
        assert read(view, str(home / "a")) == read(view, "a") == read(view, "link") == b"mine"
        for path in (str(outside), "../outside", f"{home}/../outside"):
            with pytest.raises(Refused, match="outside of what you may use"):
                view.find(path)


def test_folder_inside_another_has_its_own_say(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "a").touch()
    folders = (Folder(outer, str(outer), writable=True), Folder(inner, str(inner)))
    with View(ground(tmp_path, *folders)) as view:
        with view.find(f"{outer}/inner/../inner/a") as spot:
            assert spot.folder.host == inner
        with view.find(f"{inner}/../b") as spot:
            assert spot.folder.host == outer


def test_folder_inside_another_is_not_reached_through_a_link_put_there(tmp_path: Path) -> None:
    outer, inner, secret = (tmp_path / name for name in ("outer", "outer/inner", "secret"))
    outer.mkdir()
    secret.mkdir()
    (secret / "a").write_text("secret")
    inner.symlink_to(secret)
    folders = (Folder(outer, str(outer), writable=True), Folder(inner, str(inner)))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with View(ground(tmp_path, *folders)) as view, pytest.raises(OSError, match="Not a dir"):
        view.find(f"{inner}/a")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_path_has_a_length(tmp_path: Path) -> None:
    with View(ground(tmp_path)) as view:
        assert leads_to(view, "/" * (LONGEST - 11) + "workspace/a") == "/workspace/a"
        with pytest.raises(Refused, match=f"at most {LONGEST} characters"):
            view.find("/" * (LONGEST - 10) + "workspace/a")


def test_as_many_links_are_followed_as_the_kernel_would(tmp_path: Path) -> None:
    with View(ground(tmp_path)) as view:
        for number in range(1, 42):
            (tmp_path / "files" / str(number)).symlink_to(str(number - 1))
        assert leads_to(view, "40") == "/workspace/0"
        with pytest.raises(Refused, match="goes round in links"):
            view.find("41")


def test_few_links_do_not_make_a_path_long(tmp_path: Path) -> None:
    (tmp_path / "files" / "sub").mkdir(parents=True)
    (tmp_path / "files" / "long").symlink_to("sub/../" * 500)
    with View(ground(tmp_path)) as view:
        assert leads_to(view, "long/a") == "/workspace/a"
        with pytest.raises(Refused, match="too many folders"):
            view.find("long/" * 20)


def test_going_up_and_down_in_the_depth_comes_to_an_end(tmp_path: Path) -> None:
    """Each way up is walked from the top."""
    deep = "d/" * 100
    (tmp_path / "files" / deep).mkdir(parents=True)
    with View(ground(tmp_path)) as view:
        assert leads_to(view, f"{deep}../d").count("/") == 101
        with pytest.raises(Refused, match="too many folders"):
            view.find(deep + "../d/" * 100)


def test_link_put_where_a_file_was_found_is_just_a_link(tmp_path: Path) -> None:
    with View(ground(tmp_path)) as view, view.find("a") as spot:
        assert spot.look() is None
        (tmp_path / "files" / "a").symlink_to("/etc/passwd")
        found = spot.look()
        assert found is not None
        assert stat.S_ISLNK(found.st_mode)


def test_folders_are_found_down_to_a_depth(tmp_path: Path) -> None:
    """`/workspace` is one of them, be they there or yet to be made."""
    below = "d/" * (DEEPEST - 1)
    with View(ground(tmp_path)) as view:
        for _ in range(2):
            assert leads_to(view, below).count("/") == DEEPEST
            with pytest.raises(Refused, match="too many folders"):
                view.find(f"{below}d")
            (tmp_path / "files" / below / "d").mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize("kernel", ["/proc", "/sys"])
def test_what_the_kernel_shows_is_no_file_even_where_it_is_in_reach(
    tmp_path: Path, kernel: str
) -> None:
    with View(ground(tmp_path, Folder(Path(kernel), kernel))) as view:
        for path in (kernel, f"{kernel}/self/environ", f"{kernel}/kernel"):
            with pytest.raises(Refused, match="outside of what you may use"):
                view.find(path)


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    (tmp_path / "files" / "a" / "b").mkdir(parents=True)
    (tmp_path / "files" / "loop").symlink_to("loop")
    (tmp_path / "files" / "file").touch()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with View(ground(tmp_path)) as view:
        for path in ("a/b/../../a", "loop", "/etc/passwd", "../..", "file/x", "n/o/../x", "a\0"):
            with suppress(Refused, OSError):
                view.find(path).close()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.skipif(os.geteuid() != 0, reason="only root acts as somebody else")
def test_root_can_do_no_more_than_the_user_of_the_box(tmp_path: Path) -> None:
    owner = 1_900_000_123
    tmp_path.chmod(0o700)
    found = ground(tmp_path, owner=owner)
    os.chown(tmp_path / "files", owner, owner)
    (tmp_path / "files" / "roots").write_text("secret")
    (tmp_path / "files" / "roots").chmod(0o600)
    with View(found) as view:
        with pytest.raises(PermissionError):
            read(view, "roots")
        with view.find("new/a") as spot:
            content.replace(spot, b"mine", lambda: None, was=None)
    made = (tmp_path / "files" / "new" / "a").stat()
    assert (made.st_uid, made.st_gid) == (owner, owner)
    assert (tmp_path / "files" / "new").stat().st_uid == owner
    assert (tmp_path / "files" / "roots").read_text() == "secret", "and is root again"
