"""What the OpenViking memory does when its server fails, lies, hangs or goes away."""

import asyncio
import itertools
import socket
from collections.abc import AsyncGenerator

import pytest

from roost.core.errors import MemoryFailed
from roost.core.ids import new_session_id
from roost.memory.base import MemoryProvider, Scope
from roost.memory.openviking import OpenViking, viking_user
from roost.memory.openviking.http import Viking
from roost.memory.openviking.messages import told
from roost.memory.openviking.provider import session_name
from roost.memory.openviking.session import VikingSession
from tests.unit.memory.viking import Look, memory_at, segment, some_scope
from tests.unit.memory.viking_server import KEY, Fault, StandIn

_LINES = [f"Line {number}." for number in range(60)]


@pytest.fixture
async def server() -> AsyncGenerator[StandIn]:
    async with StandIn() as server:
        yield server


@pytest.fixture
async def memory(server: StandIn) -> AsyncGenerator[OpenViking]:
    async with memory_at(server, patience=20, settle=20) as memory:
        yield memory


@pytest.fixture
def scope() -> Scope:
    return some_scope()


def test_it_is_a_memory_provider() -> None:
    provider: type[MemoryProvider] = OpenViking
    assert provider


_QUESTIONS = ["GET /api/v1/sessions/", "GET /api/v1/tasks/"]
_CHANGES = ["POST /api/v1/sessions", "/batch", "/commit"]


# A question whose connection is cut is asked once more by aiohttp itself; a change is not.
@pytest.mark.contract("C10")
@pytest.mark.parametrize(
    ("step", "fault"),
    [
        *itertools.product(_QUESTIONS, ["error", "garbage"]),
        *itertools.product(_CHANGES, ["error", "garbage", "cut before", "cut after"]),
    ],
)
async def test_whatever_fails_at_any_step_the_next_try_keeps_all_once(
    server: StandIn, memory: OpenViking, scope: Scope, step: str, fault: Fault
) -> None:
    big = segment(*_LINES, scope=scope)
    server.faults.append((step, fault))
    with pytest.raises(MemoryFailed):
        await memory.commit(big)
    await memory.commit(big)
    [archived] = await Look(server, scope).archived()
    assert archived[::2] == _LINES
    assert await Look(server, scope).commits() == [1]


@pytest.mark.contract("C10")
async def test_only_the_batches_that_are_missing_are_sent_again(
    server: StandIn, memory: OpenViking, scope: Scope
) -> None:
    big = segment(*_LINES, scope=scope)
    server.faults.extend([("/batch", "none"), ("/batch", "error")])
    with pytest.raises(MemoryFailed, match=r"it answered 500 \(INTERNAL: The disk is on fire\)"):
        await memory.commit(big)
    await memory.commit(big)
    assert len([path for path in server.paths if path.endswith("/batch")]) == 3
    assert [len(each) for each in await Look(server, scope).archived()] == [120]


async def test_messages_that_came_in_twice_are_sent_anew(
    server: StandIn, memory: OpenViking, scope: Scope
) -> None:
    """A request that was given up can be carried out late, when the next try has already looked."""
    twice = segment("One.", scope=scope)
    viking = Viking(server.url, KEY, account="default", timeout=2)
    session = VikingSession(viking, viking_user(scope), session_name(twice))
    await session.create()
    for _ in range(2):
        await session.add(told(twice.messages))
    await viking.close()

    with pytest.raises(MemoryFailed, match="all is sent anew"):
        await memory.commit(twice)
    await memory.commit(twice)
    assert await Look(server, scope).archived() == [["One.", "Noted."]]


async def test_an_extraction_that_takes_long_is_waited_for_by_the_next_try(
    server: StandIn, scope: Scope
) -> None:
    slow = segment("REMEMBER pet: I have a cat.", scope=scope)
    server.extraction = "stuck"
    async with memory_at(server, settle=0.01) as memory:
        for _ in range(2):
            with pytest.raises(MemoryFailed, match="still extracting"):
                await memory.commit(slow)
        server.finish()
        await memory.commit(slow)
    assert await Look(server, scope).archived() == [["REMEMBER pet: I have a cat.", "Noted."]]
    assert await Look(server, scope).commits() == [1]


async def test_a_server_that_hangs_is_given_up(server: StandIn, scope: Scope) -> None:
    async with memory_at(server, patience=0.05) as memory:
        server.faults.append(("/sessions", "stall"))
        with pytest.raises(MemoryFailed, match=r"it did not answer within 0\.05 seconds"):
            await memory.commit(segment("One.", scope=scope))
        server.faults.append(("/search", "stall"))
        with pytest.raises(MemoryFailed, match="it did not answer"):
            await memory.recall(scope, "anything", limit=1)
        server.faults.append(("/health", "stall"))
        problem = await memory.health()
        assert problem is not None
        assert "did not answer" in problem


