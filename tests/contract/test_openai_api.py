"""E4 with the official client: what starts in one surface goes on in another, back and forth."""

import base64
from collections.abc import AsyncGenerator
from pathlib import Path

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from roost.core.events import Changed
from roost.core.ids import SessionId
from roost.embed import open_roost
from roost.testing.models import ModelRequest, ModelServer, Reply, say, stall
from tests.unit.http.served import Client, Served, started

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)


def _answer(request: ModelRequest) -> Reply:
    """Says which of the questions so far it can see."""
    seen = [word for word in ("One", "Two", "Three", "Four") if word in request.body.decode()]
    return say(" ".join(seen))


@pytest.fixture
async def served(folder: Path, server: ModelServer) -> AsyncGenerator[Served]:
    server.otherwise(_answer)
    async with started(Served(folder, server)) as served:
        yield served


@pytest.fixture
async def browser(served: Served) -> AsyncGenerator[Client]:
    async with served.browser() as browser:
        yield browser


@pytest.fixture
async def client(served: Served) -> AsyncGenerator[openai.AsyncOpenAI]:
    made = await served.identities.create_token(
        served.engine.owner.id, name="client", scopes=("chat",)
    )
    url = str(served.url / "v1")
    async with openai.AsyncOpenAI(api_key=made.secret.reveal(), base_url=url) as client:
        yield client


def asking(text: str) -> list[ChatCompletionMessageParam]:
    return [{"role": "user", "content": text}]


@pytest.mark.contract("E4")
async def test_session_goes_through_the_official_client_the_api_and_an_embedded_roost(
    served: Served, client: openai.AsyncOpenAI, browser: Client
) -> None:
    create = client.chat.completions.with_raw_response.create
    raw = await create(
        model="roost", messages=asking("One"), extra_headers={"X-Roost-Session": "new"}
    )
    session = SessionId(raw.headers["x-roost-session"])
    assert raw.parse().choices[0].message.content == "One"

    turn = await browser.send(session, "Two")
    await served.engine.ended(turn["id"])

    await served.stop()
    async with open_roost(served.engine.config) as roost:
        events = [event async for event in roost.talk(session, "Three")]
        assert isinstance(events[-1], Changed)
    await served.start()

    raw = await create(
        model="roost", messages=asking("Four"), extra_headers={"X-Roost-Session": session}
    )
    assert raw.parse().choices[0].message.content == "One Two Three Four"
    assert await served.engine.texts(session) == [
        "One",
        "One",
        "Two",
        "One Two",
        "Three",
        "One Two Three",
        "Four",
        "One Two Three Four",
    ]


@pytest.mark.contract("E4")
async def test_request_of_its_own_goes_on_in_the_browser(
    served: Served, client: openai.AsyncOpenAI, browser: Client
) -> None:
    said: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": "Count."},
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "One"},
        {"role": "user", "content": "Two"},
    ]
    answer = await client.chat.completions.create(model="test/model", messages=said)
    assert answer.choices[0].message.content == "One Two"
    (session,) = (await browser.get("/api/sessions"))["sessions"]
    assert (session["origin"], session["instructions"]) == ("request", "Count.")
    turn = await browser.send(session["id"], "Three")
    await served.engine.ended(turn["id"])
    texts = await served.engine.texts(session["id"])
    assert texts == ["One", "One", "Two", "One Two", "Three", "One Two Three"]


@pytest.mark.contract("E4")
async def test_browser_watches_what_the_official_client_streams(
    served: Served, client: openai.AsyncOpenAI, browser: Client, server: ModelServer
) -> None:
    server.plan(say("Half of it") + stall() + say(" and the rest."))
    session = await browser.session()
    stream = await client.chat.completions.create(
        model="roost",
        messages=asking("Tell me"),
        stream=True,
        extra_headers={"X-Roost-Session": session},
    )
    await served.engine.streamed(session, "Half of it")
    (await server.request(0)).release()
    said = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert "".join(said) == "Half of it and the rest."
    assert await served.engine.texts(session) == ["Tell me", "".join(said)]


@pytest.mark.contract("E4")
async def test_picture_of_the_official_client_is_in_the_session(
    served: Served, client: openai.AsyncOpenAI, browser: Client
) -> None:
    session = await browser.session()
    url = f"data:image/png;base64,{PIXEL}"
    await client.chat.completions.create(
        model="roost",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "One"},
                    {"type": "image_url", "image_url": {"url": url}},
                ],
            }
        ],
        extra_headers={"X-Roost-Session": session},
    )
    message = (await browser.get(f"/api/sessions/{session}/messages"))["messages"][0]
    (image,) = [part for part in message["parts"] if part["kind"] == "image"]
    address = browser.served.url.with_path(f"/api/files/{image['blob']}/content")
    async with browser.connections.get(address) as response:
        assert await response.read() == base64.b64decode(PIXEL)
        assert response.content_type == "image/png"


@pytest.mark.contract("D1")
async def test_official_client_that_asks_again_with_its_key_asks_once(
    client: openai.AsyncOpenAI, server: ModelServer
) -> None:
    answers = [
        await client.chat.completions.create(
            model="roost", messages=asking("One"), extra_headers={"Idempotency-Key": "k"}
        )
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert len(server.requests) == 1
    with pytest.raises(openai.ConflictError, match="new key"):
        await client.with_options(max_retries=0).chat.completions.create(
            model="roost", messages=asking("Two"), extra_headers={"Idempotency-Key": "k"}
        )
