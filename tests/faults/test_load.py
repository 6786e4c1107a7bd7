"""A store that is never idle: background work keeps up all the same."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from roost.core.clock import SystemClock
from roost.core.ids import SessionId, new_message_id, new_turn_id
from roost.core.messages import Draft, TextPart
from roost.core.sessions import NewSession
from roost.core.turns import NewTurn, TurnEnd
from roost.store.sqlite.store import SqliteStore
from tests.faults.recount import recount
from tests.faults.scene import USER, lease_of, opened, populate

DEADLINE = 60.0


@asynccontextmanager
async def under_load(store: SqliteStore) -> AsyncGenerator[None]:
    """Somebody always waits for the writer."""
    stop = asyncio.Event()

    async def write_on(key: str) -> None:
        while not stop.is_set():
            await store.settings.put(key, "1")

    async with asyncio.TaskGroup() as tasks:
        for number in range(8):
            tasks.create_task(write_on(f"load {number}"))
        try:
            yield
        finally:
            stop.set()


async def say(store: SqliteStore, session: SessionId, words: str) -> None:
    me = store.of(USER)
    lease = await lease_of(store, session)
    new = NewTurn(id=new_turn_id(), parts=(TextPart(words),))
    await me.queue.submit(session, new)
    asked = Draft(new_message_id(), "user", new.parts)
    await me.turns.start(session, lease.token, new.id, asked)
    answer = Draft(new_message_id(), "assistant", (TextPart(words),))
    await me.turns.end(session, lease.token, new.id, TurnEnd(state="completed", messages=(answer,)))


async def test_search_finds_what_was_said_under_constant_load(tmp_path: Path) -> None:
    async with opened(tmp_path, SystemClock()) as store:
        await populate(store)
        me = store.of(USER)
        session = SessionId("ses_load")
        await me.sessions.create(NewSession(id=session, origin="web"))
        async with under_load(store), asyncio.timeout(DEADLINE):
            for number in range(200):
                await say(store, session, f"word{number:03}")
            while len(await me.search("word199")) < 2:
                await store.settings.put("poll", "1")
    assert recount(tmp_path) == []