async def test_a_call_can_be_given_up(server: StandIn, memory: OpenViking, scope: Scope) -> None:
    server.faults.append(("/search", "stall"))
    recalling = asyncio.create_task(memory.recall(scope, "anything", limit=1))
    async with asyncio.timeout(60):
        while server.faults:  # noqa: ASYNC110 (it tells nobody)
            await asyncio.sleep(0.005)
    recalling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await recalling
    assert await memory.recall(scope, "anything", limit=1) == []


async def test_a_server_that_is_down_is_said_to_be(scope: Scope) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        host, port = closed.getsockname()
        memory = OpenViking(f"http://ada:hush@{host}:{port}", KEY)
        try:
            with pytest.raises(MemoryFailed, match="it can't be reached") as caught:
                await memory.commit(segment("One.", scope=scope))
            assert "hush" not in str(caught.value)
            assert await memory.health() is not None
        finally:
            await memory.close()


async def test_an_address_that_is_none_is_said_to_be() -> None:
    memory = OpenViking("nowhere", KEY)
    problem = await memory.health()
    await memory.close()
    assert problem is not None
    assert "it can't be reached (" in problem


async def test_the_key_is_in_no_error(server: StandIn, memory: OpenViking, scope: Scope) -> None:
    server.faults.append(("/search", "echo key"))
    with pytest.raises(MemoryFailed, match="No such key") as caught:
        await memory.recall(scope, "anything", limit=1)
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value)


async def test_a_key_of_another_user_keeps_nothing(scope: Scope) -> None:
    """Otherwise all of Roost's users would share what that user knows."""
    async with StandIn(user_of_key="alice") as server, memory_at(server) as memory:
        with pytest.raises(MemoryFailed, match="the key is that of its user alice, not of usr_"):
            await memory.commit(segment("REMEMBER pin: It is 1234.", scope=scope))
        assert not [path for path in server.paths if path.endswith("/batch")]
        assert server.paths[-1].startswith("DELETE /api/v1/sessions/")
        assert await memory.recall(scope, "pin", limit=5) == []


async def test_a_key_of_the_mapped_user_is_that_users_memory(scope: Scope) -> None:
    async with StandIn(user_of_key="alice") as server:
        memory = OpenViking(server.url, KEY, user_of=lambda _: "alice")
        try:
            await memory.commit(segment("REMEMBER pet: I have a cat.", scope=scope))
            [found] = await memory.recall(scope, "cat", limit=5)
            assert found.text == "- I have a cat."
        finally:
            await memory.close()


async def test_what_is_no_memory_of_the_users_is_not_forgotten(
    server: StandIn, memory: OpenViking, scope: Scope
) -> None:
    mine = f"viking://user/{viking_user(scope)}"
    for id in (
        "",
        "viking://resources/handbook.md",
        "viking://user/other/memories/a.md",
        f"{mine}/memories",
        f"{mine}/../other/memories/a.md",
    ):
        await memory.forget(scope, id)
    assert server.paths == []


@pytest.mark.contract("C12")
async def test_what_others_have_changed_since_is_left_when_a_session_is_deleted(
    server: StandIn, memory: OpenViking, scope: Scope
) -> None:
    gone = new_session_id()
    await memory.commit(segment("REMEMBER city: I live in Oslo.", scope=scope, session=gone))
    await memory.commit(segment("REMEMBER city: I live in Rome.", scope=scope, key="seg_2"))
    await memory.withdraw(scope, gone)
    [left] = await memory.recall(scope, "live", limit=5)
    assert left.text == "- I live in Rome."
    assert len(await Look(server, scope).sessions()) == 1


@pytest.mark.contract("C12")
async def test_a_withdrawal_that_broke_off_is_completed_by_the_next(
    server: StandIn, memory: OpenViking, scope: Scope
) -> None:
    gone = new_session_id()
    taught = segment(
        "REMEMBER city: I live in Oslo.", "REMEMBER pet: I have a cat.", scope=scope, session=gone
    )
    await memory.commit(taught)
    server.faults.extend([("DELETE /api/v1/fs", "none"), ("DELETE /api/v1/fs", "error")])
    with pytest.raises(MemoryFailed):
        await memory.withdraw(scope, gone)
    await memory.withdraw(scope, gone)
    assert await memory.recall(scope, "I live have", limit=5) == []
    assert await Look(server, scope).sessions() == []


async def test_a_segment_in_which_nothing_was_said_asks_nothing_of_the_server(
    server: StandIn, memory: OpenViking, scope: Scope
) -> None:
    await memory.commit(segment(scope=scope))
    assert server.paths == []
