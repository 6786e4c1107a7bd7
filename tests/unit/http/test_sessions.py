"""Sessions over HTTP: listed, opened, changed, branched, ended, deleted, searched."""

from roost.core.ids import new_session_id
from roost.http.views import ChangedView
from roost.testing.models import ModelServer, call, say, use
from tests.engine import eventually
from tests.unit.http.served import Client, Served


async def test_session_is_opened_once_under_an_id_of_the_clients_own(browser: Client) -> None:
    id = new_session_id()
    assert await browser.session(id=id) == id
    assert await browser.session(id=id) == id
    (listed,) = (await browser.get("/api/sessions"))["sessions"]
    assert (listed["id"], listed["origin"], listed["state"]) == (id, "web", "idle")


async def test_list_goes_on_where_a_page_ended(browser: Client) -> None:
    opened = [await browser.session(title=f"Number {n}") for n in range(5)]
    first = (await browser.get("/api/sessions?limit=3"))["sessions"]
    last = first[-1]
    more = f"/api/sessions?limit=3&after_at={last['active_at']}&after={last['id']}"
    second = (await browser.get(more))["sessions"]
    assert [each["id"] for each in (*first, *second)] == opened[::-1]


async def test_session_is_renamed_pinned_archived_and_filed(browser: Client) -> None:
    session = await browser.session()
    change = {"title": "Owls", "pinned": True, "archived": True, "project": "Birds"}
    status, changed = await browser.ask("PATCH", f"/api/sessions/{session}", change)
    assert status == 200
    assert {name: changed[name] for name in change} == change
    assert changed["title_by"] == "person"
    assert (await browser.get("/api/sessions"))["sessions"] == []
    assert len((await browser.get("/api/sessions?archived=true&title=owl"))["sessions"]) == 1


async def test_other_model_is_chosen_for_the_next_turn(browser: Client) -> None:
    session = await browser.session(model="test/model", instructions="Be brief.")
    _, changed = await browser.ask("PATCH", f"/api/sessions/{session}", {"model": "test/other"})
    assert (changed["model"], changed["instructions"]) == ("test/other", "Be brief.")
    status, problem = await browser.ask(
        "PATCH", f"/api/sessions/{session}", {"model": "nobody/knows"}
    )
    assert (status, problem["title"]) == (400, "Bad Request")


async def test_field_that_is_not_known_is_refused(browser: Client) -> None:
    status, problem = await browser.post("/api/sessions", {"titel": "Owls"})
    assert (status, problem["detail"]) == (
        400,
        "The body is wrong: Object contains unknown field `titel`.",
    )


async def test_branch_has_what_was_said_up_to_a_message(served: Served, browser: Client) -> None:
    session = await browser.session()
    await served.engine.say(session, "One")
    await served.engine.say(session, "Two")
    at = (await served.engine.messages(session))[1].id
    status, branch = await browser.post(f"/api/sessions/{session}/branch", {"at": at})
    assert (status, branch["parent"]["session"]) == (201, session)
    assert branch["counters"]["messages"] == 2


async def test_ended_session_goes_on_with_the_next_message(browser: Client) -> None:
    session = await browser.session()
    status, ended = await browser.post(f"/api/sessions/{session}/end")
    assert status == 200
    assert ended["ended_at"] is not None
    await browser.send(session, "Still there?")
    assert (await browser.get(f"/api/sessions/{session}"))["ended_at"] is None


async def test_deleted_session_is_gone(browser: Client) -> None:
    session = await browser.session()
    assert await browser.ask("DELETE", f"/api/sessions/{session}") == (204, None)
    assert (await browser.ask("GET", f"/api/sessions/{session}"))[0] == 404
    assert (await browser.ask("DELETE", f"/api/sessions/{session}"))[0] == 404


async def test_what_was_said_is_found(served: Served, browser: Client) -> None:
    session = await browser.session()
    await served.engine.say(session, "Where do owls sleep?")

    async def found() -> bool:
        hits = (await browser.get("/api/search?words=owls"))["hits"]
        return [hit["session"] for hit in hits] == [session]

    assert await eventually(found)


async def test_usage_is_told_by_model_and_by_day(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(say("Yes.") + use(input_tokens=100, output_tokens=7))
    session = await browser.session()
    await served.engine.say(session)
    (used,) = (await browser.get(f"/api/sessions/{session}/usage"))["models"]
    assert (used["model"], used["input_tokens"], used["output_tokens"]) == ("model", 100, 7)
    (day,) = (await browser.get("/api/usage?days=2"))["days"]
    assert day["used"] == used
    assert day["day"] % 86_400_000 == 0


async def test_route_has_a_session_until_it_is_reset(browser: Client) -> None:
    session = await browser.session()
    path = "/api/routes/desk"
    assert (await browser.ask("GET", path))[0] == 404
    assert (await browser.ask("PUT", path, {"session": session}))[0] == 200
    assert (await browser.get(path))["id"] == session
    status, opened = await browser.post(f"{path}/reset")
    assert status == 201
    assert (await browser.get(path))["id"] == opened["id"] != session
    assert (await browser.get(f"/api/sessions/{session}"))["ended_at"] is not None


async def test_session_says_how_full_its_models_window_is(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(call("echo", {"text": "Tu"}) + use(input_tokens=900, output_tokens=30))
    server.plan(say("Whit.") + use(input_tokens=1000, output_tokens=40))
    session = await browser.session(model="claude/claude-sonnet-5-5")
    begun = await browser.get(f"/api/sessions/{session}")
    assert (begun["context_tokens"], begun["context_window"]) == (0, 1_000_000)
    seen: list[int] = []
    async with browser.watch(session) as events:
        await anext(events)  # what comes from now on is told
        await served.engine.say(session)
        async for event in events:
            if isinstance(event.view, ChangedView) and event.view.session is not None:
                seen.append(event.view.session.context_tokens)
                if event.view.session.state == "idle":
                    break
    assert {930, 1040} <= set(seen), "after each step, not only at the end"
    found = await browser.get(f"/api/sessions/{session}")
    assert (found["context_tokens"], found["model"]) == (1040, "claude/claude-sonnet-5-5")
    (turn,) = (await browser.get(f"/api/sessions/{session}/messages"))["turns"]
    assert turn["model"] == "claude/claude-sonnet-5-5"


async def test_window_of_an_unknown_model_is_unknown(browser: Client) -> None:
    session = await browser.session(model="test/other")
    assert (await browser.get(f"/api/sessions/{session}"))["context_window"] is None


async def test_projects_are_listed_with_their_sessions(browser: Client) -> None:
    assert (await browser.get("/api/projects"))["projects"] == []
    alone = await browser.session()
    for project in ("nest", "nest", "Barn", "Past"):
        session = await browser.session(project=project)
    await browser.ask("PATCH", f"/api/sessions/{session}", {"archived": True})
    assert (await browser.get("/api/projects"))["projects"] == [
        {"name": "Barn", "sessions": 1},
        {"name": "nest", "sessions": 2},
    ]
    unfiled = (await browser.get("/api/sessions?filed=false"))["sessions"]
    assert [each["id"] for each in unfiled] == [alone]
    assert len((await browser.get("/api/sessions?filed=true"))["sessions"]) == 3
