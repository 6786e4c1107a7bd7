"""`kill -9` of a whole Roost at any instant: nothing accepted is lost or doubled, no tool repeated,
no history broken, and whoever read along reads on."""

import asyncio
import os
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.core.ids import SessionId, TurnId, new_session_id, new_turn_id
from roost.core.turns import ENDED
from roost.runtime.account import Account
from roost.store.sqlite.repair import check
from roost.testing import faults
from roost.testing.models import ModelServer
from roost.wiring import Roost, running
from tests.engine import eventually
from tests.faults.engine_books import Books, Reader
from tests.faults.engine_disk import read_disk
from tests.faults.engine_lines import Orders
from tests.faults.engine_process import KEYS, config_of, tools_of
from tests.faults.engine_victim import Nursery, Whims, nursery
from tests.faults.recount import recount

KILLS = int(os.environ.get("ROOST_TEST_ENGINE_KILLS", "50"))
SEED = int(os.environ.get("ROOST_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
SESSIONS = 4
ELSEWHERE = {
    each for each in faults.PLACES if each.startswith(("memory.", "channel.", "move.", "repair."))
}
"""Reached where there is a memory or a channel: test_memory_kill.py and test_channel_kill.py go
there."""


class Scene:
    """One folder, one model, and engines that are killed there one after the other."""

    def __init__(self, folder: Path, server: ModelServer, seed: int) -> None:
        self.folder = folder
        self.server = server
        self.whims = Whims(seed)
        self.books = Books(folder, seed)
        self.sessions = tuple(new_session_id() for _ in range(SESSIONS))
        self._random = random.Random(seed)  # noqa: S311 (reproducible, not secret)
        self._checked = 0
        server.otherwise(self.whims)

    def orders(self, seed: int, *, faults: str = "") -> Orders:
        if self._random.random() < 0.2:
            self.sessions = (*self.sessions[1:], new_session_id())
        return Orders(
            seed=seed,
            model=self.server.openai_url,
            sessions=self.sessions,
            watch=self.books.watches(self.sessions),
            faults=faults,
        )

    def settle(self, killed_at: float) -> None:
        """Hold what was said against what is on disk, before anyone opens it again."""
        disk = read_disk(self.folder / "data")
        problems = [*self.books.settle(disk, killed_at), *self._refused()]
        assert not problems, "\n".join([f"with ROOST_TEST_SEED={SEED}", *problems])

    def _refused(self) -> list[str]:
        requests, self._checked = self.server.requests[self._checked :], len(self.server.requests)
        refused = [f"{each.refused}: {each.body!r}" for each in requests if each.refused]
        for request in requests:
            request.body, request.json = b"", {}
        return refused

    async def calm_down(self) -> None:
        """Open it as the next owner would, talk to everyone, and let everything come to its end."""
        self.whims.kind = True
        self.server.release()
        config, tools = config_of(self.folder, self.server.openai_url), tools_of(self.folder)
        async with running(config, KEYS, {}, tools=tools) as roost:
            owner = (await roost.app.owner()).id
            account = roost.app.of(owner)
            sessions = [session.id for session in await account.sessions(limit=200)]
            for session in sessions:
                await self._check_ghost(roost, account, session)
            sent = [await _said_now(account, session) for session in sessions]
            async with asyncio.timeout(60):
                await eventually(lambda: _quiet(account, sessions))
            for turn in sent:
                found = await roost.store.of(owner).turns.get(turn)
                assert found.state in ("completed", "merged"), found
            for reader in self.books.readers.values():
                if reader.session in sessions:
                    await self._check_reader(account, reader)
        assert self._refused() == []
        disk = read_disk(self.folder / "data")
        assert disk is not None
        assert list(self.books.left_undone(disk)) == []
        self.books.take_for_granted(disk)
        assert check(self.folder / "data") == []
        assert recount(self.folder / "data") == []
        self.whims.kind = False

    async def _check_ghost(self, roost: Roost, account: Account, session: SessionId) -> None:
        """Who says that it runs does run; a turn may begin or end while one looks."""
        for _ in range(3):
            runs = roost.app.parts.turns.is_running(session)
            shown = (await account.session(session)).state
            if shown != "running" or runs:
                return
        raise AssertionError(f"{session} is a ghost")

    async def _check_reader(self, account: Account, reader: Reader) -> None:
        """A reader who comes back has in the end what is stored."""
        cursor = reader.cursor if reader.begun else None
        revision = (await account.session(reader.session)).revision
        async with account.watch(reader.session, cursor) as events, asyncio.timeout(60):
            while reader.cursor.revision < revision or not reader.begun:
                reader.take(await anext(events))
        if not reader.rewritten:
            read = list(reader.messages.values())[-200:]
            stored = await account.messages(reader.session, limit=max(1, len(read)))
            assert read == list(stored)[-len(read) :] or not read


async def _said_now(account: Account, session: SessionId) -> TurnId:
    return (await account.send(session, f"<now {new_turn_id()}>")).id


async def _quiet(account: Account, sessions: list[SessionId]) -> bool:
    for approval in await account.decisions.pending():
        await account.decisions.answer(approval.id, "approved")
    found = [await account.turns(session) for session in sessions]
    return all(turn.state in ENDED for turns in found for turn in turns)


@asynccontextmanager
async def scene(folder: Path, seed: int) -> AsyncGenerator[tuple[Scene, Nursery]]:
    async with ModelServer() as server:
        set = Scene(folder, server, seed)
        async with nursery(folder, set.books) as engines:
            yield set, engines


@pytest.mark.contract("D1", "D3", "D4", "D5")
@pytest.mark.timeout(120 + KILLS * 5)
async def test_killed_at_random_moments_nothing_is_lost_doubled_or_repeated(tmp_path: Path) -> None:
    opened = 0
    async with scene(tmp_path, SEED) as (set, engines):
        for number in range(KILLS):
            await engines.kill_one(set.orders(SEED + number, faults=failure(SEED + number)))
            opened += set.books.opened
            set.settle(engines.killed_at)
            if number % 10 == 9 or number == KILLS - 1:
                await set.calm_down()
        assert opened > KILLS // 2
        assert set.books.losses, "nothing was ever streaming"


def failure(seed: int) -> str:
    """In some lives, the store fails once: before a commit, or after it, with nobody told."""
    chance = random.Random(seed)  # noqa: S311 (reproducible, not secret)
    place = chance.choice(["", "", "store.commit.before", "store.commit.after"])
    return place and f"{place}=fail:{chance.randrange(1, 60)}"


@pytest.mark.contract("D1", "D3", "D4", "D5")
@pytest.mark.parametrize("place", sorted(faults.PLACES - ELSEWHERE))
@pytest.mark.timeout(240)
async def test_killed_at_a_fault_point_nothing_is_lost_doubled_or_repeated(
    tmp_path: Path, place: str
) -> None:
    """Each life dies a little later. The first commits of one are those of its recovery."""
    times = (1,) if "migrate" in place else (1, 3) if "blob" in place else (1, 2, 3, 4, 5, 8, 13)
    async with scene(tmp_path, SEED) as (set, engines):
        for number, nth in enumerate(times):
            await engines.bear(set.orders(SEED + number, faults=f"{place}=kill:{nth}"))
            await engines.let_die()
            set.settle(engines.killed_at)
            await engines.kill_busy(set.orders(SEED + number))
            set.settle(engines.killed_at)
        await set.calm_down()
