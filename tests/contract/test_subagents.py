"""Subagents: sessions of their own that work for one call, and end with it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import msgspec
import pytest

from roost.core.clock import SystemClock
from roost.core.config import Config, LimitsConfig, ToolsConfig
from roost.core.events import Snapshot, Streamed, ToolOutputDelta
from roost.core.ids import SessionId
from roost.core.messages import ToolResultPart, plain_text
from roost.core.sessions import Session
from roost.core.settings import Count
from roost.core.turns import Turn
from roost.runtime.subagents import Subagents
from roost.store.sessions import SessionFilter
from roost.testing.models import ModelRequest, ModelServer, Reply, call, say, stall, use
from roost.tools.base import Tool, ToolContext
from roost.tools.delegate import Delegate
from tests.engine import ASKS, ECHO, Engine, FunctionTool, config_for, eventually
from tests.seconds import within

pytestmark = pytest.mark.both


class Office:
    """An engine whose agents can delegate. What a model says to a text is looked up: the task is
    the last text of a subagent's conversation, its result the last of its caller's."""

    def __init__(self, folder: Path, server: ModelServer, config: Config, *tools: Tool) -> None:
        self.answers: dict[str, Reply] = {}
        self.server = server
        self._subagents = Subagents(config.tools)
        tools = (*tools, *Delegate(self._subagents).tools())
        self.engine = Engine(folder, server, clock=SystemClock(), tools=tools, config=config)
        server.otherwise(self._answer)

    def _answer(self, request: ModelRequest) -> Reply:
        for words, reply in self.answers.items():
            if words in request.last_text:
                return reply
        return say("Good day.")

    async def start(self) -> None:
        await self.engine.start()
        self._subagents.attach(self.engine.app)

    async def session(self, *, toolset: str | None = None) -> SessionId:
        created = await self.engine.account.create(origin="test", title="Boss", toolset=toolset)
        return created.id

    async def turn(self, session: SessionId) -> Turn:
        return (await self.engine.account.turns(session))[-1]

    async def children(self, session: SessionId) -> list[Session]:
        return list(await self.engine.account.subagents(session))

    async def child(self, session: SessionId) -> SessionId:
        """The one subagent of a session, once it is there and at work."""

        async def at_work() -> SessionId | None:
            found = await self.children(session)
            return found[0].id if found and found[0].state in ("running", "waiting") else None

        return await eventually(at_work)  # pyright: ignore[reportReturnType]

    async def has_ended(self, session: SessionId) -> bool:
        return (await self.engine.account.session(session)).ended_at is not None

    async def asked(self, words: str) -> ModelRequest:
        """The request that asks the model this, once it has arrived."""
        number = 0
        async with asyncio.timeout(60):
            while words not in (request := await self.server.request(number)).last_text:
                number += 1
        return request

    async def results(self, session: SessionId) -> list[str]:
        return [
            plain_text(part.content)
            for message in await self.engine.messages(session)
            for part in message.parts
            if isinstance(part, ToolResultPart)
        ]


Opener = Callable[..., Office]


@pytest.fixture
async def opened(folder: Path, server: ModelServer) -> AsyncGenerator[Opener]:
    offices: list[Office] = []

    def open_office(
        *tools: Tool, limits: LimitsConfig | None = None, given: ToolsConfig | None = None
    ) -> Office:
        config = msgspec.structs.replace(
            config_for(folder, server),
            limits=limits or LimitsConfig(),
            tools=given or ToolsConfig(),
        )
        offices.append(Office(folder, server, config, *tools))
        return offices[-1]

    yield open_office
    for office in offices:
        await office.engine.stop()


@pytest.fixture
async def office(opened: Opener) -> Office:
    office = opened(ECHO)
    await office.start()
    return office


def delegate(task: str, **more: object) -> Reply:
    return call("delegate", {"task": task, **more})


async def test_subagent_works_in_a_session_of_its_own_and_its_answer_comes_back(
    office: Office,
) -> None:
    office.answers = {
        "Find the owl": delegate("Look in the barn", background="It is dark there."),
        "Look in the barn": call("echo", {"text": "hoot"}),
        "hoot": say("It sits on a beam.") + use(input_tokens=90, output_tokens=10),
        "It sits on a beam.": say("Found it."),
    }
    session = await office.session()
    assert (await office.engine.say(session, "Find the owl")).state == "completed"
    assert (await office.engine.texts(session))[-1] == "Found it."
    (child,) = await office.children(session)
    (result,) = await office.results(session)
    answer, account = result.split("\n\n")
    assert answer == "It sits on a beam."
    tokens = child.counters.input_tokens + child.counters.output_tokens
    assert account == f"[subagent {child.id}: {tokens} tokens, cost unknown]"
    assert child.parent is not None
    assert (child.origin, child.parent.session, child.title) == (
        "subagent",
        session,
        "Look in the barn",
    )
    assert (await office.engine.texts(child.id))[-1] == "It sits on a beam."


async def test_subagents_are_not_in_the_list_and_end_with_their_call(office: Office) -> None:
    office.answers = {"Go": delegate("Do it"), "Do it": say("Done."), "Done.": say("Thanks.")}
    session = await office.session()
    await office.engine.say(session, "Go")
    account = office.engine.account
    assert [each.id for each in await account.sessions()] == [session]
    assert len(await account.sessions(SessionFilter(subagents=True))) == 2
    (child,) = await office.children(session)
    await eventually(lambda: office.has_ended(child.id))
    assert not office.engine.parts.agents.is_live(child.id)


async def test_what_a_subagent_does_shows_in_its_callers_session(office: Office) -> None:
    office.answers = {
        "Go": delegate("Do it"),
        "Do it": call("echo", {"text": "hoot"}),
        "hoot": stall(),
    }
    session = await office.session()
    turn = await office.engine.account.send(session, "Go")
    shown = ""
    async with asyncio.timeout(60), office.engine.account.watch(session) as events:
        while "echo" not in shown:
            event = await anext(events)
            runs = event.deltas if isinstance(event, Snapshot) else ()
            runs = (event.deltas,) if isinstance(event, Streamed) else runs
            deltas = [delta for run in runs for delta in run.deltas]
            shown += "".join([d.text for d in deltas if isinstance(d, ToolOutputDelta)])
    await office.engine.account.cancel(session, turn.id)


async def test_several_work_side_by_side_and_no_more_than_allowed(opened: Opener) -> None:
    office = opened(given=ToolsConfig(subagents=Count(2)))
    await office.start()
    three = delegate("Task 1") + delegate("Task 2") + delegate("Task 3")
    office.answers = {"Go": three, "Task": stall() + say("Done.")}
    session = await office.session()
    turn = await office.engine.account.send(session, "Go")
    for number in (1, 2):
        await (await office.server.request(number)).stalled()
    assert len(await office.children(session)) == 2
    office.server.release()
    await (await office.server.request(3)).stalled()
    assert len(await office.children(session)) == 3
    office.answers["Done."] = say("Thanks.")
    office.server.release()
    assert (await office.engine.ended(turn.id)).state == "completed"
    results = [result.partition("\n")[0] for result in await office.results(session)]
    assert results == ["Done.", "Done.", "Done."]


async def test_subagents_of_subagents_end_somewhere(office: Office) -> None:
    office.answers = {
        "Top": delegate("Middle"),
        "Middle": delegate("Bottom"),
        "Bottom": delegate("Below"),
        "You are a subagent yourself": say("Did it here."),
        "Did it here.": say("It was done."),
        "It was done.": say("So it was."),
    }
    session = await office.session()
    await office.engine.say(session, "Top")
    assert (await office.engine.texts(session))[-1] == "So it was."
    (middle,) = await office.children(session)
    (bottom,) = await office.children(middle.id)
    assert await office.children(bottom.id) == []


async def test_subagent_gets_no_more_tools_than_its_caller_has(office: Office) -> None:
    office.answers = {
        "Go": delegate("Do it", toolset="full"),
        "You have the toolset terminal": delegate("Do less", toolset="chat"),
        "Do less": say("Done."),
    }
    session = await office.session(toolset="terminal")
    await office.engine.say(session, "Go")
    (child,) = await office.children(session)
    assert child.config is not None
    assert child.config.toolset.startswith("chat:")
    assert "delegate" in (await office.asked("Go")).tools
    assert (await office.asked("Do less")).tools == ("echo",)


@pytest.mark.contract("D6")
async def test_what_a_session_may_not_do_its_subagents_may_not_either(office: Office) -> None:
    office.answers = {
        "Say it": delegate("Have it said"),
        "Have it said": delegate("Just say it"),
        "Just say it": call("echo", {"text": "hoot"}),
        "a rule forbids it": say("I may not."),
    }
    session, free = await office.session(), await office.session()
    decisions = office.engine.account.decisions
    await decisions.add_rule("echo", "deny", session=session)
    assert (await office.engine.say(session, "Say it")).state == "completed"
    (child,) = await office.children(session)
    (grandchild,) = await office.children(child.id)
    assert "a rule forbids it" in (await office.results(grandchild.id))[0]
    assert (await office.engine.say(free, "Say it")).state == "completed"
    (child,) = await office.children(free)
    (grandchild,) = await office.children(child.id)
    assert "hoot" in (await office.results(grandchild.id))[0]


async def test_cancel_stops_subagents_however_deep_at_once(office: Office) -> None:
    office.answers = {"Top": delegate("Middle"), "Middle": delegate("Bottom"), "Bottom": stall()}
    session = await office.session()
    await office.engine.account.send(session, "Top")
    asked = await office.asked("Bottom")
    await asked.stalled()
    async with within(1):
        assert await office.engine.account.cancel(session)
        assert await asked.closed()
    (middle,) = await office.children(session)
    (bottom,) = await office.children(middle.id)
    for id in (middle.id, bottom.id):
        assert (await office.engine.ended((await office.turn(id)).id)).state == "cancelled"


@pytest.mark.contract("A11")
@pytest.mark.parametrize("how", ["end", "delete", "reset"])
async def test_what_ends_a_session_ends_its_subagents(office: Office, how: str) -> None:
    office.answers = {"Go": delegate("Do it"), "Do it": stall()}
    account = office.engine.account
    session = await office.session()
    await account.point("cli", session)
    await account.send(session, "Go")
    asked = await office.asked("Do it")
    await asked.stalled()
    (child,) = await office.children(session)
    if how == "reset":
        await account.reset("cli", origin="test")
    else:
        await (account.end(session) if how == "end" else account.delete(session))
    assert await asked.closed()
    assert not office.engine.parts.turns.is_running(child.id)
    if how == "delete":
        assert await account.sessions(SessionFilter(subagents=True)) == []
    else:
        assert (await account.session(child.id)).ended_at is not None


@pytest.mark.contract("A11")
async def test_subagent_that_waits_for_a_person_is_ended_too(opened: Opener) -> None:
    office = opened(_asking())
    await office.start()
    office.answers = {"Go": delegate("Do it"), "Do it": call("risky", {})}
    session = await office.session()
    await office.engine.account.send(session, "Go")
    await eventually(office.engine.account.decisions.pending)
    await office.engine.account.end(session)
    assert await office.engine.account.decisions.pending() == []
    (child,) = await office.children(session)
    assert (await office.turn(child.id)).state == "cancelled"


@pytest.mark.contract("E5")
async def test_subagents_question_is_asked_like_any_other_and_its_caller_waits(
    opened: Opener,
) -> None:
    office = opened(_asking())
    await office.start()
    office.answers = {
        "Go": delegate("Do it"),
        "Do it": call("risky", {}),
        "Risked it": say("Done."),
        "Done.": say("Thanks."),
    }
    session = await office.session()
    turn = await office.engine.account.send(session, "Go")
    (asked,) = await eventually(office.engine.account.decisions.pending)
    (child,) = await office.children(session)
    assert asked.session == child.id
    assert (await office.turn(session)).state == "running"
    await office.engine.account.decisions.answer(asked.id, "approved")
    assert (await office.engine.ended(turn.id)).state == "completed"
    assert (await office.engine.texts(session))[-1] == "Thanks."


@pytest.mark.contract("D4")
async def test_after_a_crash_no_subagent_goes_on_by_itself(office: Office) -> None:
    office.answers = {"Go": delegate("Do it"), "Do it": say("Half of ") + stall()}
    session = await office.session()
    await office.engine.account.send(session, "Go")
    child = await office.child(session)
    await office.engine.streamed(child, "Half of")
    await office.engine.parts.checkpoints.flush()
    await office.engine.crash()
    await office.start()
    assert not office.engine.parts.turns.is_running(child)
    assert (await office.turn(session)).state == "interrupted"
    assert (await office.turn(child)).state == "interrupted"
    assert (await office.engine.texts(child))[-1] == "Half of "
    assert "nobody knows" in (await office.results(session))[0]


@pytest.mark.parametrize("how", ["crash", "stop"])
async def test_question_of_a_subagent_is_void_once_nobody_waits_for_it(
    opened: Opener, how: str
) -> None:
    office = opened(_asking())
    await office.start()
    office.answers = {"Go": delegate("Do it"), "Do it": call("risky", {})}
    session = await office.session()
    await office.engine.account.send(session, "Go")
    await eventually(office.engine.account.decisions.pending)
    (child,) = await office.children(session)
    office.answers = {"Stopped while it ran": say("Too bad.")}
    await (office.engine.crash() if how == "crash" else office.engine.stop())
    await office.start()
    assert await office.engine.account.decisions.pending() == []
    assert (await office.turn(child.id)).state == "cancelled"
    turn = await office.engine.ended((await office.turn(session)).id)
    assert turn.state == ("interrupted" if how == "crash" else "completed")


async def test_failure_of_a_subagent_is_told_to_its_caller(office: Office) -> None:
    office.answers = {"Go": delegate("Do it"), "Do it": say(""), "did not finish": say("A pity.")}
    session = await office.session()
    await office.engine.say(session, "Go")
    assert (await office.engine.texts(session))[-1] == "A pity."
    assert "The subagent did not finish, it is failed" in (await office.results(session))[0]


@pytest.mark.parametrize("limit", ["turn_tokens", "session_tokens", "day_tokens"])
async def test_callers_limits_bind_its_subagents(opened: Opener, limit: str) -> None:
    office = opened(ECHO, limits=msgspec.convert({limit: 1000}, LimitsConfig))
    await office.start()
    heavy = use(input_tokens=500, output_tokens=10)
    office.answers = {
        "Go": delegate("Do it") + heavy,
        "Do it": call("echo", {"text": "hoot"}) + heavy,
        "hoot": say("One too many."),
    }
    session = await office.session()
    turn = await office.engine.say(session, "Go")
    assert "One too many." not in str(await office.results(session))
    assert turn.state == "failed"
    assert limit in (turn.reason or "")
    (child,) = await office.children(session)
    assert limit in ((await office.turn(child.id)).reason or "")


async def test_what_subagents_spent_counts_in_later_turns_too(opened: Opener) -> None:
    office = opened(limits=LimitsConfig(session_tokens=Count(1000)))
    await office.start()
    office.answers = {
        "Go": delegate("Do it") + use(input_tokens=10, output_tokens=10),
        "Do it": say("Done.") + use(input_tokens=900, output_tokens=10),
        "Done.": say("Thanks.") + use(input_tokens=50, output_tokens=50),
    }
    session = await office.session()
    assert (await office.engine.say(session, "Go")).state == "completed"
    turn = await office.engine.say(session, "Once more")
    assert (turn.state, "session_tokens" in (turn.reason or "")) == ("failed", True)


async def test_subagents_words_are_nothing_to_remember(office: Office) -> None:
    office.answers = {"Go": delegate("Do it"), "Do it": say("Done.")}
    session = await office.session()
    await office.engine.say(session, "Go")
    (child,) = await office.children(session)
    assert (await office.turn(child.id)).ephemeral
    assert not await office.engine.account.memory.uncommitted(child.id)


def _asking() -> FunctionTool:
    async def risk(arguments: str, context: ToolContext) -> str:
        return "Risked it"

    return FunctionTool("risky", risk, asks=ASKS)
