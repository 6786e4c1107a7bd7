"""What a person sees of what a program writes to a terminal."""

import re

CONTROL = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b\][^\x07]*\x07|\x1b[=>78]|\x1b\([A-B]")
_WAITING = re.compile(r"\x1b(\[[?0-9;]*|\][^\x07]*)?$")


class Screen:
    """As much of a terminal as rich and prompt_toolkit use. Lines that scroll out stay above."""

    def __init__(self, rows: int, columns: int) -> None:
        self._rows = rows
        self._columns = columns
        self._lines = [""]
        self._row = self._column = 0

    def __str__(self) -> str:
        return "\n".join([line.rstrip() for line in self._lines]).rstrip()

    @property
    def _top(self) -> int:
        return max(len(self._lines) - self._rows, 0)

    def feed(self, text: str) -> str:
        """Show this; what is left is the beginning of a control sequence."""
        rest = _WAITING.search(text)
        whole = text[: rest.start()] if rest else text
        place = 0
        for match in CONTROL.finditer(whole):
            self._write(whole[place : match.start()])
            if match[2]:
                self._control(match[1], match[2])
            place = match.end()
        self._write(whole[place:])
        return text[len(whole) :]

    def _write(self, text: str) -> None:
        for letter in text:
            if letter == "\r":
                self._column = 0
            elif letter == "\n":
                self._down()
            elif letter == "\b":
                self._column = max(self._column - 1, 0)
            elif letter >= " ":
                if self._column >= self._columns:
                    self._column = 0
                    self._down()
                line = self._lines[self._row].ljust(self._column)
                self._lines[self._row] = line[: self._column] + letter + line[self._column + 1 :]
                self._column += 1

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append("")

    def _control(self, arguments: str, kind: str) -> None:
        number = int(arguments) if arguments.isdecimal() else 1
        match kind:
            case "A":
                self._row = max(self._row - number, self._top)
            case "B":
                for _ in range(number):
                    self._down()
            case "C":
                self._column = min(self._column + number, self._columns - 1)
            case "D":
                self._column = max(self._column - number, 0)
            case "G":
                self._column = number - 1
            case "J" if arguments in ("", "0"):
                self._lines[self._row] = self._lines[self._row][: self._column]
                del self._lines[self._row + 1 :]
            case "K" if arguments in ("", "0"):
                self._lines[self._row] = self._lines[self._row][: self._column]
            case "K":
                self._lines[self._row] = ""
            case "J" | "H":
                raise AssertionError(f"the whole screen is not ours to move in: {arguments}{kind}")
            case _:
                pass
