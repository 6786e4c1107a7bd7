"""Several servers in processes of their own on one PostgreSQL, used as if they were one."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from roost.core.ids import SessionId, TurnId
from roost.core.messages import plain_text
from roost.testing.models import ModelServer, call, say, stall
from tests import cluster, postgres
from tests.cluster import SECONDS, Cluster, Server, client_of
from tests.cutting import as_a_pooler, cutting
from tests.unit.http.page import Page
from tests.unit.http.served import Client

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180)]

LONG = "One word after the other, at the pace of a model that thinks. " * 8


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def database(postgres_server: postgres.Server) -> AsyncGenerator[str]:
    url = await postgres_server.database()
    yield url
    await postgres_server.give_back(url)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started(
    tmp_path_factory: pytest.TempPathFactory, model: ModelServer, database: str
) -> AsyncGenerator[Cluster]:
    """Starting them takes longer than most tests: they are the same for all."""
    folder = tmp_path_factory.mktemp("cluster")
    async with cluster.running(folder, model, [database, database]) as servers:
        yield servers


@pytest.fixture
def server(model: ModelServer) -> ModelServer:
    """With nothing asked so far."""
    model.requests.clear()
    return model


@pytest.fixture
def servers(started: Cluster, server: ModelServer) -> Cluster:
    return started


async def talk(server: Server, session: SessionId, text: str) -> TurnId:
    """Say something at one of the servers, and wait there for the end of its turn."""
    page = Page()
    async with asyncio.timeout(SECONDS), server.client.watch(session) as events:
        page.take(await anext(events))
        turn = TurnId((await server.client.send(session, text))["id"])
        while not page.has_ended(turn):
            page.take(await anext(events))
    assert page.states[turn] == "completed"
    return turn


async def agents_built(server: Server) -> int:
    async with server.client.connections.get(server.url / "metrics") as response:
        lines = (await response.text()).splitlines()
    (count,) = [each for each in lines if each.startswith("roost_agent_cache_misses_total ")]
    return round(float(count.split()[1]))


async def texts(server: Server, session: SessionId) -> list[str]:
    """What was said, without what Roost added."""
    return [plain_text(each.parts) for each in await server.account.messages(session)]


async def pending(client: Client) -> list[dict[str, Any]]:
    return (await client.get("/api/approvals"))["approvals"]


@pytest.mark.contract("A14", "A4")
async def test_session_goes_on_at_either_server_with_all_that_was_said(
    servers: Cluster, server: ModelServer
) -> None:
    here, there = servers
    before = [await agents_built(each) for each in servers]
    session = await here.client.session()
    for number, at in enumerate((here, there, there, here, there, here)):
        await talk(at, session, f"Message {number}")
    asked = [each for each in server.requests if each.model == "model"]
    assert len(asked) == 6
    assert all(each.cache.complete for each in asked[1:]), "each begins as the one before it did"
    after = [await agents_built(each) for each in servers]
    assert after == [count + 1 for count in before], "who lacks something catches up"
    assert await texts(here, session) == await texts(there, session)


@pytest.mark.contract("A14")
async def test_turn_that_was_cancelled_elsewhere_is_known_to_the_next(
    servers: Cluster, server: ModelServer
) -> None:
    here, there = servers
    session = await here.client.session()
    await talk(here, session, "First")
    built = await agents_built(here)
    server.plan(say("Half of ") + stall())
    await there.client.send(session, "Second")
    await Page().follow_until_said(there.client, session, "Half of")
    assert await there.account.cancel(session)
    await talk(here, session, "Third")
    last = server.requests[-1]
    assert b"Second" in last.body
    assert b"Half of" in last.body
    assert await agents_built(here) == built


@pytest.mark.contract("A15")
async def test_switching_between_sessions_keeps_the_agents_of_both_servers(
    servers: Cluster, server: ModelServer
) -> None:
    here, there = servers
    before = [await agents_built(each) for each in servers]
    one, two = await here.client.session(), await there.client.session()
    for number, at in enumerate((here, there, here)):
        for session in (one, two):
            await at.account.point("desk", session)
            await talk(at, session, f"Message {number} in {session}")
    after = [await agents_built(each) for each in servers]
    assert after == [count + 2 for count in before]
    for session, other in ((one, two), (two, one)):
        mine = [each for each in server.requests if session in each.last_text]
        assert all(each.cache.complete for each in mine[1:])
        assert not any(other.encode() in each.body for each in mine), "and nothing is mixed up"


@pytest.mark.contract("D5", "D11")
async def test_turn_is_watched_from_both_servers_without_gap_or_repeat(
    servers: Cluster, server: ModelServer
) -> None:
    here, there = servers
    server.plan(say(LONG, size=4, pace=0.01) + stall() + say("The end."))
    session = await here.client.session()
    first, second, late, wanders = Page(), Page(), Page(), Page()
    for page, at in ((first, here), (second, there)):
        async with at.client.watch(session) as events:
            page.take(await anext(events))
    turn = TurnId((await here.client.send(session, "Tell me"))["id"])

    async def wander() -> None:
        """Comes back at the other server each time, where it left the last one."""
        for words, at in (("One", here), ("model", there), ("One word", here), ("thinks", there)):
            await wanders.follow_until_said(at.client, session, words)

    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
        for page, at in ((first, here), (second, there)):
            tasks.create_task(page.follow_to_the_end(at.client, session, turn))
        await asyncio.gather(late.follow_until_said(there.client, session, "pace of"), wander())
        for page, at in ((late, there), (wanders, here)):
            tasks.create_task(page.follow_to_the_end(at.client, session, turn))
        await server.requests[0].stalled()
        server.release()
    for page, at in ((first, there), (second, here), (late, here), (wanders, there)):
        await page.check_equals_what_is_stored(at.client, session)
    assert (first.snapshots, second.snapshots) == (1, 1)
    told = [
        [(each.cursor.revision, each.events) for each in page.durable] for page in (first, second)
    ]
    assert told[0] == told[1]
    assert await texts(there, session) == ["Tell me", LONG + "The end."]


@pytest.mark.contract("D6")
async def test_cancel_reaches_the_server_that_runs_the_turn(
    servers: Cluster, server: ModelServer
) -> None:
    here, there = servers
    server.plan(say("Half of ") + stall(), say("Another."))
    session = await here.client.session()
    await here.client.send(session, "First")
    await Page().follow_until_said(there.client, session, "Half of")
    waits = TurnId((await there.client.send(session, "Second"))["id"])
    async with asyncio.timeout(SECONDS):
        assert await there.account.cancel(session)
        assert await server.requests[0].closed()
    await Page().follow_to_the_end(there.client, session, waits)
    assert await texts(here, session) == ["First", "Half of ", "Second", "Another."]


@pytest.mark.contract("D1")
async def test_message_that_is_sent_to_both_servers_is_one_turn(
    servers: Cluster, server: ModelServer
) -> None:
    session = await servers[0].client.session()
    path, key = f"/api/sessions/{session}/turns", {"Idempotency-Key": "once"}
    answers = await asyncio.gather(
        *[each.client.post(path, {"text": "Hello"}, headers=key) for each in (*servers, *servers)]
    )
    assert {status for status, _ in answers} == {202}
    (turn,) = {TurnId(turn["id"]) for _, turn in answers}
    await Page().follow_to_the_end(servers[1].client, session, turn)
    assert await texts(servers[0], session) == ["Hello", "Good day."]
    assert len(server.requests) == 1
    for each in servers:
        status, _ = await each.client.post(path, {"text": "Something else"}, headers=key)
        assert status == 409


@pytest.mark.contract("E5")
async def test_question_of_one_server_is_answered_at_the_other_once(
    servers: Cluster, server: ModelServer
) -> None:
    here, there = servers
    server.plan(call("ask_user", {"question": "Which?"}), say("Blue it is."))
    session, page = await here.client.session(), Page()
    turn = TurnId((await here.client.send(session, "Paint it"))["id"])
    async with asyncio.timeout(SECONDS), there.client.watch(session) as events:
        while page.states.get(turn) != "waiting":
            page.take(await anext(events))
    (asked,) = await pending(there.client)
    path = f"/api/approvals/{asked['id']}"
    given = await asyncio.gather(
        there.client.post(path, {"decision": "answered", "answer": "Blue"}),
        here.client.post(path, {"decision": "answered", "answer": "Red"}),
    )
    assert sorted([status for status, _ in given]) == [200, 409]
    (counts,) = [approval["answer"] for status, approval in given if status == 200]
    await page.follow_to_the_end(there.client, session, turn)
    assert page.states[turn] == "completed"
    assert list(server.requests[-1].results.values()) == [counts]
    assert [await pending(each.client) for each in servers] == [[], []]


@pytest.mark.contract("D8")
async def test_queue_of_a_session_is_one_at_both_servers(
    servers: Cluster, server: ModelServer
) -> None:
    here, there = servers
    server.plan(
        say("Looking. ") + stall() + call("todo", {"items": []}), say("Done."), say("Later.")
    )
    session = await here.client.session()
    first = TurnId((await here.client.send(session, "First"))["id"])
    await Page().follow_until_said(there.client, session, "Looking.")
    steer = await there.client.send(session, "And this", steer=True)
    kept, gone = [await there.client.send(session, words) for words in ("Draft", "Never mind")]
    path = f"/api/sessions/{session}/queue"
    assert (await there.client.ask("PUT", f"{path}/{kept['id']}", {"text": "Second"}))[0] == 200
    assert (await there.client.ask("DELETE", f"{path}/{gone['id']}"))[0] == 204
    waiting = (await here.client.get(path))["turns"]
    assert [each["id"] for each in waiting] == [steer["id"], kept["id"]]
    server.release()
    await Page().follow_to_the_end(there.client, session, first, TurnId(kept["id"]))
    said = [each for each in await texts(there, session) if each]
    assert said == ["First", "Looking. ", "And this", "Done.", "Second", "Later."]


async def test_token_that_is_revoked_closes_what_is_open_at_the_other_server(
    servers: Cluster,
) -> None:
    here, there = servers
    made = await here.identities.create_token(servers.owner, name="lent", scopes=("chat", "read"))
    session = await here.client.session()
    async with asyncio.timeout(SECONDS), client_of(there, made.secret.reveal()) as lent:
        page = Page()
        async with lent.watch(session) as events:
            page.take(await anext(events))
            await here.identities.revoke_token(servers.owner, made.token.id)
            async for told in events:
                page.take(told)
        assert (await lent.ask("GET", f"/api/sessions/{session}"))[0] == 401


@pytest.mark.contract("D5", "D6", "D11")
async def test_server_behind_a_pooler_sees_what_the_others_do(
    tmp_path: Path, server: ModelServer, database: str
) -> None:
    """It can't be told anything, and looks by itself."""
    way = tmp_path / "way"
    way.mkdir()
    async with cutting(database, way) as pooler:
        pooler.answers = as_a_pooler
        addresses = [database, pooler.address(database)]
        async with cluster.running(tmp_path, server, addresses) as (here, there):
            server.plan(say("Half of ") + stall() + say("it."), say("Half of ") + stall())
            session, page = await here.client.session(), Page()
            turn = TurnId((await here.client.send(session, "First"))["id"])
            await page.follow_until_said(there.client, session, "Half of")
            server.release()
            await page.follow_to_the_end(there.client, session, turn)
            await page.check_equals_what_is_stored(here.client, session)
            await there.client.send(session, "Second")
            await page.follow_until_said(here.client, session, "Half of")
            assert await here.account.cancel(session)
