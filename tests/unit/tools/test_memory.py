"""The `memory` tool, called as an agent calls it, on a real store."""

import msgspec
import pytest

from roost.core.errors import NotFound
from roost.core.ids import BlobId, FactId, SessionId, ToolCallId, new_tool_call_id, new_turn_id
from roost.core.messages import plain_text
from roost.memory.base import Scope
from roost.memory.builtin import Builtin
from roost.store.store import Store
from roost.testing.clock import FakeClock
from roost.tools.base import Tool, ToolContext, ToolError
from roost.tools.memory import MemoryTool
from tests.store_driver import Driver
from tests.unit.memory.remembering import Model


async def _keep(data: bytes, media_type: str) -> BlobId:
    raise AssertionError("memory has nothing to attach")


class Agent:
    """Calls the tool for one user."""

    def __init__(self, tool: Tool, who: Driver, session: SessionId) -> None:
        self.who = who
        self.session = session
        self.scope = Scope("builtin", "default", who.user.id)
        self.call: ToolCallId | None = None
        self._tool = tool

    async def __call__(self, action: str, **arguments: object) -> str:
        context = ToolContext(
            user=self.who.user.id,
            session=self.session,
            turn=new_turn_id(),
            call=self.call or new_tool_call_id(),
            show=lambda text: None,
            keep=_keep,
        )
        written = msgspec.json.encode({"action": action, **arguments}).decode()
        assert await self._tool.intent(written, context) is None
        return plain_text((await self._tool.run(written, context)).content)

    async def remember(self, text: str, **arguments: object) -> FactId:
        answer = await self("remember", text=text, **arguments)
        return FactId(answer.removeprefix("Remembered as ").partition(":")[0])


@pytest.fixture
async def agent(store: Store, clock: FakeClock, ada: Driver, session: SessionId) -> Agent:
    memory = Builtin(lambda user: store.of(user).facts, Model(), clock=clock)
    return Agent(MemoryTool(memory, profile="default"), ada, session)


async def test_what_is_remembered_can_be_found_and_says_where_it_comes_from(agent: Agent) -> None:
    id = await agent.remember("Bob sails.", entities=["Bob"])
    await agent.remember("The user likes tea.", kind="preference")
    assert await agent("search", text="does bob sail or row") == f"[{id}] Bob sails. (trust 0.9)"
    fact = await agent.who.facts.get(str(agent.scope), id)
    assert fact.session == agent.session
    assert fact.turn is not None
    assert await agent("search", text="weather") == "Nothing is known."


async def test_repeated_call_keeps_it_once(agent: Agent) -> None:
    agent.call = new_tool_call_id()
    first = await agent("remember", text="Bob sails.")
    assert await agent("remember", text="Bob sails.") == first
    assert len(await agent.who.facts.page(str(agent.scope))) == 1


async def test_correction_takes_the_place_of_what_was_wrong(agent: Agent) -> None:
    wrong = await agent.remember("Bob sails.")
    right = await agent.remember("Bob rows.", replaces=[wrong, "fct_unknown"])
    assert await agent("search", text="Bob") == f"[{right}] Bob rows. (trust 0.9)"
    assert (await agent.who.facts.get(str(agent.scope), wrong)).superseded_by == right


async def test_about_one_and_about_several(agent: Agent) -> None:
    both = await agent.remember("Bob and Eve sail.", entities=["Bob", "Eve"])
    one = await agent.remember("Bob bakes.", entities=["Bob"])
    about = await agent("about", entities=["bob"])
    assert both in about
    assert one in about
    assert one not in (together := await agent("connect", entities=["Eve", "Bob"]))
    assert both in together


async def test_forgetting_names_what_is_gone(agent: Agent) -> None:
    id = await agent.remember("Bob sails.")
    assert await agent("forget", id=id) == f"Forgot {id}: Bob sails."
    assert await agent("search", text="Bob") == "Nothing is known."


async def test_rating_changes_trust(agent: Agent) -> None:
    id = await agent.remember("Bob sails.")
    assert await agent("rate", id=id, right=False) == "Its trust is 0.7 now."
    assert await agent("rate", id=id, right=True) == "Its trust is 0.8 now."


async def test_nothing_is_contradictory_at_first(agent: Agent) -> None:
    assert await agent("contradictions") == "Nothing is contradictory."


@pytest.mark.parametrize(
    ("action", "arguments", "trouble"),
    [
        ("fly", {}, "Invalid enum value"),
        ("remember", {}, "1 to 500 characters"),
        ("remember", {"text": "x" * 501}, "1 to 500 characters"),
        ("remember", {"text": 7}, "Expected `str`"),
        ("forget", {}, "needs the `id`"),
        ("forget", {"id": "fct_unknown"}, "There is no memory fct_unknown"),
        ("rate", {"id": "fct_unknown"}, "There is no memory fct_unknown"),
        ("about", {}, "needs `entities`"),
        ("connect", {"entities": []}, "needs `entities`"),
    ],
)
async def test_model_is_told_what_it_can_mend(
    agent: Agent, action: str, arguments: dict[str, object], trouble: str
) -> None:
    with pytest.raises(ToolError, match=trouble):
        await agent(action, **arguments)


async def test_nobody_reaches_another_users_memory(
    agent: Agent, bob: Driver, store: Store, clock: FakeClock
) -> None:
    id = await agent.remember("Eve sails.")
    memory = Builtin(lambda user: store.of(user).facts, Model(), clock=clock)
    other = Agent(MemoryTool(memory, profile="default"), bob, await bob.session())
    assert await other("search", text="Eve") == "Nothing is known."
    with pytest.raises(ToolError):
        await other("forget", id=id)
    with pytest.raises(NotFound):
        await memory.get(other.scope, id)
    assert id in await agent("search", text="Eve")
