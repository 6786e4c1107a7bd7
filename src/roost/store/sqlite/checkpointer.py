"""Moves the write-ahead log into the database beside the writer, so that no commit waits for it."""

import threading
from pathlib import Path

import apsw
import structlog

from roost.store.sqlite.connect import connect_writer

log = structlog.get_logger()

EVERY = 4000
"""Pages of log that are worth moving: the busiest stand in it many times and are moved once."""


class Checkpointer:
    def __init__(self, path: Path) -> None:
        self._connection = connect_writer(path)
        self._connection.set_wal_hook(None)
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="roost-checkpointer", daemon=True)
        self._thread.start()

    def committed(self, pages: int) -> None:
        if pages >= EVERY:
            self._wake.set()

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while self._wake.wait() and not self._closed:
            self._wake.clear()
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            except apsw.BusyError:
                pass  # the writer is emptying it itself
            except apsw.Error:
                log.warning(
                    "moving the write-ahead log failed; it will be tried again", exc_info=True
                )
        self._connection.close()
