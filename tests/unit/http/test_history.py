"""History over HTTP: pages that stay where they are, pins, clearing and compacting."""

from roost.testing.models import ModelServer, call, fail, say
from tests.unit.http.served import Client, Served


async def test_pages_stay_where_they_are_while_messages_come(
    served: Served, browser: Client
) -> None:
    session = await browser.session()
    for number in range(3):
        await served.engine.say(session, f"Number {number}")
    path = f"/api/sessions/{session}/messages"
    newest = await browser.get(f"{path}?limit=2")
    assert newest["older"]
    before = newest["messages"][0]["position"]
    older = (await browser.get(f"{path}?limit=2&before={before}"))["messages"]
    assert not (await browser.get(f"{path}?limit=2&before={older[0]['position']}"))["older"]
    await served.engine.say(session, "One more")
    assert (await browser.get(f"{path}?limit=2&before={before}"))["messages"] == older
    assert older[-1]["position"] < before


async def test_page_says_how_its_turns_and_calls_went(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(call("echo", {"text": "Tu-whit"}), say("It echoes."), fail(400))
    session = await browser.session()
    done = await served.engine.say(session, "Echo!")
    failed = await served.engine.say(session, "And now?")
    page = await browser.get(f"/api/sessions/{session}/messages")
    shown = await browser.get(f"/api/sessions/{session}/snapshot")
    for view in (page, shown):
        assert [(turn["id"], turn["state"]) for turn in view["turns"]] == [
            (done.id, "completed"),
            (failed.id, "failed"),
        ]
        assert view["turns"][1]["reason"] == failed.reason
        (echo,) = view["calls"]
        assert (echo["turn"], echo["name"], echo["state"]) == (done.id, "echo", "done")
        assert echo["started_at"] <= echo["ended_at"]
        said = [turn["parts"] for turn in view["turns"]], echo["arguments"], echo["result"]
        assert said == ([[], []], "", None), "what a message says is not said again"


async def test_page_says_what_none_of_its_messages_does(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(call("echo", {"text": "Tu-whit"}), say("It echoes."))
    session = await browser.session()
    await served.engine.say(session, "Echo!")
    page = await browser.get(f"/api/sessions/{session}/messages?limit=2")
    assert [message["role"] for message in page["messages"]] == ["tool", "assistant"]
    assert page["turns"][0]["parts"] == [{"kind": "text", "text": "Echo!"}]
    assert page["calls"][0]["arguments"] == '{"text":"Tu-whit"}'


async def test_message_is_pinned_and_unpinned(served: Served, browser: Client) -> None:
    session = await browser.session()
    await served.engine.say(session)
    path = f"/api/sessions/{session}/messages"
    (first, _) = (await browser.get(path))["messages"]
    pin = f"{path}/{first['id']}/pin"
    assert await browser.ask("PUT", pin) == (204, None)
    assert (await browser.get(path))["messages"][0]["pinned"]
    assert await browser.ask("DELETE", pin) == (204, None)
    assert not (await browser.get(path))["messages"][0]["pinned"]


async def test_cleared_history_can_be_read_and_brought_back(
    served: Served, browser: Client
) -> None:
    session = await browser.session()
    await served.engine.say(session, "Remember this")
    path = f"/api/sessions/{session}"
    assert (await browser.post(f"{path}/clear"))[0] == 200
    assert (await browser.get(f"{path}/messages"))["messages"] == []
    (cleared,) = (await browser.get(f"{path}/rewrites"))["rewrites"]
    replaced = await browser.get(f"{path}/rewrites/{cleared['epoch']}/replaced")
    assert (len(replaced["messages"]), replaced["older"]) == (2, False)
    newest = await browser.get(f"{path}/rewrites/{cleared['epoch']}/replaced?limit=1")
    assert (newest["messages"], newest["older"]) == (replaced["messages"][1:], True)
    before = newest["messages"][0]["position"]
    rest = await browser.get(f"{path}/rewrites/{cleared['epoch']}/replaced?before={before}")
    assert (rest["messages"], rest["older"]) == (replaced["messages"][:1], False)
    assert (await browser.post(f"{path}/restore"))[0] == 200
    assert len((await browser.get(f"{path}/messages"))["messages"]) == 2


async def test_compaction_says_what_came_of_it(
    served: Served, browser: Client, server: ModelServer
) -> None:
    session = await browser.session()
    path = f"/api/sessions/{session}/compact"
    status, done = await browser.post(path)
    assert (status, done["compacted"]) == (200, False)
    for _ in range(8):
        await served.engine.say(session, "A long story. " * 400)
    server.plan(say("They told long stories."))
    status, done = await browser.post(path, {"focus": "the stories"})
    assert (status, done["compacted"]) == (200, True)
    rewrites = (await browser.get(f"/api/sessions/{session}/rewrites"))["rewrites"]
    assert [(each["kind"], each["detail"]["focus"]) for each in rewrites] == [
        ("compaction", "the stories")
    ]


async def test_snapshot_shows_how_a_session_stands(served: Served, browser: Client) -> None:
    session = await browser.session()
    await served.engine.say(session)
    shown = await browser.get(f"/api/sessions/{session}/snapshot?limit=1")
    assert (shown["kind"], len(shown["messages"])) == ("snapshot", 1)
    assert "user" not in shown["session"]
    assert "token" not in shown["session"]
