"""Errors that reach the edge become problems."""

import json
import logging

import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from roost.http.problems import HANDLERS
from tests.unit.http.serving import serving


async def broken(_: Request) -> Response:
    raise RuntimeError("the key is sk-123")


async def unauthorized(_: Request) -> Response:
    raise HTTPException(401, "Sign in first.", headers={"www-authenticate": "Bearer"})


APP = Starlette(
    routes=[Route("/broken", broken), Route("/unauthorized", unauthorized)],
    exception_handlers=HANDLERS,
)


async def test_defect_is_logged_and_tells_the_client_nothing_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        async with serving(APP) as ask:
            answer = await ask("GET", "/broken")
    assert answer.status == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert b"sk-123" not in answer.body
    assert "the key is sk-123" in caplog.text


async def test_refusal_keeps_its_words_and_headers() -> None:
    async with serving(APP) as ask:
        answer = await ask("GET", "/unauthorized")
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert json.loads(answer.body)["detail"] == "Sign in first."
