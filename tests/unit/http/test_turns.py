"""Turns over HTTP: sent once, waiting, stopped, retried, taken back, edited."""

from typing import Any

from roost.core.ids import SessionId, TurnId, new_turn_id
from roost.testing.models import ModelServer, call, fail, say, stall
from tests.unit.http.served import Client, Served


async def texts(browser: Client, session: SessionId) -> list[str]:
    page: dict[str, Any] = await browser.get(f"/api/sessions/{session}/messages")
    return [
        part["text"]
        for message in page["messages"]
        for part in message["parts"]
        if part["kind"] == "text"
    ]


async def test_message_sent_twice_is_one_turn(served: Served, browser: Client) -> None:
    session = await browser.session()
    path = f"/api/sessions/{session}/turns"
    key = {"Idempotency-Key": "one and only"}
    _, first = await browser.post(path, {"text": "Hello"}, headers=key)
    _, again = await browser.post(path, {"text": "Hello"}, headers=key)
    assert first["id"] == again["id"]
    status, problem = await browser.post(path, {"text": "Good-bye"}, headers=key)
    assert (status, problem["type"]) == (409, "urn:roost:key-reused")
    id = new_turn_id()
    sent = [await browser.send(session, "Hello", id=id) for _ in range(2)]
    assert [each["id"] for each in sent] == [id, id]
    await served.engine.ended(id)
    assert await texts(browser, session) == ["Hello", "Good day."] * 2


async def test_empty_message_is_refused(browser: Client) -> None:
    session = await browser.session()
    status, problem = await browser.post(f"/api/sessions/{session}/turns", {"text": " "})
    assert (status, problem["detail"]) == (400, "The message is empty.")


