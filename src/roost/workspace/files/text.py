"""Text as files hold it: its encoding found, and kept when it is written back."""

import codecs
import re
from typing import Literal

import msgspec

from roost.workspace.files.paths import Refused

Encoding = Literal["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"]

_PEEK = 1 << 13
_ODD = bytes(set(range(32)) - set(b"\b\t\n\f\r\x1b")) + b"\x7f"
"""Bytes that text has next to none of."""
_KINDS = (
    (b"%PDF-", "a PDF. In the terminal, `pdftotext` makes text of it"),
    (b"PK\x03\x04", "a zip archive (an office document is one too). Unpack it in the terminal"),
    (b"\xd0\xcf\x11\xe0", "an old office document. Convert it in the terminal"),
    (b"\x1f\x8b", "compressed with gzip. Unpack it in the terminal"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "an SQLite database. Query it in the terminal"),
)
_BOMS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Text(msgspec.Struct, frozen=True):
    """`body` has the line ends of the file, and no byte order mark."""

    body: str
    encoding: Encoding = "utf-8"

    @property
    def newline(self) -> str:
        """How most of its lines end."""
        windows = self.body.count("\r\n")
        return "\r\n" if windows * 2 > self.body.count("\n") else "\n"

    @property
    def lines(self) -> list[str]:
        """Without their ends. Only a newline ends one, so that numbers are those of other tools."""
        lines = [line.removesuffix("\r") for line in self.body.split("\n")]
        return lines if lines[-1] else lines[:-1]

    def encoded(self) -> bytes:
        try:
            if self.encoding.startswith("utf-16"):
                return f"\ufeff{self.body}".encode(self.encoding)
            return self.body.encode(self.encoding)
        except UnicodeEncodeError as error:
            odd = error.object[error.start]
            raise Refused(f"The file is {self.encoding} and can't hold {odd!r}.") from None


def decoded(data: bytes) -> Text | None:
    """None if it is no text."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _strict(data[len(mark) :], encoding)
    if b"\0" in data[:_PEEK]:
        return None
    try:
        return Text(data.decode())
    except UnicodeDecodeError:
        odd = len(data[:_PEEK]) - len(data[:_PEEK].translate(None, _ODD))
        return None if odd * 20 > len(data[:_PEEK]) else Text(data.decode("latin-1"), "latin-1")


def _strict(data: bytes, encoding: Encoding) -> Text | None:
    try:
        return Text(data.decode("utf-8" if encoding == "utf-8-sig" else encoding), encoding)
    except UnicodeDecodeError:
        return None


def what_instead(data: bytes) -> str:
    """What a file is that is no text."""
    for magic, kind in _KINDS:
        if data.startswith(magic):
            return kind
    return "not text"


def with_newlines(text: str, newline: str) -> str:
    return re.sub(r"\r?\n", newline, text) if newline != "\n" else text
