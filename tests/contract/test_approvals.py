"""E5, through the application: what is asked, who may answer, and for what an answer holds."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.approvals import Approval
from roost.core.clock import SystemClock
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.ids import ApprovalId, SessionId, new_user_id
from roost.core.messages import ToolResultPart, plain_text
from roost.core.users import User
from roost.testing.models import ModelServer, call, say
from roost.tools.base import Intent, ToolContext
from tests.engine import ECHO, Engine, FunctionTool, eventually, started

pytestmark = pytest.mark.both


class Careful(FunctionTool):
    """Asks before it does what its argument says; where that is can change meanwhile."""

    def __init__(self, name: str) -> None:
        super().__init__(name, self._do, parallel=False)
        self.workspace = "first"
        self.directory = "/workspace"
        self.did: list[str] = []

    async def intent(self, arguments: str, context: ToolContext) -> Intent:
        return Intent(
            does="Do this",
            subject=arguments,
            asks=True,
            directory=self.directory,
            workspace=self.workspace,
        )

    async def _do(self, arguments: str, context: ToolContext) -> str:
        self.did.append(f"{arguments} {context.allowed}")
        return "done"


@pytest.fixture
def careful() -> Careful:
    return Careful("careful")


@pytest.fixture
async def engine(folder: Path, server: ModelServer, careful: Careful) -> AsyncGenerator[Engine]:
    tools = (careful, Careful("other"), ECHO)
    async with started(Engine(folder, server, clock=SystemClock(), tools=tools)) as engine:
        yield engine


async def asked(engine: Engine, server: ModelServer, session: SessionId, text: str = "a") -> None:
    """Let the agent want something, and be asked about it."""
    server.plan(call("careful", {"text": text}))
    turn = await engine.account.send(session, "Go")
    await engine.reached(turn.id, "waiting")


async def result_of(engine: Engine, session: SessionId) -> str:
    parts = [part for message in await engine.messages(session) for part in message.parts]
    return plain_text([p for p in parts if isinstance(p, ToolResultPart)][-1].content)


async def settled(engine: Engine, session: SessionId) -> None:
    (turn, *_) = reversed(await engine.account.turns(session))
    assert (await engine.ended(turn.id)).state == "completed"


@pytest.mark.contract("E5")
async def test_question_shows_what_exactly_would_run_and_where(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session()
    await asked(engine, server, session)
    (approval,) = await engine.account.decisions.pending()
    assert approval.asked.subject == '{"text":"a"}'
    assert (approval.directory, approval.workspace) == ("/workspace", "first")


@pytest.mark.contract("E5")
@pytest.mark.parametrize("changed", ["workspace", "directory"])
async def test_answer_for_another_place_is_asked_again(
    engine: Engine, server: ModelServer, careful: Careful, changed: str
) -> None:
    session = await engine.session()
    await asked(engine, server, session)
    (first,) = await engine.account.decisions.pending()
    setattr(careful, changed, "another")
    await engine.account.decisions.answer(first.id, "approved")
    second = await _asked_again(engine, first.id)
    assert careful.did == []
    assert "another" in (second.workspace, second.directory)
    await engine.account.decisions.answer(second.id, "approved")
    await settled(engine, session)
    assert careful.did == ['{"text":"a"} by a person']


async def _asked_again(engine: Engine, first: ApprovalId) -> Approval:
    async def found() -> list[Approval]:
        return [each for each in await engine.account.decisions.pending() if each.id != first]

    (second,) = await eventually(found)
    return second


@pytest.mark.contract("E5")
async def test_restart_in_between_asks_again_if_the_workspace_went_with_it(
    engine: Engine, server: ModelServer, careful: Careful
) -> None:
    session = await engine.session()
    await asked(engine, server, session)
    (first,) = await engine.account.decisions.pending()
    await engine.crash()
    careful.workspace = "second"
    await engine.start()
    await engine.account.decisions.answer(first.id, "approved")
    second = await _asked_again(engine, first.id)
    await engine.account.decisions.answer(second.id, "denied", answer="Not there.")
    await settled(engine, session)
    assert careful.did == []
    assert "Not there." in await result_of(engine, session)


@pytest.mark.contract("E5")
async def test_only_whose_it_is_may_answer_and_once(engine: Engine, server: ModelServer) -> None:
    session = await engine.session()
    await asked(engine, server, session)
    (approval,) = await engine.account.decisions.pending()
    other = await engine.store.users.create(User(id=new_user_id(), name="bob", role="admin"))
    with pytest.raises(NotFound):
        await engine.app.of(other.id).decisions.answer(approval.id, "approved")
    await engine.account.decisions.answer(approval.id, "denied", route="web")
    with pytest.raises(Conflict, match="denied by"):
        await engine.account.decisions.answer(approval.id, "approved", route="cli")
    await settled(engine, session)


@pytest.mark.contract("E5")
async def test_yes_for_the_session_holds_for_the_same_thing_there(
    engine: Engine, server: ModelServer, careful: Careful
) -> None:
    session = await engine.session()
    await asked(engine, server, session)
    (approval,) = await engine.account.decisions.pending()
    await engine.account.decisions.answer(approval.id, "approved", keep="session")
    await settled(engine, session)
    server.plan(call("careful", {"text": "a"}), say("Again."))
    assert (await engine.say(session)).state == "completed"
    assert careful.did == ['{"text":"a"} by a person', '{"text":"a"} by rule']
    await asked(engine, server, session, "b")
    elsewhere = await engine.session()
    await asked(engine, server, elsewhere, "a")
    assert len(await engine.account.decisions.pending()) == 2


@pytest.mark.contract("E5")
async def test_yes_for_good_holds_everywhere_until_it_is_taken_back(
    engine: Engine, server: ModelServer, careful: Careful
) -> None:
    session = await engine.session()
    await asked(engine, server, session)
    (approval,) = await engine.account.decisions.pending()
    await engine.account.decisions.answer(
        approval.id, "approved", keep="always", pattern='{"text":*'
    )
    await settled(engine, session)
    elsewhere = await engine.session()
    server.plan(call("careful", {"text": "b"}), say("Again."))
    assert (await engine.say(elsewhere)).state == "completed"
    (rule,) = await engine.account.decisions.rules()
    assert str(rule) == 'careful: {"text":*'
    await engine.account.decisions.remove_rule(rule.id)
    await asked(engine, server, elsewhere, "b")
    with pytest.raises(NotFound):
        await engine.account.decisions.remove_rule(rule.id)


@pytest.mark.contract("E5")
async def test_no_for_good_is_a_rule_that_denies(
    engine: Engine, server: ModelServer, careful: Careful
) -> None:
    session = await engine.session()
    await asked(engine, server, session)
    (approval,) = await engine.account.decisions.pending()
    await engine.account.decisions.answer(approval.id, "denied", keep="always")
    await settled(engine, session)
    server.plan(call("careful", {"text": "a"}), say("I see."))
    assert (await engine.say(session)).state == "completed"
    assert "a rule forbids it" in await result_of(engine, session)
    assert careful.did == []


async def test_rule_that_denies_is_heard_though_a_person_said_yes_before(
    engine: Engine, server: ModelServer, careful: Careful
) -> None:
    session = await engine.session()
    await asked(engine, server, session)
    await engine.account.decisions.add_rule("careful", "deny")
    (approval,) = await engine.account.decisions.pending()
    await engine.account.decisions.answer(approval.id, "approved")
    await settled(engine, session)
    assert careful.did == []


async def test_only_a_yes_or_a_no_can_be_kept(engine: Engine, server: ModelServer) -> None:
    session = await engine.session()
    await asked(engine, server, session)
    (approval,) = await engine.account.decisions.pending()
    with pytest.raises(InvalidInput, match="Only a yes or a no"):
        await engine.account.decisions.answer(approval.id, "answered", answer="x", keep="always")
    assert [each.id for each in await engine.account.decisions.pending()] == [approval.id]


@pytest.mark.contract("E5")
async def test_words_are_no_yes(engine: Engine, server: ModelServer, careful: Careful) -> None:
    session = await engine.session()
    await asked(engine, server, session)
    (approval,) = await engine.account.decisions.pending()
    with pytest.raises(InvalidInput, match="approved or denied"):
        await engine.account.decisions.answer(approval.id, "answered", answer="No, never!")
    await engine.account.decisions.answer(approval.id, "denied", answer="No, never!")
    await settled(engine, session)
    assert careful.did == []


async def test_tool_that_says_nothing_of_itself_is_asked_about_once(
    engine: Engine, server: ModelServer
) -> None:
    await engine.account.decisions.add_rule("echo", "ask")
    session = await engine.session()
    server.plan(call("echo", {"text": "hoot"}), say("Done."))
    turn = await engine.account.send(session, "Go")
    await engine.reached(turn.id, "waiting")
    (approval,) = await engine.account.decisions.pending()
    assert approval.asked.subject == '{"text":"hoot"}'
    await engine.account.decisions.answer(approval.id, "approved")
    await settled(engine, session)
    assert "hoot" in await result_of(engine, session)


async def test_rules_of_another_user_do_not_count(engine: Engine, server: ModelServer) -> None:
    other = await engine.store.users.create(User(id=new_user_id(), name="bob", role="member"))
    await engine.app.of(other.id).decisions.add_rule("careful", "allow")
    session = await engine.session()
    await asked(engine, server, session)
    with pytest.raises(NotFound):
        await engine.app.of(other.id).decisions.add_rule("careful", "allow", session=session)
