"""Work in threads that somebody waits for, or no longer."""

import asyncio
import threading
import time

import pytest

from roost.workspace.files import patience
from roost.workspace.files.paths import Refused
from roost.workspace.files.patience import Patience, in_thread

FOREVER = 20.0
"""Longer than anything here takes; a wait that long has failed."""


async def test_work_ends_with_whoever_waits_for_it() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(patient: Patience) -> None:
        begun.set()
        try:
            while True:
                patient.check()
        finally:
            ended.set()

    task = asyncio.create_task(in_thread(work, seconds=2 * FOREVER))
    assert await asyncio.to_thread(begun.wait, FOREVER)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, FOREVER)


async def test_cancel_waits_for_work_that_is_about_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nothing is changed once it is through."""
    monkeypatch.setattr(patience, "_GRACE", FOREVER)
    begun, release, done = threading.Event(), threading.Event(), threading.Event()

    def work(_: Patience) -> None:
        begun.set()
        release.wait(FOREVER)
        time.sleep(0.05)
        done.set()

    task = asyncio.create_task(in_thread(work, seconds=FOREVER))
    assert await asyncio.to_thread(begun.wait, FOREVER)
    task.cancel()
    asyncio.get_running_loop().call_soon(release.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done.is_set()


async def test_work_has_so_much_time() -> None:
    def work(patient: Patience) -> None:
        while True:
            patient.check()

    with pytest.raises(Refused, match=r"given up after 0\.05 seconds"):
        await in_thread(work, seconds=0.05)
