"""What a command prints: bounded in memory, saved whole in a file, shown as it comes."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import structlog

from roost.workspace.base import Folder
from roost.workspace.plain import Plain

log = structlog.stdlib.get_logger("roost.workspace")

HEAD = TAIL = 12_000
"""Characters that the model is given of a long output, from its start and from its end."""
LAST = 2_000
"""Characters that surfaces see of a process."""
SAVED = 20_000_000
"""Characters of an output that are saved; past that, only its end."""
FILES = 32
SHOWN_AT_ONCE = 8_000

TICK = 0.1
PATIENCE = 1.0
"""Seconds until a line that does not end is taken as it is: it may be a question."""
_RAW = 64_000


class Window:
    """The head and the tail of a text of any length."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._limits = (head, tail)
        self._head = self._tail = ""
        self._length = 0

    @property
    def is_cut(self) -> bool:
        return self._length > sum(self._limits)

    def add(self, text: str) -> None:
        head, tail = self._limits
        self._length += len(text)
        room = head - len(self._head)
        self._head += text[:room]
        if len(text) > room:
            self._tail = (self._tail + text[room:])[-tail:]

    def take(self, note: str = "") -> str:
        """All there is room for, and begin anew. `note` is said where something is left out."""
        text = self._head + self._tail
        if self.is_cut:
            left = self._length - sum(self._limits)
            said = f"[{left} characters left out{note}]"
            text = f"{_ended(self._head)}{said}\n{self._tail}"
        self._head = self._tail = ""
        self._length = 0
        return text


class Saved:
    """Outputs in a folder, numbered, the oldest removed; they are made when they are needed. What
    runs in the workspace can read them, under another path."""

    def __init__(self, folder: Folder, owner: int | None) -> None:
        self._folder = folder
        self._owner = owner

    def create(self) -> tuple[int, str]:
        """A new file, open for writing, and its path as seen inside. Blocks."""
        numbers = sorted([int(path.stem) for path in self._files()])
        for old in numbers[: -FILES + 1]:
            with suppress(OSError):
                (self._folder.host / f"{old}.txt").unlink()
        number = numbers[-1] + 1 if numbers else 1
        name = f"{number}.txt"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._folder.host / name, flags, 0o600)
        if self._owner is not None:
            os.fchown(fd, self._owner, self._owner)
        return fd, f"{self._folder.inside}/{name}"

    def _files(self) -> list[Path]:
        return [path for path in self._folder.host.glob("*.txt") if path.stem.isdecimal()]


class Output:
    """One command's. Bytes come in as they are read; they are looked at ten times a second, so that
    much of it costs little. Memory is bounded whatever comes."""

    def __init__(self, saved: Saved, show: Callable[[str], None] | None = None) -> None:
        self.show = show
        self.path: str | None = None
        """Where it is saved, as seen inside, if it was too long for a result."""
        self.last = ""
        self._saved = saved
        self._plain = Plain()
        self._raw: list[bytes] = []
        self._raw_length = 0
        self._window = Window()
        self._whole: list[str] | None = []
        self._length = 0
        self._end = Window(0, TAIL)
        self._fd: int | None = None
        self._failed = False
        self._writing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._news = asyncio.Event()

    def feed(self, data: bytes) -> None:
        if not data:
            return
        self._raw.append(data)
        self._raw_length += len(data)
        if self._length > SAVED and self._raw_length > 2 * _RAW:
            kept = b"".join(self._raw)[-_RAW:]
            self._length += self._raw_length - len(kept)
            self._raw, self._raw_length = [kept], len(kept)
        self._news.set()
        self._look_in(TICK)

    async def news(self) -> None:
        """Until something came that was not taken yet."""
        await self._news.wait()

    def take(self) -> str:
        """What came since the last time, as much of it as a result has room for."""
        self._news.clear()
        self._look(whole=True)
        where = f" in {self.path}" if self.path else ""
        how = "not all of it could be saved" if self._failed else "all of it is"
        return self._window.take(f"; {how}{where}" if self._failed or where else "")

    async def settle(self) -> None:
        """Until all that came is where it belongs; then `path` is known."""
        self._look(whole=True)
        while self._writing is not None:
            await asyncio.wait([self._writing])

    async def close(self) -> None:
        """Nothing more comes."""
        await self.settle()
        if self._timer is not None:
            self._timer.cancel()
        if self._fd is not None and (end := self._end.take()):
            self._whole = [f"\n[Past {SAVED} characters only the end is kept]\n", end]
            self._write()
            await self.settle()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._whole = None

    def _look_in(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            if self._timer.when() <= loop.time() + seconds:
                return
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._tick)

    def _tick(self) -> None:
        self._timer = None
        # Without anything new, the line that was begun has waited for long enough.
        self._look(whole=not self._raw)

    def _look(self, *, whole: bool) -> None:
        data = b"".join(self._raw)
        self._raw, self._raw_length = [], 0
        text = self._plain.feed(data) if data else ""
        if whole:
            text += self._plain.rest()
        elif self._plain.is_held:
            self._look_in(PATIENCE)
        if text:
            self._add(text)

    def _add(self, text: str) -> None:
        self.last = (self.last + text)[-LAST:]
        self._window.add(text)
        if self.show is not None:
            self.show(_short(text))
        if self._length > SAVED:
            self._end.add(text)
        elif self._whole is not None:
            self._whole.append(text)
        self._length += len(text)
        if self._fd is not None or self._length > HEAD + TAIL:
            self._write()

    def _write(self) -> None:
        if self._writing is None and self._whole:
            texts, self._whole = self._whole, []
            self._writing = asyncio.create_task(self._written("".join(texts)))

    async def _written(self, text: str) -> None:
        try:
            await asyncio.to_thread(self._append, text.encode())
        except OSError as error:
            log.warning("an output could not be saved", error=str(error))
            self._failed, self._whole = True, None
        self._writing = None
        self._write()

    def _append(self, data: bytes) -> None:
        if self._fd is None:
            self._fd, self.path = self._saved.create()
        while data:
            data = data[os.write(self._fd, data) :]


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _short(text: str) -> str:
    window = Window(SHOWN_AT_ONCE // 2, SHOWN_AT_ONCE // 2)
    window.add(text)
    return window.take()