async def test_what_waits_is_listed_edited_and_removed(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(stall(), say("Two."))
    session = await browser.session()
    first = await browser.send(session, "One")
    second, third = [await browser.send(session, words) for words in ("Too", "Three")]
    queue = f"/api/sessions/{session}/queue"
    listed = (await browser.get(queue))["turns"]
    assert [turn["id"] for turn in listed] == [second["id"], third["id"]]
    status, edited = await browser.ask("PUT", f"{queue}/{second['id']}", {"text": "Two"})
    assert (status, edited["parts"]) == (200, [{"kind": "text", "text": "Two"}])
    assert await browser.ask("DELETE", f"{queue}/{third['id']}") == (204, None)
    await (await server.request(0)).stalled()
    server.release()
    await served.engine.ended(TurnId(second["id"]))
    assert (await browser.ask("PUT", f"{queue}/{first['id']}", {"text": "No"}))[0] == 409
    assert "Two" in await texts(browser, session)


async def test_turn_of_another_session_is_not_found(browser: Client) -> None:
    session, other = await browser.session(), await browser.session()
    turn = (await browser.send(other))["id"]
    for method, path in [
        ("GET", f"/api/sessions/{session}/turns/{turn}"),
        ("PUT", f"/api/sessions/{session}/turns/{turn}"),
        ("PUT", f"/api/sessions/{session}/queue/{turn}"),
        ("DELETE", f"/api/sessions/{session}/queue/{turn}"),
    ]:
        body = {"text": "Hello"} if method == "PUT" else None
        assert (await browser.ask(method, path, body))[0] == 404


async def test_retry_undo_and_edit_take_turns_back(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(say("One."), say("Two."), say("Three."))
    session = await browser.session()
    path = f"/api/sessions/{session}"
    await served.engine.say(session, "Count")
    status, retried = await browser.post(f"{path}/retry")
    assert status == 202
    await served.engine.ended(TurnId(retried["id"]))
    assert await texts(browser, session) == ["Count", "Two."]
    edit = f"{path}/turns/{retried['id']}"
    status, edited = await browser.ask("PUT", edit, {"text": "Count on"})
    assert status == 202
    await served.engine.ended(TurnId(edited["id"]))
    assert await texts(browser, session) == ["Count on", "Three."]
    assert (await browser.post(f"{path}/undo"))[0] == 200
    assert await texts(browser, session) == []
    assert (await browser.post(f"{path}/restore"))[0] == 200
    assert await texts(browser, session) == ["Count on", "Three."]
    kinds = [each["kind"] for each in (await browser.get(f"{path}/rewrites"))["rewrites"]]
    assert sorted(kinds) == ["edit", "edit", "restore", "undo"]


async def test_turn_that_failed_goes_on(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(fail(401), say("Here I am."))
    session = await browser.session()
    turn = await served.engine.say(session, "Where are you?")
    assert turn.state == "failed"
    status, continued = await browser.post(f"/api/sessions/{session}/continue")
    assert (status, continued["id"]) == (202, turn.id)
    assert (await served.engine.ended(turn.id)).state == "completed"
    status, _ = await browser.post(f"/api/sessions/{session}/continue")
    assert status == 409


async def test_steer_joins_the_turn_under_way(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(stall() + say("On it."), say("And that too."))
    session = await browser.session()
    turn = await browser.send(session, "Do this")
    steer = await browser.send(session, "And that", steer=True)
    await (await server.request(0)).stalled()
    server.release()
    await served.engine.ended(TurnId(turn["id"]))
    await served.engine.ended(TurnId(steer["id"]))
    found = await browser.get(f"/api/sessions/{session}/turns/{steer['id']}")
    assert found["state"] in ("merged", "completed")


async def test_message_that_waits_joins_the_turn_after_all(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(stall() + call("echo", {"text": "Tu"}), say("Both it is."))
    session = await browser.session()
    first = await browser.send(session, "One thing")
    second = await browser.send(session, "And another")
    place = f"/api/sessions/{session}/queue/{second['id']}"
    status, steered = await browser.ask("PUT", place, {"steer": True})
    assert (status, steered["steer"], steered["parts"]) == (200, True, second["parts"])
    await (await server.request(0)).stalled()
    server.release()
    assert (await served.engine.ended(TurnId(first["id"]))).state == "completed"
    assert (await browser.get(f"/api/sessions/{session}/turns/{second['id']}"))["state"] == "merged"
    assert (await texts(browser, session))[-2:] == ["And another", "Both it is."]


async def test_steer_waits_for_its_own_turn_after_all(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(stall() + call("echo", {"text": "Tu"}), say("One."), say("Two."))
    session = await browser.session()
    await browser.send(session, "One")
    second = await browser.send(session, "Too", steer=True)
    place = f"/api/sessions/{session}/queue/{second['id']}"
    _, edited = await browser.ask("PUT", place, {"text": "Two", "steer": False})
    assert (edited["steer"], edited["parts"]) == (False, [{"kind": "text", "text": "Two"}])
    assert (await browser.ask("PUT", place, {}))[0] == 400, "nothing is not said"
    await (await server.request(0)).stalled()
    server.release()
    assert (await served.engine.ended(TurnId(second["id"]))).state == "completed"
    assert (await texts(browser, session))[-3:] == ["One.", "Two", "Two."]


async def test_retry_asks_another_model(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(say("I am the first."), say("I am the other."))
    session = await browser.session()
    first = await served.engine.say(session, "Who are you?")
    retry = f"/api/sessions/{session}/retry"
    status, again = await browser.post(retry, {"model": "test/other"})
    assert status == 202
    assert (await served.engine.ended(TurnId(again["id"]))).model == "test/other"
    assert first.model == "test/model"
    assert await texts(browser, session) == ["Who are you?", "I am the other."]
    assert (await browser.get(f"/api/sessions/{session}"))["model"] == "test/other"


async def test_refused_retry_changes_no_model(
    served: Served, browser: Client, server: ModelServer
) -> None:
    session = await browser.session(model="test/model")
    retry, missing = f"/api/sessions/{session}/retry", new_turn_id()
    assert (await browser.post(retry, {"model": "test/other"}))[0] == 409, "nothing was said yet"
    await served.engine.say(session)
    said = await texts(browser, session)
    assert (await browser.post(retry, {"model": "test/other", "turn": missing}))[0] == 404
    assert (await browser.post(retry, {"model": "nobody/nothing"}))[0] == 400
    server.plan(stall(), say("Done."))
    running = await browser.send(session, "Wait")
    await served.engine.reached(TurnId(running["id"]), "running")
    assert (await browser.post(retry, {"model": "test/other"}))[0] == 409, "a turn is under way"
    await (await server.request(1)).stalled()
    server.release()
    await served.engine.ended(TurnId(running["id"]))
    assert (await texts(browser, session))[:2] == said
    assert (await browser.get(f"/api/sessions/{session}"))["model"] == "test/model"
