"""What a terminal would show, as plain text: no colours, no cursor, progress bars at their end."""

import codecs
import os
import re

_LONGEST_LINE = 16_384
_LONGEST_ESCAPE = 4_096

_ESCAPES = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"
    rf"|[\]PX^_][^\x07\x1b\n]{{0,{_LONGEST_ESCAPE}}}(?:\x07|\x1b\\)"
    r"|[ -/]*[0-OQ-WYZ\\`-~]"
    r")"
)
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)?\Z")
_SPECIAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_UNSEEN = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What has no shape of its own, and what makes text look like other text."""


def as_text(path: str) -> str:
    """A path as it can be shown and stored: a name may be any bytes, and different ones stay so."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class Plain:
    """Takes bytes in any pieces and gives text line by line; a line that goes on is held back,
    since it may still be written over."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._escape = ""
        self._line = ""
        self._broken = False

    def feed(self, data: bytes) -> str:
        """The text of all lines that are complete now."""
        text = self._decoder.decode(data)
        if self._escape or "\x1b" in text:
            text = self._unescaped(self._escape + text)
        complete, newline, begun = text.rpartition("\n")
        lines = self._line + complete + newline if newline else ""
        self._line = begun if newline else self._line + begun
        if len(self._line) > _LONGEST_LINE:
            lines, self._line = lines + self._line, ""
        return self._settled(lines) if lines else ""

    @property
    def is_held(self) -> bool:
        return bool(self._line)

    def rest(self) -> str:
        """The line that goes on, as it is now. What comes after it is the rest of that line, or a
        line of its own if it would have been written over it."""
        # A string that has not ended may never do so: it hides nothing.
        begun, self._escape = self._escape, ""
        if begun[1:2] in ("]", "P", "X", "^", "_") and begun[1:]:
            self._line += begun[2:]
        else:
            self._escape = begun
        line, self._line = self._settled(self._line), ""
        self._broken = bool(line) and not line.endswith("\n")
        return line

    def _unescaped(self, text: str) -> str:
        text = _ESCAPES.sub("", text)
        begun = _BEGUN.search(text)
        self._escape = begun[0] if begun and len(begun[0]) <= _LONGEST_ESCAPE else ""
        return text[: begun.start()] if begun and self._escape else text.replace("\x1b", "")

    def _settled(self, text: str) -> str:
        if _SPECIAL.search(text) is None:
            self._broken = False
            return text
        apart = "\n" if self._broken and text.startswith("\r") and text.strip("\r\n") else ""
        self._broken = False
        return apart + "\n".join([_line(line) for line in text.split("\n")])


def _line(line: str) -> str:
    """One line, once everything that was written over it is there."""
    if "\r" in line:
        written = [part for part in line.split("\r") if part]
        line = written[-1] if written else ""
    if "\b" in line:
        line = _rubbed_out(line)
    return _UNSEEN.sub("", line)


def _rubbed_out(line: str) -> str:
    kept: list[str] = []
    for character in line:
        if character != "\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)
