"""Attached watchers and a server that is killed: nothing is lost, and nothing is told twice."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

import pytest

from roost.client.account import Account
from roost.client.connection import connected
from roost.client.place import find
from roost.client.watching import AWAY, BACK
from roost.core.events import Changed, Noticed, Rewound, SessionEvent, Snapshot, Streamed, TextDelta
from roost.core.ids import SessionId, TurnId
from roost.core.messages import plain_text
from roost.core.turns import ENDED, Turn
from roost.testing.models import ModelRequest, ModelServer, Reply, say, stall
from tests.e2e import command
from tests.e2e.chat_terminal import CTRL_D, ENTER, terminal
from tests.e2e.command import Roost

DEADLINE = 120
ANSWER = "One word after the other, " * 40


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    def answer(request: ModelRequest) -> Reply:
        if b"Give this conversation a title" in request.body:
            return say("Of words")
        if request.last_text.endswith("</note>"):  # it goes on where it stopped
            return say("and so on. THE END", pace=0.01)
        # However late it is killed, the first time it is in the middle of its answer.
        end = stall() if request.number == 0 else say("THE END")
        return say(ANSWER, pace=0.01) + end

    async with ModelServer(otherwise=answer) as server:
        yield server


@pytest.fixture
def roost(roost: Roost, server: ModelServer) -> Roost:
    folder = roost.home / ".config" / "roost"
    folder.mkdir(parents=True)
    (folder / "roost.toml").write_text(
        "[models]\ndefault = 'nest/heron'\n[memory]\nprovider = 'none'\n"
        f"[providers.nest]\nbase_url = {server.openai_url!r}\nmodels = ['heron']\n"
    )
    return roost


class Reader:
    """Keeps what it is told as a page would: streamed text until a message takes its place."""

    def __init__(self) -> None:
        self.revisions: list[int] = []
        self.snapshots = 0
        self.notices: list[str] = []
        self.provisional = ""
        self.said: list[str] = []
        self.news = asyncio.Event()

    async def follow(self, account: Account, session: SessionId) -> None:
        async with account.watch(session) as events:
            async for event in events:
                self.take(event)
                self.news.set()

    def take(self, event: SessionEvent) -> None:
        match event:
            case Snapshot():
                self.snapshots += 1
                self.revisions = [event.cursor.revision]
            case Changed():
                self.revisions.append(event.cursor.revision)
                for message in event.messages:
                    if message.role == "assistant":
                        self.provisional = ""
                        self.said.append(plain_text(message.parts))
            case Streamed():
                for delta in event.deltas.deltas:
                    self.provisional += delta.text if isinstance(delta, TextDelta) else ""
            case Rewound():
                self.provisional = ""
            case Noticed():
                self.notices.append(event.text)

    async def until_said(self, words: str) -> None:
        async with asyncio.timeout(DEADLINE):
            while words not in self.provisional and words not in "".join(self.said):
                self.news.clear()
                await self.news.wait()

    async def until_told(self, *notices: str) -> None:
        """Of the server: all that there is to tell so far."""
        async with asyncio.timeout(DEADLINE):
            while len(self.notices) < len(notices):
                self.news.clear()
                await self.news.wait()
        assert self.notices == [*notices]

    async def until_at(self, revision: int) -> None:
        async with asyncio.timeout(DEADLINE):
            while not self.revisions or self.revisions[-1] < revision:
                self.news.clear()
                await self.news.wait()


async def the_end(account: Account, session: SessionId, turn: TurnId) -> Turn:
    """How a turn ended, whoever went on with it; by itself it goes on only once."""
    async with asyncio.timeout(DEADLINE), account.watch(session) as events:
        async for _ in events:
            (found,) = [each for each in await account.turns(session) if each.id == turn]
            if found.state == "interrupted":
                await account.proceed(session)
            elif found.state in ENDED:
                return found
    raise AssertionError("it never ended")


@pytest.mark.contract("D5")
@pytest.mark.contract("D11")
async def test_two_watchers_of_a_server_that_is_killed_are_told_everything_once(
    roost: Roost,
) -> None:
    folder = roost.home / ".local" / "share" / "roost"
    readers = [Reader(), Reader()]
    there = partial(connected, partial(find, folder), patience=DEADLINE)
    async with there() as one, there() as other:
        accounts = [Account(one), Account(other)]
        async with roost.running() as running:
            session = (await accounts[0].create(origin="cli", title="Words")).id
            watching = [
                asyncio.create_task(reader.follow(account, session))
                for reader, account in zip(readers, accounts, strict=True)
            ]
            for reader in readers:
                await reader.until_at(1)
            turn = (await accounts[0].send(session, "Tell me.")).id
            await readers[0].until_said("after the other")
            await running.stop(signal.SIGKILL)
        for reader in readers:  # who looks again once there is another was never without one
            await reader.until_told(AWAY)
        async with roost.running() as running:
            for reader in readers:
                await reader.until_told(AWAY, BACK)
            await running.stop(signal.SIGKILL)
        for reader in readers:
            await reader.until_told(AWAY, BACK, AWAY)
        async with roost.running():
            ended = await the_end(accounts[1], session, turn)
            stored = await accounts[0].session(session)
            for reader in readers:
                await reader.until_told(AWAY, BACK, AWAY, BACK)
                await reader.until_at(stored.revision)
            messages = await accounts[1].messages(session, limit=200)
            for task in watching:
                task.cancel()
            await asyncio.wait(watching)
    answers = [plain_text(each.parts) for each in messages if each.role == "assistant"]
    assert ended.state == "completed"
    assert answers[-1].endswith("THE END")
    for reader in readers:
        assert reader.snapshots == 1
        assert reader.revisions == [*range(reader.revisions[0], stored.revision + 1)]
        assert (reader.said, reader.provisional) == (answers, "")
        assert reader.notices == [AWAY, BACK, AWAY, BACK]


@pytest.mark.contract("E4")
async def test_conversation_goes_on_over_a_kill(roost: Roost, tmp_path: Path) -> None:
    async with roost.running() as running, terminal(roost, rows=60) as here:
        await here.prompt()
        here.type("Tell me." + ENTER)
        await here.until("after the other")
        await running.stop(signal.SIGKILL)
        await here.until("The server stopped.")
        async with roost.running():
            await here.until("The server is back.")
            await here.until("THE END")
            screen = await here.prompt()
            assert screen.count("THE END") == 1
            assert "/retry" not in screen
            here.type(CTRL_D)
            assert await here.over() == 0


async def test_message_over_a_pipe_gets_its_answer_over_a_kill(roost: Roost) -> None:
    async with roost.running() as running:
        process = await roost.start("chat", "Tell me.")
        assert process.stdout is not None
        assert process.stderr is not None
        async with asyncio.timeout(DEADLINE):
            begun = await process.stdout.readuntil(b"after the other")
        await running.stop(signal.SIGKILL)
        async with asyncio.timeout(DEADLINE):
            assert (await process.stderr.readline()).decode() == f"{AWAY}\n"
    async with roost.running():
        answered = await command.outcome(process)
    assert (answered.code, begun[:8]) == (0, b"One word")
    assert answered.out.endswith("THE END\n")
    assert BACK in answered.err
    assert "/retry" not in answered.err
