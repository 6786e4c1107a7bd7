"""D6, E4 and E5 over real HTTP: stopping, going on elsewhere, and answering what a tool asks."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roost.core.ids import SessionId, TurnId, new_user_id
from roost.core.users import User
from roost.testing.models import ModelServer, call, say, stall
from tests.engine import ASKS, ECHO, FunctionTool
from tests.seconds import within
from tests.unit.http.page import Page
from tests.unit.http.served import Client, Served, started


class Diary:
    """What a tool did, to be asked first."""

    def __init__(self) -> None:
        self.did: list[str] = []

    async def write(self, arguments: str, context: object) -> str:
        self.did.append(arguments)
        return "written"


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
async def served(folder: Path, server: ModelServer, diary: Diary) -> AsyncGenerator[Served]:
    asking = FunctionTool("careful", diary.write, asks=ASKS)
    async with started(Served(folder, server, tools=(ECHO, asking))) as served:
        yield served


@pytest.fixture
async def browser(served: Served) -> AsyncGenerator[Client]:
    async with served.browser() as browser:
        yield browser


async def texts(client: Client, session: SessionId) -> list[str]:
    page = await client.get(f"/api/sessions/{session}/messages")
    return ["".join(_texts(message["parts"])) for message in page["messages"]]


def _texts(parts: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for part in parts if part["kind"] == "text"]


@pytest.mark.contract("D6")
async def test_cancel_from_another_surface_keeps_what_was_said_and_what_waits(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(say("Half an ans") + stall(), say("Second answer"))
    page = Page()
    session = await browser.session()
    first = TurnId((await browser.send(session, "One"))["id"])
    await page.follow_until_said(browser, session, "Half an ans")
    second = TurnId((await browser.send(session, "Two"))["id"])
    async with served.program() as program, within(1):
        cancelled = await program.post(f"/api/sessions/{session}/cancel")
    assert cancelled == (200, {"cancelled": True})
    await page.follow_to_the_end(browser, session, first, second)
    assert (page.states[first], page.states[second]) == ("cancelled", "completed")
    assert await texts(browser, session) == ["One", "Half an ans", "Two", "Second answer"]
    await page.check_equals_what_is_stored(browser, session)
    assert await server.requests[0].closed()


@pytest.mark.contract("D6")
async def test_named_turn_is_cancelled_before_it_starts(
    browser: Client, server: ModelServer
) -> None:
    server.plan(stall())
    session = await browser.session()
    await browser.send(session, "One")
    waiting = (await browser.send(session, "Two"))["id"]
    path = f"/api/sessions/{session}"
    assert (await browser.get(f"{path}/queue"))["turns"][0]["id"] == waiting
    assert (await browser.post(f"{path}/cancel", {"turn": waiting}))[1] == {"cancelled": True}
    assert (await browser.get(f"{path}/turns/{waiting}"))["state"] == "removed"
    assert (await browser.post(f"{path}/cancel"))[1] == {"cancelled": True}
    assert (await browser.post(f"{path}/cancel"))[1] == {"cancelled": False}


@pytest.mark.contract("E4")
async def test_what_starts_on_one_surface_goes_on_on_another(
    served: Served, browser: Client
) -> None:
    page = Page()
    session = await browser.session()
    turn = TurnId((await browser.send(session, "From the browser"))["id"])
    await page.follow_to_the_end(browser, session, turn)
    await served.engine.say(session, "From the terminal")
    async with served.program() as program:
        turn = TurnId((await program.send(session, "From a program"))["id"])
        await page.follow_to_the_end(program, session, turn)
    questions = [said for said in await texts(browser, session) if said.startswith("From")]
    assert questions == ["From the browser", "From the terminal", "From a program"]
    listed = (await browser.get("/api/sessions"))["sessions"]
    assert [each["id"] for each in listed] == [session]


async def asked(browser: Client, server: ModelServer) -> tuple[SessionId, dict[str, Any]]:
    """A session that waits for an answer, and what it asks; told by the user's feed."""
    server.plan(call("careful", {"text": "a"}))
    session = await browser.session()
    async with browser.events("/api/events") as feed:
        assert (await anext(feed)).kind == "ready"
        await browser.send(session, "Go")
        async for told in feed:
            if told.kind == "approval":
                break
    (approval,) = (await browser.get("/api/approvals"))["approvals"]
    return session, approval


