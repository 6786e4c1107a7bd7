"""The `schedule` tool, as an agent that runs calls it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.ids import SessionId, ToolCallId, new_tool_call_id, new_turn_id
from roost.core.schedules import Schedule
from roost.runtime.agent_schedules import AgentSchedules
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, call, say
from roost.tools.base import ToolContext, ToolError
from roost.tools.manners import manner
from roost.tools.schedule import ScheduleTool
from tests.engine import Engine, eventually, started
from tests.unit.tools.calling import keep_nothing, told, written

NINE = {"name": "News", "text": "Any news?", "cron": "0 9 * * *"}


class Agent:
    """Calls the tool in a turn of its own."""

    def __init__(self, engine: Engine, tool: ScheduleTool) -> None:
        self.engine = engine
        self.tool = tool
        self.session: SessionId
        self.route: str | None = None

    async def context(self, call: ToolCallId | None = None) -> ToolContext:
        self.session = await self.engine.session()
        if self.route is not None:
            await self.engine.account.point(self.route, self.session)
        turn = await self.engine.account.send(self.session, "x", id=new_turn_id(), route=self.route)
        return ToolContext(
            user=self.engine.owner.id,
            session=self.session,
            turn=turn.id,
            call=call or new_tool_call_id(),
            show=lambda text: None,
            keep=keep_nothing,
        )

    async def __call__(self, action: str, **arguments: object) -> str:
        return await told(self.tool, await self.context(), action=action, **arguments)

    async def all(self) -> list[Schedule]:
        return list(await self.engine.account.schedules.all())


@pytest.fixture
async def agent(folder: Path, clock: FakeClock) -> AsyncGenerator[Agent]:
    schedules = AgentSchedules()
    tool = ScheduleTool(schedules)
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        async with started(Engine(folder, server, clock=clock, tools=(tool,))) as engine:
            schedules.attach(engine.app)
            yield Agent(engine, tool)


async def test_what_is_added_is_listed_with_its_next_time(agent: Agent) -> None:
    assert await agent("list") == "There are no schedules."
    said = await agent("add", **NINE)
    (made,) = await agent.all()
    line = f"[{made.id}] News, at 0 9 * * * (cron) (UTC), next 2027-01-15 09:00 UTC"
    assert said == f"Scheduled: {line}"
    assert await agent("list") == line
    assert (made.text, made.session, made.route) == ("Any news?", None, None)


async def test_called_twice_by_one_call_it_is_one_schedule(agent: Agent) -> None:
    context = await agent.context(new_tool_call_id())
    first = await told(agent.tool, context, action="add", **NINE)
    assert await told(agent.tool, context, action="add", **NINE) == first
    assert len(await agent.all()) == 1


async def test_it_can_run_in_the_session_it_was_made_in(agent: Agent) -> None:
    await agent("add", **NINE, here=True)
    assert [made.session for made in await agent.all()] == [agent.session]


async def test_its_answers_go_where_it_was_asked_for(agent: Agent) -> None:
    agent.route = "telegram:dm:42"
    await agent("add", **NINE)
    assert [made.route for made in await agent.all()] == ["telegram:dm:42"]


async def test_it_is_paused_resumed_and_removed(agent: Agent) -> None:
    await agent("add", **NINE)
    (made,) = await agent.all()
    assert (await agent("pause", id=made.id)).endswith("paused")
    assert (await agent.all())[0].paused
    assert (await agent("resume", id=made.id)).endswith("UTC")
    assert await agent("remove", id=made.id) == "Removed News."
    assert await agent.all() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "add", "name": "x", "text": "x"},
        {"action": "add", "name": "x", "text": "x", "cron": "* * * * *", "every": "1h"},
        {"action": "add", "text": "x", "every": "1h"},
        {"action": "add", "name": "x", "text": "x", "every": "1s"},
        {"action": "add", "name": "x", "text": "x", "at": "2020-01-01T09:00"},
        {"action": "pause", "id": "sch_0"},
        {"action": "remove"},
        {"action": "explode"},
        {"action": "list", "more": 1},
    ],
)
async def test_the_model_is_told_what_is_wrong(agent: Agent, wrong: dict[str, object]) -> None:
    with pytest.raises(ToolError):
        await agent.tool.run(written(**wrong), await agent.context())


async def test_all_but_looking_asks_a_person_with_what_it_is_about(agent: Agent) -> None:
    assert manner(agent.tool, local=False).when
    context = await agent.context()
    assert await agent.tool.intent(written(action="list"), context) is None
    added = await agent.tool.intent(written(action="add", **NINE), context)
    assert added is not None
    assert added.asks
    assert added.subject == "News, at 0 9 * * * (cron): Any news?"
    await agent("add", **NINE)
    (made,) = await agent.all()
    for action in ("pause", "resume", "remove"):
        intent = await agent.tool.intent(written(action=action, id=made.id), context)
        assert intent is not None
        assert (intent.asks, intent.subject) == (True, added.subject)


async def test_an_agent_schedules_once_its_user_agrees(agent: Agent) -> None:
    engine = agent.engine
    engine.server.plan(call("schedule", {"action": "add", **NINE}))
    engine.server.plan(say("It is scheduled."))
    session = await engine.session()
    turn = await engine.account.send(session, "Any news, each day at nine.")
    await engine.reached(turn.id, "waiting")
    assert await agent.all() == []
    (approval,) = await engine.account.decisions.pending()
    assert approval.asked.does == "Schedule a task"
    await engine.account.decisions.answer(approval.id, "approved")
    await engine.ended(turn.id)
    (made,) = await agent.all()
    assert isinstance(engine.clock, FakeClock)
    engine.clock.advance(3600)
    engine.parts.alarm.set()

    async def ran() -> bool:
        return [run.state for run in await engine.account.schedules.runs(made.id)] == ["completed"]

    assert await eventually(ran)
