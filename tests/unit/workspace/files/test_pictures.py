"""Pictures, known by their first bytes."""

import struct

import pytest

from roost.workspace.files.pictures import Picture, picture_of

_JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc2" + struct.pack(">HBHH", 8, 8, 30, 40)
_WEBP = b"RIFF\0\0\0\0WEBP"


@pytest.mark.parametrize(
    ("data", "kind", "size"),
    [
        (b"GIF89a" + struct.pack("<HH", 3, 4), "gif", (3, 4)),
        (_JPEG, "jpeg", (40, 30)),
        (_WEBP + b"VP8X" + b"\0" * 8 + b"\x09\0\0\x13\0\0", "webp", (10, 20)),
        (_WEBP + b"VP8L\0\0\0\0\x2f" + struct.pack("<I", 9 | 19 << 14), "webp", (10, 20)),
        (_WEBP + b"VP8 " + b"\0" * 10 + struct.pack("<HH", 10, 20), "webp", (10, 20)),
    ],
)
def test_kind_and_size_are_found(data: bytes, kind: str, size: tuple[int, int]) -> None:
    assert picture_of(data) == Picture(f"image/{kind}", *size)


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", _WEBP, _JPEG[:-3], b"\xff\xd8\xff\0" * 9],
)
def test_damaged_picture_has_no_size(data: bytes) -> None:
    assert picture_of(data) == Picture("image/unknown", 0, 0)


def test_text_is_no_picture() -> None:
    assert picture_of(b"hello") is None
    assert picture_of(b"") is None
