"""A process that is killed while it imports a long session: nobody sees what there is of it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from roost.core.ids import SessionId, new_message_id
from roost.core.users import User
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.faults.recount import recount
from tests.faults.scene import TALK, USER, opened, populate
from tests.faults.victim import REPOSITORY
from tests.store_driver import eventually

LONG = 12
"""Messages, of which two fill a slice."""


@pytest.fixture
async def document(tmp_path: Path) -> Path:
    """A long session of another store's."""
    async with opened(tmp_path / "from") as store:
        await populate(store)
        found = json.loads(await store.of(USER).transfer.export(TALK))
    for _ in range(LONG):
        found["session"]["head"] += 1
        said = [{"kind": "text", "text": "owl" + "." * 300_000}]
        another = {"id": new_message_id(), "parts": said, "turn": None, "gone": None}
        place = {"position": found["session"]["head"]}
        found["messages"].append({**found["messages"][-1], **another, **place})
    path = tmp_path / "document.json"
    path.write_text(json.dumps(found))
    return path


def import_and_be_killed(data: Path, document: Path, fault: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.faults.importer", str(data), str(document)],
        cwd=REPOSITORY,
        env={**os.environ, "ROOST_FAULTS": fault},
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL


async def gone(store: Store, clock: FakeClock, session: SessionId) -> None:
    clock.advance(61)

    async def is_gone() -> bool:
        await store.leases.claim("nudge", "1")
        return await store.work.owner(session) is None

    await eventually(is_gone)


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("purges", [False, True])
async def test_import_that_was_killed_can_be_repeated(
    tmp_path: Path, document: Path, place: str, purges: bool
) -> None:
    data, clock = tmp_path / "data", FakeClock()
    async with opened(data) as store:
        await store.users.create(User(id=USER, name="ann", role="admin"))
    await asyncio.to_thread(import_and_be_killed, data, document, f"store.commit.{place}=kill:5")
    async with opened(data, clock) as store:
        assert await store.of(USER).sessions.page() == []
        assert await store.work.owner(TALK) == USER
        if purges:
            await gone(store, clock, TALK)
        imported = await store.of(USER).transfer.load(document.read_bytes())
        assert imported.created
        found = await store.of(USER).history.load(TALK)
        assert imported.session.counters.messages == len(found.messages) > LONG
    assert recount(data, logs=False) == []
