"""Moves the write-ahead log into the database beside the writer, so that no commit waits for it."""

import threading
from pathlib import Path

import apsw
import structlog

from roost.store.sqlite.connect import connect_writer

log = structlog.get_logger()

EVERY = 2000
"""Pages of log that are worth moving: the busiest stand in it many times and are moved once."""

FEW = 500
"""Pages that may be left for the writer to move."""


class Checkpointer:
    """The log begins anew only if all of it has been moved when the writer begins to write. Beside
    one who always writes that never happens, so the writer moves what came meanwhile itself."""

    def __init__(self, path: Path) -> None:
        self._connection = connect_writer(path)
        self._connection.set_wal_hook(None)
        self._wake = threading.Event()
        self._moved = 0
        self._passed = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="roost-checkpointer", daemon=True)
        self._thread.start()

    def committed(self, pages: int) -> bool:
        """The log holds so many pages. Whether the writer is to move the last of them."""
        if pages < self._moved:  # it began anew
            self._moved, self._passed = 0, False
        left = pages - self._moved
        passed, self._passed = self._passed, False
        if left >= EVERY or (passed and left > FEW):
            self._wake.set()
        return passed and left <= FEW

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait()
            passed = not self._closed and self._pass()
            # What was told meanwhile did not know how much is moved by now. Not after it is said to
            # have passed: whoever hears that may want it to go on.
            self._wake.clear()
            if passed:
                self._passed = True
        self._connection.close()

    def _pass(self) -> bool:
        """Whether it came to its end."""
        try:
            self._moved = move(self._connection)
            return True
        except apsw.BusyError:
            return False  # the writer is emptying it itself
        except apsw.Error:
            log.warning("moving the write-ahead log failed; it will be tried again", exc_info=True)
            return False


def move(connection: apsw.Connection) -> int:
    """As many pages of the log as nobody still reads; how many of it have been moved by now."""
    _, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    return moved
