"""The `session_search` tool on a real store: it finds and reads what its own user said."""

import pytest

from roost.core.ids import SessionId
from roost.runtime.past_sessions import StoredSessions
from roost.store.sessions import SessionPatch
from roost.store.store import Store
from roost.tools.base import Tool, ToolError
from roost.tools.session_search import SessionSearch
from tests.store_driver import Driver
from tests.unit.tools.calling import context_of, told


class Agent:
    """Searches for one user, from one session."""

    def __init__(self, tool: Tool, who: Driver, session: SessionId) -> None:
        self.context = context_of(user=who.user.id, session=session)
        self._tool = tool

    async def __call__(self, **arguments: object) -> str:
        return await told(self._tool, self.context, **arguments)


@pytest.fixture
def tool(store: Store) -> Tool:
    return SessionSearch(StoredSessions(store)).tools()[0]


@pytest.fixture
def agent(tool: Tool, ada: Driver, session: SessionId) -> Agent:
    return Agent(tool, ada, session)


async def test_hit_names_its_session_and_can_be_read_on(agent: Agent, ada: Driver) -> None:
    other = await ada.session()
    await ada.sessions.update(other, SessionPatch(title="Birds"))
    await ada.talk(other, "What do owls eat?", "Mice, mostly.")
    await ada.indexed()
    assert await agent(query="owls") == f"[{other} 1] Birds, 2027-01-15, user: What do owls eat?"
    read = await agent(session=other, around=1)
    assert read == "Birds, 2027-01-15\n[1] user: What do owls eat?\n[2] assistant: Mice, mostly."


async def test_present_session_is_found_only_if_it_is_named(
    agent: Agent, ada: Driver, session: SessionId
) -> None:
    await ada.talk(session, "An owl", "Indeed")
    await ada.compact(session, "A bird was seen.")
    await ada.indexed()
    assert await agent(query="owl") == "Nothing was found."
    assert "user: An owl" in await agent(query="owl", session="this")
    assert "[1] user: An owl" in await agent(session="this", around=1)


async def test_nobody_finds_or_reads_what_others_said(
    tool: Tool, ada: Driver, bob: Driver, session: SessionId
) -> None:
    await ada.talk(session, "A secret owl", "Indeed")
    await ada.indexed()
    stranger = Agent(tool, bob, await bob.session())
    assert await stranger(query="owl") == "Nothing was found."
    for arguments in ({"query": "owl"}, {"around": 1}):
        with pytest.raises(ToolError, match="There is no session"):
            await stranger(session=session, **arguments)


async def test_long_session_does_not_crowd_out_the_others(agent: Agent, ada: Driver) -> None:
    quiet, loud = await ada.session(), await ada.session()
    await ada.talk(quiet, "An owl")
    for _ in range(20):
        await ada.talk(loud, "An owl")
    await ada.indexed()
    found = await agent(query="owl")
    assert found.count(loud) == 3
    assert found.count(quiet) == 1


async def test_what_is_read_is_bounded(agent: Agent, ada: Driver) -> None:
    other = await ada.session()
    for _ in range(10):
        await ada.talk(other, "x" * 50_000, "y" * 50_000)
    assert len(await agent(session=other, around=10)) < 30_000


async def test_undone_words_are_not_read(agent: Agent, ada: Driver) -> None:
    other = await ada.session()
    turn = await ada.talk(other, "An owl")
    lease = await ada.claim(other)
    await ada.history.undo(other, lease.token, turn)
    with pytest.raises(ToolError, match="no message near"):
        await agent(session=other, around=1)


@pytest.mark.parametrize("arguments", [{}, {"query": " "}, {"query": '"'}, {"around": 3}])
async def test_call_that_asks_for_nothing_is_told_what_to_give(
    agent: Agent, arguments: dict[str, object]
) -> None:
    with pytest.raises(ToolError):
        await agent(**arguments)
