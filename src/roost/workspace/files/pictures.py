"""What picture a file holds, by its first bytes alone: nothing is unpacked."""

import struct

import msgspec


class Picture(msgspec.Struct, frozen=True):
    media_type: str
    width: int
    height: int


def picture_of(data: bytes) -> Picture | None:
    """None if it is no picture that models take. One that is cut off has no size."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return Picture("image/png", *struct.unpack_from(">II", data, 16))
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return Picture("image/gif", *struct.unpack_from("<HH", data, 6))
        if data.startswith(b"\xff\xd8\xff"):
            return Picture("image/jpeg", *_jpeg(data))
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return Picture("image/webp", *_webp(data))
    except struct.error:
        return Picture("image/unknown", 0, 0)
    return None


def _jpeg(data: bytes) -> tuple[int, int]:
    """Segment by segment up to the frame's header, the one that has the size."""
    at = 2
    while True:
        (marker,) = struct.unpack_from(">H", data, at)
        if marker == 0xFFFF:  # padding
            at += 1
        elif 0xFFC0 <= marker <= 0xFFCF and marker not in (0xFFC4, 0xFFC8, 0xFFCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            (length,) = struct.unpack_from(">H", data, at + 2)
            if marker < 0xFF00 or length < 2:
                raise struct.error("this is no segment")
            at += 2 + length


def _webp(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        low_w, high_w, low_h, high_h = struct.unpack_from("<HBHB", data, 24)
        return (low_w | high_w << 16) + 1, (low_h | high_h << 16) + 1
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF
