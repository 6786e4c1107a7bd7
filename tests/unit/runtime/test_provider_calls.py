"""Calls to a memory: each gets its time, and one that does not stop holds nobody up."""

import asyncio

import pytest

from roost.core.errors import MemoryFailed
from roost.core.ids import SessionId, UserId
from roost.memory.base import Scope, Segment
from roost.runtime.provider_calls import ProviderCalls
from tests.memories import ScriptedMemory
from tests.seconds import within

SCOPE = Scope("scripted", "default", UserId("usr_1"))


def segment(session: str = "ses_1", scope: Scope = SCOPE) -> Segment:
    return Segment(key="seg_1", scope=scope, session=SessionId(session), turns=(), messages=())


async def test_call_that_takes_too_long_is_cancelled() -> None:
    memory, calls = ScriptedMemory(), ProviderCalls(0.02)
    memory.hang()
    with pytest.raises(MemoryFailed, match="did not answer in time"):
        await calls.commit(memory, segment())
    memory.go_on()
    await calls.commit(memory, segment())
    assert list(memory.kept) == ["seg_1"]


async def test_call_that_does_not_stop_blocks_its_own_session_and_scope_alone() -> None:
    memory, calls = ScriptedMemory(), ProviderCalls(0.02)
    memory.stubborn = True
    memory.hang()
    with pytest.raises(MemoryFailed, match="did not answer in time"):
        await calls.commit(memory, segment())
    with pytest.raises(MemoryFailed, match="does not end"):
        await calls.commit(memory, segment())
    other = ScriptedMemory()
    await calls.commit(other, segment("ses_2"))
    await calls.commit(other, segment(scope=Scope("other", "default", UserId("usr_1"))))
    memory.go_on()
    await asyncio.wait([asyncio.create_task(calls.close())])
    await calls.commit(memory, segment())


async def test_who_hurries_gives_a_call_half_of_the_time_that_is_left() -> None:
    memory, calls = ScriptedMemory(), ProviderCalls(60.0)
    memory.hang()
    waiting = asyncio.create_task(calls.commit(memory, segment()))
    await memory.called(1)
    loop = asyncio.get_running_loop()
    before = loop.time()
    calls.hurry(before + 4)
    async with within(3.9):
        with pytest.raises(MemoryFailed):
            await waiting
    assert loop.time() > before + 1.9


async def test_cancelled_caller_cancels_its_call() -> None:
    memory, calls = ScriptedMemory(), ProviderCalls(60.0)
    memory.hang()
    waiting = asyncio.create_task(calls.commit(memory, segment()))
    await memory.called(1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await calls.commit(ScriptedMemory(), segment())


async def test_who_forgets_a_session_has_the_same_time() -> None:
    memory, calls = ScriptedMemory(), ProviderCalls(1.0)
    memory.forgetful = False
    with pytest.raises(MemoryFailed, match="read-only"):
        await calls.withdraw(memory, SCOPE, SessionId("ses_1"))
    memory.forgetful = True
    await calls.withdraw(memory, SCOPE, SessionId("ses_1"))
