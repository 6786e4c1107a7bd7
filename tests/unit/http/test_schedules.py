"""Schedules over HTTP."""

import pytest

from roost.core.ids import new_schedule_id, new_turn_id
from roost.core.turns import ENDED
from tests.engine import eventually
from tests.unit.http.served import Client, Served

HOURLY = {"kind": "every", "spec": "1h"}
PATH = "/api/schedules"


async def make(browser: Client, **changes: object) -> dict[str, object]:
    body = {"name": "News", "when": HOURLY, "text": "Any news?", **changes}
    status, made = await browser.post(PATH, body)
    assert status == 201, made
    return made


async def test_schedule_is_made_listed_changed_and_removed(browser: Client) -> None:
    made = await make(browser, when={"kind": "cron", "spec": "0 9 * * mon-fri"})
    assert made["when"] == {"kind": "cron", "spec": "0 9 * * mon-fri", "time_zone": "UTC"}
    assert (made["paused"], made["missed"], made["session"]) == (False, "once", None)
    assert (await browser.get(PATH))["schedules"] == [made]
    one = f"{PATH}/{made['id']}"
    status, changed = await browser.ask("PATCH", one, {"paused": True, "name": " Other "})
    assert status == 200
    assert (changed["paused"], changed["name"]) == (True, "Other")
    assert await browser.get(one) == changed
    assert (await browser.ask("DELETE", one))[0] == 204
    assert (await browser.ask("GET", one))[0] == 404


async def test_made_again_with_its_id_it_is_the_same(browser: Client) -> None:
    id = new_schedule_id()
    first = await make(browser, id=id)
    assert await make(browser, id=id) == first
    assert len((await browser.get(PATH))["schedules"]) == 1


async def test_run_now_is_a_turn_whose_state_the_history_shows(browser: Client) -> None:
    one = f"{PATH}/{(await make(browser))['id']}"
    id = new_turn_id()
    status, turn = await browser.post(f"{one}/run", {"id": id})
    assert (status, turn["id"], turn["route"]) == (201, id, "schedule")
    assert (await browser.post(f"{one}/run", {"id": id}))[1]["id"] == id

    async def over() -> list[dict[str, object]]:
        runs = (await browser.get(f"{one}/runs"))["runs"]
        return [run for run in runs if run["state"] in ENDED]

    (run,) = await eventually(over)
    assert (run["turn"], run["session"]) == (id, turn["session"])
    assert (await browser.get(f"{one}/runs?before={run['tick']}"))["runs"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"when": {"kind": "cron", "spec": "61 * * * *"}},
        {"when": {"kind": "every", "spec": "10s"}},
        {"when": {"kind": "once", "spec": "1999-01-01T00:00"}},
        {"when": {**HOURLY, "time_zone": "Moon/Base"}},
        {"name": " "},
        {"text": ""},
        {"model": "nobody/nothing"},
        {"missed": "twice"},
        {"more": 1},
    ],
)
async def test_what_makes_no_sense_is_refused(browser: Client, wrong: dict[str, object]) -> None:
    body = {"name": "News", "when": HOURLY, "text": "Any news?", **wrong}
    assert (await browser.post(PATH, body))[0] == 400


async def test_others_sessions_and_routes_are_not_there(browser: Client, served: Served) -> None:
    for wrong in ({"session": "ses_" + "0" * 26}, {"route": "telegram:dm:1"}):
        body = {"name": "News", "when": HOURLY, "text": "Any news?", **wrong}
        assert (await browser.post(PATH, body))[0] == 404


async def test_nobody_takes_a_channels_route_where_they_have_not_talked(
    browser: Client, served: Served
) -> None:
    session = await browser.session()
    route = "/api/routes/telegram:dm:1"
    assert (await browser.ask("PUT", route, {"session": session}))[0] == 404
    assert (await browser.post(f"{route}/reset"))[0] == 404
    await served.engine.account.point("telegram:dm:1", session)
    assert (await browser.ask("PUT", route, {"session": session}))[0] == 200
    made = await make(browser, route="telegram:dm:1")
    assert made["route"] == "telegram:dm:1"


async def test_next_times_are_told_before_it_is_made(browser: Client) -> None:
    when = "kind=cron&spec=30+7+*+*+*&time_zone=Europe/Zurich"
    status, told = await browser.ask("GET", f"{PATH}/ahead?{when}")
    assert (status, told["time_zone"]) == (200, "Europe/Zurich")
    assert len(told["times"]) == 3
    assert told["times"] == sorted(told["times"])
    assert (await browser.get(PATH))["schedules"] == []


async def test_what_would_never_run_has_no_next_time_or_is_refused(browser: Client) -> None:
    past = "kind=once&spec=2001-01-01T09:00"
    assert (await browser.ask("GET", f"{PATH}/ahead?{past}"))[1]["times"] == []
    for wrong in ("kind=cron&spec=never", f"{past}&time_zone=Mars/Olympus"):
        assert (await browser.ask("GET", f"{PATH}/ahead?{wrong}"))[0] == 400
