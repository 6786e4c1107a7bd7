"""OpenViking as a memory: the same tests against the stand-in and, where it is installed, against
the real server (ROOST_OPENVIKING=path/to/openviking-server)."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from roost.core.errors import MemoryFailed
from roost.core.ids import new_session_id
from roost.memory.openviking import OpenViking, viking_user
from roost.memory.openviking.http import Viking
from roost.memory.openviking.messages import told
from roost.memory.openviking.provider import session_name
from roost.memory.openviking.session import VikingSession
from tests.unit.memory.real_viking import PROGRAM, RealViking
from tests.unit.memory.viking import Look, memory_at, recalled, segment, some_scope
from tests.unit.memory.viking_server import KEY, StandIn, VikingServer

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]

_SERVERS = ["stand-in", "real"] if PROGRAM is not None else ["stand-in"]


@pytest_asyncio.fixture(params=_SERVERS, scope="module", loop_scope="module")
async def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[VikingServer]:
    async with AsyncExitStack() as stack:
        if request.param == "real":
            real = RealViking(tmp_path_factory.mktemp("viking"))
            yield await stack.enter_async_context(real)
        else:
            yield await stack.enter_async_context(StandIn())


@pytest_asyncio.fixture(loop_scope="module")
async def memory(server: VikingServer) -> AsyncGenerator[OpenViking]:
    async with memory_at(server) as memory:
        yield memory


async def test_what_was_committed_is_recalled_best_first_and_forgotten(
    memory: OpenViking, server: VikingServer
) -> None:
    scope = some_scope()
    await memory.commit(
        segment(
            "REMEMBER city: I live in Oslo.",
            "REMEMBER coffee: I drink dark roast coffee.",
            scope=scope,
        )
    )
    found = await recalled(memory, server, scope, "which dark roast coffee do I drink")
    assert [each.text for each in found] == ["- I drink dark roast coffee.", "- I live in Oslo."]
    best = await memory.recall(scope, "which dark roast coffee do I drink", limit=1)
    assert [each.id for each in best] == [found[0].id]

    await memory.forget(scope, found[0].id)
    left = await recalled(memory, server, scope, "which dark roast coffee do I drink")
    assert [each.text for each in left] == ["- I live in Oslo."]
    await memory.forget(scope, found[0].id)


@pytest.mark.contract("C10")
async def test_a_repeat_neither_doubles_messages_nor_commits_again(
    memory: OpenViking, server: VikingServer
) -> None:
    scope = some_scope()
    again = segment("REMEMBER tea: I like green tea.", scope=scope)
    await memory.commit(again)
    await memory.commit(again)
    async with memory_at(server) as restarted:
        await restarted.commit(again)
    look = Look(server, scope)
    assert await look.archived() == [["REMEMBER tea: I like green tea.", "Noted."]]
    assert await look.commits() == [1]


@pytest.mark.contract("C10")
@pytest.mark.parametrize("arrived", [0, 1, 4])
async def test_a_repeat_after_a_crash_completes_what_was_begun(
    memory: OpenViking, server: VikingServer, arrived: int
) -> None:
    scope = some_scope()
    begun = segment("One.", "Two.", scope=scope)
    viking = Viking(server.url, KEY, account="default", timeout=20)
    session = VikingSession(viking, viking_user(scope), session_name(begun))
    await session.create()
    if arrived:
        await session.add(told(begun.messages)[:arrived])
    await viking.close()

    await memory.commit(begun)
    look = Look(server, scope)
    assert await look.archived() == [["One.", "Noted.", "Two.", "Noted."]]
    assert await look.commits() == [1]


async def test_a_big_segment_goes_out_in_batches(memory: OpenViking, server: VikingServer) -> None:
    scope = some_scope()
    texts = [f"Line {number}." for number in range(120)]
    await memory.commit(segment(*texts, scope=scope))
    [archived] = await Look(server, scope).archived()
    assert archived[::2] == texts
    assert len(archived) == 240


async def test_what_could_not_be_extracted_is_sent_again(
    memory: OpenViking, server: VikingServer
) -> None:
    scope = some_scope()
    hard = segment("REMEMBER pet: I have a cat.", scope=scope)
    server.extraction = "failing"
    try:
        with pytest.raises(MemoryFailed, match="it could not extract memories"):
            await memory.commit(hard)
    finally:
        server.extraction = "good"
    await memory.commit(hard)
    assert await Look(server, scope).archived() == [["REMEMBER pet: I have a cat.", "Noted."]]
    [found] = await recalled(memory, server, scope, "cat")
    assert found.text == "- I have a cat."


async def test_users_and_profiles_do_not_see_each_other(
    memory: OpenViking, server: VikingServer
) -> None:
    ada, bob = some_scope(), some_scope()
    await memory.commit(segment("REMEMBER city: I live in Oslo.", scope=ada))
    [found] = await recalled(memory, server, ada, "where do I live")
    assert await memory.recall(bob, "where do I live", limit=5) == []
    await memory.forget(bob, found.id)
    assert [found] == await memory.recall(ada, "where do I live", limit=5)


@pytest.mark.contract("C12")
async def test_a_deleted_session_takes_back_what_it_taught(
    memory: OpenViking, server: VikingServer
) -> None:
    scope = some_scope()
    kept, gone = new_session_id(), new_session_id()
    await memory.commit(
        segment("REMEMBER city: I live in Oslo.", scope=scope, session=kept, key="seg_1")
    )
    await memory.commit(
        segment(
            "REMEMBER city: I live in Rome.",
            "REMEMBER pet: I have a cat.",
            scope=scope,
            session=gone,
            key="seg_2",
        )
    )
    assert len(await recalled(memory, server, scope, "I live have")) == 2
    await memory.withdraw(scope, gone)
    [left] = await recalled(memory, server, scope, "I live have")
    assert left.text == "- I live in Oslo."
    assert len(await Look(server, scope).sessions()) == 1
    await memory.withdraw(scope, gone)


async def test_withdrawing_what_is_unknown_does_nothing(memory: OpenViking) -> None:
    await memory.withdraw(some_scope(), new_session_id())


async def test_nothing_said_is_nothing_recalled(memory: OpenViking) -> None:
    assert await memory.recall(some_scope(), "  ", limit=5) == []
    assert await memory.recall(some_scope(), "anything", limit=5) == []


async def test_it_is_well_with_the_right_key_only(server: VikingServer, memory: OpenViking) -> None:
    assert await memory.health() is None
    async with memory_at(server, key="wrong-secret") as wrong:
        problem = await wrong.health()
        assert problem is not None
        assert "does not accept the key" in problem
        with pytest.raises(MemoryFailed, match="does not accept the key") as caught:
            await wrong.recall(some_scope(), "anything", limit=1)
        assert "wrong-secret" not in str(caught.value)
    async with memory_at(server, key=None) as without:
        assert await without.health() is not None
