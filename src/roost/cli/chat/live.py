"""The last lines of the screen, which may still change; all above them is final."""

from collections.abc import Sequence

from rich.console import Console, RenderableType


class Live:
    """Only what differs is drawn again, in one write: nothing flickers, nothing above moves. Where
    there is no terminal that could take lines back, nothing is drawn."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawn: list[str] = []
        self._width = 0
        self._enabled = console.is_terminal and not console.is_dumb_terminal

    def show(self, content: Sequence[RenderableType]) -> None:
        if self._enabled:
            # One line is the cursor's: what has scrolled away can't be taken back.
            self._draw(self._lines(content)[-max(self._console.height - 2, 1) :])

    def commit(self, content: Sequence[RenderableType]) -> None:
        """Put something final in place of what was shown. What looks the same is not touched."""
        if self._enabled:
            self._draw(self._lines(content))
            self._drawn = []
        else:
            for each in content:
                self._console.print(each)

    def clear(self) -> None:
        if self._drawn:
            self._draw([])

    def _lines(self, content: Sequence[RenderableType]) -> list[str]:
        with self._console.capture() as captured:
            for each in content:
                self._console.print(each)
        return captured.get().split("\n")[:-1]

    def _draw(self, lines: list[str]) -> None:
        if self._width != self._console.width:
            # What stood there was wrapped anew: better twice on the screen than too much erased.
            self._drawn, self._width = [], self._console.width
        same = 0
        for old, new in zip(self._drawn, lines, strict=False):
            if old != new:
                break
            same += 1
        out = ""
        if (above := len(self._drawn) - same) > 0:
            out = f"\r\x1b[{above}A\x1b[J"
        out += "".join([line + "\n" for line in lines[same:]])
        self._drawn = lines
        if out:
            self._console.file.write(out)
            self._console.file.flush()
