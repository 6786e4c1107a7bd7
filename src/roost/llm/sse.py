"""Server-sent events out of a stream of bytes, however it was cut into pieces."""

from collections.abc import Iterator

from roost.core.errors import ReplyMalformed

LIMIT = 32 << 20
"""Bytes that one event may have: more is not an answer but a fault."""


class EventReader:
    """Feed it bytes, get (event, data) pairs. Comments, ids and retry hints are skipped.

    Lines end in LF, CRLF or CR; the last event counts even if the stream ends without a blank line,
    as several servers do.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._held = b""
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0
        self._garbage = False
        self._events = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[str, bytes]]:
        self._waiting.append(self._held + chunk if self._held else chunk)
        if b"\n" not in chunk and b"\r" not in chunk and not self._held:
            # Put together once it is a line: a long one comes in a thousand pieces.
            self._waiting_size += len(chunk)
            check_size(self._waiting_size, self._provider)
            return
        buffer = self._waiting[0] if len(self._waiting) == 1 else b"".join(self._waiting)
        self._held = b""
        if b"\r" in buffer:
            if buffer.endswith(b"\r"):
                # It may be half of a CRLF: it waits for what follows.
                buffer, self._held = buffer[:-1], b"\r"
            buffer = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = buffer.split(b"\n")
        self._waiting = [rest] if rest else []
        self._waiting_size = len(rest)
        check_size(self._waiting_size, self._provider)
        for line in lines:
            yield from self._line(line)

    def end(self) -> Iterator[tuple[str, bytes]]:
        yield from self.feed(b"\n")
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[tuple[str, bytes]]:
        if line.startswith(b"data:"):
            data = line[6:] if line.startswith(b"data: ") else line[5:]
            self._data.append(data)
            self._size += len(data)
            check_size(self._size, self._provider)
        elif not line:
            if self._data:
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                event = self._event
                self._event, self._data, self._size = "", [], 0
                self._events += 1
                yield event, data
            self._event = ""
        elif line.startswith(b"event:"):
            self._event = line[6:].strip().decode("ascii", "replace")
        elif not line.startswith((b":", b"id:", b"retry:")):
            self._garbage = True

    def check_something_came(self) -> None:
        """At the end: if nothing was an event and something was garbage, it was no such stream."""
        if self._garbage and not self._events:
            raise ReplyMalformed("it is not a stream of events", provider=self._provider)


def check_size(size: int, provider: str) -> None:
    if size > LIMIT:
        raise ReplyMalformed(f"an event of over {LIMIT >> 20} MiB", provider=provider)
