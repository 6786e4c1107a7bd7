"""`send_file`, called as an agent calls it, on real files."""

import struct
from pathlib import Path

import pytest

from roost.core.ids import SessionId, UserId, new_session_id
from roost.core.messages import FilePart
from roost.tools.sending import LARGEST
from tests.file_hands import FileHands

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8) + struct.pack(">II", 3, 2)


@pytest.fixture
async def hands(tmp_path: Path) -> FileHands:
    return await FileHands(tmp_path).open()


async def sent(hands: FileHands, path: str) -> FilePart:
    _, file = (await hands.output_of("send_file", path=path)).content
    assert isinstance(file, FilePart)
    assert file.sent
    assert file.size == len(hands.kept[file.blob][0])
    return file


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("report.pdf", b"%PDF-1.7", "application/pdf"),
        ("table.csv", b"a,b\n", "text/csv"),
        ("drawing", PNG, "image/png"),
        ("no-picture.png", b"hello", "application/octet-stream"),
        ("cut-off.png", PNG[:18], "application/octet-stream"),
        ("core", b"\0\1", "application/octet-stream"),
    ],
)
async def test_file_is_kept_with_its_name_and_what_it_is(
    hands: FileHands, name: str, data: bytes, media_type: str
) -> None:
    (hands.home / "out").mkdir()
    (hands.home / "out" / name).write_bytes(data)

    file = await sent(hands, f"out/{name}")

    assert (file.name, file.media_type) == (name, media_type)
    assert hands.kept[file.blob] == (data, media_type)


async def test_what_can_not_be_sent_is_told(hands: FileHands) -> None:
    (hands.home / "empty").touch()
    (hands.home / "large").write_bytes(bytes(LARGEST + 1))
    (hands.home / "folder").mkdir()
    (hands.outside / "secret").write_text("mine")
    (hands.home / "link").symlink_to(hands.outside / "secret")

    assert "nothing to send" in await hands.refused("send_file", path="empty")
    assert "too large" in await hands.refused("send_file", path="large")
    assert "is a folder" in await hands.refused("send_file", path="folder")
    assert "no file" in await hands.refused("send_file", path="missing")
    assert await hands.refused("send_file", path="link")
    assert not hands.kept


async def test_subagent_leaves_it_to_its_caller(tmp_path: Path) -> None:
    """Nobody talks to it, so nobody would get the file."""
    caller = new_session_id()

    async def home_of(user: UserId, session: SessionId) -> SessionId:
        return caller

    hands = await FileHands(tmp_path, home_of=home_of).open()
    (hands.home / "plan.txt").write_text("All of it")

    assert "let your caller send it" in await hands.refused("send_file", path="plan.txt")
