"""Where a folder's server is: known to who can read the folder, and only while it is there."""

import os
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from roost.client.place import FILE, Place, find, left_in
from roost.core.keys import Key
from roost.store.folder import OwnerLock, this_process

TOKEN = Key("roost_something")


@pytest.fixture
def lock(tmp_path: Path) -> Generator[OwnerLock]:
    lock = OwnerLock(tmp_path, this_process("1", 1000))
    yield lock
    lock.release()


@pytest.mark.parametrize(
    ("address", "reachable"),
    [
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://0.0.0.0:7667", "http://127.0.0.1:7667"),
        ("https://[::]:7667", "https://[::1]:7667"),
        ("http://192.0.2.7:1", "http://192.0.2.7:1"),
    ],
)
def test_server_is_found_where_it_listens(
    tmp_path: Path, lock: OwnerLock, address: str, reachable: str
) -> None:
    with left_in(tmp_path, TOKEN):
        assert find(tmp_path) is None  # it does not listen yet
        lock.announce(address)
        place = find(tmp_path)
        assert place is not None
        assert (str(place.url).rstrip("/"), place.token) == (reachable, TOKEN)
    assert find(tmp_path) is None
    assert not (tmp_path / FILE).exists()


def test_credential_is_readable_by_this_user_alone(tmp_path: Path, lock: OwnerLock) -> None:
    before = os.umask(0)
    try:
        with left_in(tmp_path, TOKEN, certificate=b"\x01\x02"):
            assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
            lock.announce("https://127.0.0.1:1")
            place = find(tmp_path)
            assert isinstance(place, Place)
            assert place.certificate == b"\x01\x02"
            assert "something" not in repr(place)
            assert [*tmp_path.glob(f".{FILE}*")] == []
    finally:
        os.umask(before)


def test_what_a_killed_server_left_is_not_believed(tmp_path: Path, lock: OwnerLock) -> None:
    (tmp_path / f".{FILE}.new").write_text("half a file")
    with left_in(tmp_path, TOKEN):
        left = (tmp_path / FILE).read_bytes()
    lock.release()
    (tmp_path / FILE).write_bytes(left)
    (tmp_path / FILE).chmod(0o600)
    assert find(tmp_path) is None
    later = OwnerLock(tmp_path, this_process("1", 2000))
    later.announce("http://127.0.0.1:1")
    assert find(tmp_path) is None
    with left_in(tmp_path, Key("roost_another")):
        place = find(tmp_path)
        assert place is not None
        assert place.token == Key("roost_another")
    later.release()


@pytest.mark.parametrize("spoil", ["mode", "link", "garbage", "missing"])
def test_what_anyone_could_have_written_is_not_believed(
    tmp_path: Path, lock: OwnerLock, spoil: str
) -> None:
    lock.announce("http://127.0.0.1:1")
    file = tmp_path / FILE
    with left_in(tmp_path, TOKEN):
        assert find(tmp_path) is not None
        match spoil:
            case "mode":
                file.chmod(0o640)
            case "link":
                file.rename(tmp_path / "elsewhere")
                file.symlink_to(tmp_path / "elsewhere")
            case "garbage":
                file.write_text("{")
            case _:
                file.unlink()
        assert find(tmp_path) is None


def test_folder_that_is_not_there_has_no_server(tmp_path: Path) -> None:
    assert find(tmp_path / "nothing") is None