@pytest.mark.contract("E5")
async def test_approval_survives_a_restart_and_is_answered_once_from_any_surface(
    served: Served, browser: Client, server: ModelServer, diary: Diary
) -> None:
    session, approval = await asked(browser, server)
    await served.stop()
    await served.start()
    assert (await browser.get("/api/approvals"))["approvals"] == [approval]
    path = f"/api/approvals/{approval['id']}"
    async with served.program() as program:
        status, answered = await program.post(path, {"decision": "approved"})
    assert (status, answered["state"], answered["answered_on"]) == (200, "approved", "api")
    status, problem = await browser.post(path, {"decision": "denied"})
    assert (status, problem["type"]) == (409, "urn:roost:conflict")
    await served.engine.ended(TurnId(approval["turn"]))
    assert diary.did == ['{"text":"a"}']
    assert (await browser.get(f"/api/sessions/{session}"))["state"] == "idle"


@pytest.mark.contract("E5")
async def test_approval_is_answered_only_by_someone_entitled_to(
    served: Served, browser: Client, server: ModelServer, diary: Diary
) -> None:
    _, approval = await asked(browser, server)
    path = f"/api/approvals/{approval['id']}"
    bob = await served.engine.store.users.create(User(id=new_user_id(), name="Bob", role="admin"))
    async with served.browser(bob.id) as other:
        assert (await other.get("/api/approvals"))["approvals"] == []
        assert (await other.post(path, {"decision": "approved"}))[0] == 404
    async with served.program("read") as reader:
        assert (await reader.post(path, {"decision": "approved"}))[0] == 403
    async with served.stranger() as stranger:
        assert (await stranger.post(path, {"decision": "approved"}))[0] == 401
    assert diary.did == []
    assert (await browser.get("/api/approvals"))["approvals"] == [approval]


@pytest.mark.contract("E5")
@pytest.mark.parametrize("keep", ["session", "always"])
async def test_yes_may_hold_for_longer_and_its_rule_can_be_removed(
    served: Served, browser: Client, server: ModelServer, diary: Diary, keep: str
) -> None:
    session, approval = await asked(browser, server)
    answer = {"decision": "approved", "keep": keep}
    assert (await browser.post(f"/api/approvals/{approval['id']}", answer))[0] == 200
    await served.engine.ended(TurnId(approval["turn"]))
    server.plan(call("careful", {"text": "a"}))
    turn = TurnId((await browser.send(session, "Again"))["id"])
    assert (await served.engine.ended(turn)).state == "completed"
    assert len(diary.did) == 2
    (rule,) = (await browser.get("/api/rules"))["rules"]
    assert (rule["decision"], rule["session"]) == (
        "allow",
        session if keep == "session" else None,
    )
    assert await browser.ask("DELETE", f"/api/rules/{rule['id']}") == (204, None)
    assert (await browser.get("/api/rules"))["rules"] == []


@pytest.mark.contract("E5")
async def test_feed_tells_of_a_question_and_of_its_answer(
    served: Served, browser: Client, server: ModelServer
) -> None:
    async with served.browser() as other, other.events("/api/events") as feed:
        assert (await anext(feed)).kind == "ready"
        _, approval = await asked(browser, server)
        await browser.post(f"/api/approvals/{approval['id']}", {"decision": "denied"})
        states: list[str] = []
        async for told in feed:
            if told.kind == "approval":
                states.append(_approval_state(told.data))
                if states[-1] == "denied":
                    break
    assert states in (["pending", "denied"], ["denied"])  # whoever is slow is told the latest


def _approval_state(data: bytes) -> str:
    return msgspec.json.decode(data)["approval"]["state"]
