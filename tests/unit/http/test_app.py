"""What the application answers, over a real connection."""

import json

from roost.http.app import create_app
from tests.unit.http.serving import serving


async def test_healthz_says_ok_and_which_version() -> None:
    async with serving(create_app(version="1.2.3")) as ask:
        answer = await ask("GET", "/healthz")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body) == {"status": "ok", "version": "1.2.3"}


async def test_unknown_path_is_a_problem() -> None:
    async with serving(create_app(version="1.2.3")) as ask:
        answer = await ask("GET", "/nowhere?token=secret")
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert json.loads(answer.body) == {
        "title": "Not Found",
        "status": 404,
        "detail": "There is nothing at /nowhere.",
    }


async def test_wrong_method_is_a_problem_that_says_which_are_allowed() -> None:
    async with serving(create_app(version="1.2.3")) as ask:
        answer = await ask("POST", "/healthz")
    assert answer.status == 405
    assert answer.headers["content-type"] == "application/problem+json"
    assert "GET" in answer.headers["allow"]
    assert json.loads(answer.body)["detail"] == "/healthz does not take POST."
