"""Channels over HTTP: set up with tokens that never come out, people let in, failures looked at."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from roost.channels.base import Channel, Options
from roost.channels.hosting import hosted
from roost.channels.registry import Registry
from roost.core.errors import ConfigError, Undeliverable
from roost.testing.models import ModelServer
from tests.engine import eventually
from tests.small_channel import SmallChannel, SmallPlatform
from tests.unit.http.served import Client, Served, started

TOKEN = "heron-0123456789"  # noqa: S105 (of nobody)


class Board:
    """A server whose channels are on a small platform."""

    def __init__(self, served: Served, client: Client) -> None:
        self.served = served
        self.client = client
        self.platform = SmallPlatform()
        self.tokens: list[str] = []

    def make(self, name: str, options: Options) -> Channel:
        if "token" not in options:
            raise ConfigError("It needs a token.")
        self.tokens.append(options["token"].reveal())
        return SmallChannel(self.platform, name=name)

    async def condition(self, name: str = "small") -> str:
        (found,) = [
            each
            for each in (await self.client.get("/api/channels"))["channels"]
            if each["name"] == name
        ]
        return found["condition"]

    async def add(self, **body: object) -> None:
        status, answer = await self.client.ask("PUT", "/api/channels/small", body)
        assert status == 200, answer


@pytest.fixture
async def board(folder: Path, server: ModelServer) -> AsyncGenerator[Board]:
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(started(Served(folder, server)))
        client = await stack.enter_async_context(served.browser())
        board = Board(served, client)
        await stack.enter_async_context(hosted(served.engine.app, Registry({"small": board.make})))
        await eventually(lambda: _has_kinds(board))
        yield board


async def _has_kinds(board: Board) -> bool:
    return "small" in (await board.client.get("/api/channels"))["kinds"]


async def _connected(board: Board) -> bool:
    return await board.condition() == "connected"


async def test_channel_connects_once_it_is_set_up_and_shows_no_token(board: Board) -> None:
    await board.add(options={"token": TOKEN})
    await eventually(lambda: _connected(board))
    (found,) = (await board.client.get("/api/channels"))["channels"]
    assert found["options"] == ["token"]
    assert found["bot"] == "roostbot"
    assert TOKEN not in str(found)


async def test_what_is_left_out_stays_and_a_new_token_begins_anew(board: Board) -> None:
    await board.add(options={"token": TOKEN})
    await board.add(groups="all")
    await eventually(lambda: _connected(board))
    await board.add(options={"token": "wren-1"})
    await eventually(lambda: _begun(board, 3))
    assert board.tokens == [TOKEN, TOKEN, "wren-1"]


async def _begun(board: Board, times: int) -> bool:
    return len(board.tokens) >= times


async def test_channel_that_lacks_something_says_so(board: Board) -> None:
    await board.add()
    await eventually(lambda: _is_wrong(board))
    (found,) = (await board.client.get("/api/channels"))["channels"]
    assert found["detail"] == "It needs a token."


async def _is_wrong(board: Board) -> bool:
    return await board.condition() == "wrong"


async def test_paused_channel_is_not_connected_until_it_goes_on(board: Board) -> None:
    await board.add(options={"token": TOKEN})
    await eventually(lambda: _connected(board))
    await board.add(paused="yes")
    await eventually(lambda: _is(board, "off"))
    assert (await board.client.get("/api/channels"))["channels"][0]["paused"] == "yes"
    await board.add()
    await eventually(lambda: _connected(board))


async def _is(board: Board, condition: str) -> bool:
    return await board.condition() == condition


async def test_places_where_someone_talks_are_theirs_alone_and_have_names(board: Board) -> None:
    await board.add(options={"token": TOKEN})
    await board.platform.say("Hello?", name="Eve")
    code = (await board.platform.until_text("pairing code")).piece.text.split("**")[1]
    assert (await board.client.get("/api/routes"))["routes"] == []
    await board.client.ask("POST", "/api/pairings/approve", {"code": code})
    await board.platform.say("Hello!", name="Eve")
    await board.platform.until_posts(2)
    (place,) = (await board.client.get("/api/routes"))["routes"]
    assert (place["route"], place["name"]) == ("small:dm:42", "Eve")
    (session,) = (await board.client.get("/api/sessions"))["sessions"]
    assert place["session"] == session["id"]
    _, made = await board.client.post("/api/users", {"name": "bob"})
    async with board.served.browser(made["id"]) as bob:
        assert (await bob.get("/api/routes"))["routes"] == []


async def test_unknown_kind_and_wrong_reset_are_refused(board: Board) -> None:
    assert (await board.client.ask("PUT", "/api/channels/pigeon", {}))[0] == 400
    body = {"reset": "sometimes"}
    assert (await board.client.ask("PUT", "/api/channels/small", body))[0] == 400


async def test_removed_channel_is_gone_with_its_token(board: Board) -> None:
    await board.add(options={"token": TOKEN})
    await eventually(lambda: _connected(board))
    assert (await board.client.ask("DELETE", "/api/channels/small"))[0] == 204
    assert (await board.client.get("/api/channels"))["channels"] == []
    assert not [each for each in await board.served.engine.store.secrets.names() if "small" in each]


@pytest.mark.contract("E3")
async def test_code_is_approved_over_the_api(board: Board) -> None:
    await board.add(options={"token": TOKEN})
    await board.platform.say("Hello?", name="Eve")
    code = (await board.platform.until_text("pairing code")).piece.text.split("**")[1]
    (waiting,) = (await board.client.get("/api/pairings"))["pairings"]
    assert (waiting["name"], waiting["state"], waiting["user"]) == ("Eve", "pending", None)
    status, paired = await board.client.ask("POST", "/api/pairings/approve", {"code": code})
    assert (status, paired["state"]) == (200, "approved")
    await board.platform.say("Hello!")
    await board.platform.until_posts(2)
    assert (await board.client.ask("POST", "/api/pairings/approve", {"code": code}))[0] == 404
    sender = {"channel": "small", "sender": "42"}
    assert (await board.client.ask("POST", "/api/pairings/block", sender))[1]["state"] == "blocked"
    assert (await board.client.ask("POST", "/api/pairings/forget", sender))[0] == 204


@pytest.mark.contract("E2")
async def test_what_cant_be_delivered_is_shown_and_tried_again(board: Board) -> None:
    await board.add(options={"token": TOKEN}, allow=["42"])
    board.platform.trouble += [Undeliverable("small", "the chat is gone")]
    await board.platform.say("Hello")
    (lost,) = await eventually(lambda: _undelivered(board))
    assert "the chat is gone" in str(lost["error"])
    path = f"/api/undelivered/{lost['id']}"
    assert (await board.client.ask("POST", f"{path}/retry"))[0] == 204
    await board.platform.until_posts(1)
    assert not await _undelivered(board)
    assert (await board.client.ask("DELETE", path))[0] == 404


async def _undelivered(board: Board) -> list[dict[str, object]]:
    return (await board.client.get("/api/undelivered"))["messages"]


async def test_doctor_says_what_a_channel_lacks(board: Board) -> None:
    await board.add()
    await eventually(lambda: _is_wrong(board))
    found = await board.served.engine.app.doctor.look()
    (said,) = [each for each in found if each.subject == "Channel small"]
    assert (said.state, said.found) == ("warn", "It needs a token.")
