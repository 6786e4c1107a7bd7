"""Requests whose answers get lost: repeated where that is harmless, and told where it is not."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from roost.client.account import Account as AttachedAccount
from roost.client.connection import Ask, connected, path
from roost.core.errors import Conflict, RoostError, ServerUnreachable
from roost.runtime.account import Account
from roost.testing.models import ModelServer, say
from roost.wiring import Roost
from tests.attached import serving
from tests.unit.client.cutting import Way

PATIENCE = 30.0


@pytest.fixture
async def way(roost: Roost) -> AsyncGenerator[Way]:
    way = Way(roost.config.data)
    async with serving(roost), way.open():
        yield way


@pytest.fixture
async def attached(way: Way) -> AsyncGenerator[AttachedAccount]:
    async with connected(way.find, patience=PATIENCE) as connection:
        yield AttachedAccount(connection)


@pytest.mark.contract("D1")
async def test_message_whose_answer_is_lost_is_not_doubled(
    way: Way, account: Account, attached: AttachedAccount
) -> None:
    session = (await account.create(origin="cli", title="Once")).id
    way.cuts.extend([0, 9, 200, 0])
    turn = await attached.send(session, "Once")
    assert way.broken == 4
    assert [each.id for each in await account.turns(session)] == [turn.id]


async def test_what_can_be_done_only_once_is_not_done_again(
    way: Way, account: Account, attached: AttachedAccount, server: ModelServer
) -> None:
    session = (await account.create(origin="cli", title="Undone")).id
    server.otherwise(say("Yes."))
    for words in ("one", "two"):
        async for _ in account.talk(session, words):
            pass
    way.cuts.append(0)
    with pytest.raises(ServerUnreachable, match="may have been done"):
        await attached.history.undo(session)
    undone = [turn.undone is not None for turn in await account.turns(session)]
    assert undone == [False, True]


async def test_reading_is_done_again(way: Way, account: Account, attached: AttachedAccount) -> None:
    session = (await account.create(origin="cli", title="Read")).id
    way.cuts.extend([0, 100, 300])
    assert (await attached.session(session)).title == "Read"
    assert way.broken == 3


async def test_server_that_is_not_there_is_waited_for(roost: Roost) -> None:
    way = Way(roost.config.data)
    async with way.open(), connected(way.find, patience=PATIENCE) as connection:
        asking = asyncio.create_task(AttachedAccount(connection).current("cli"))
        await asyncio.sleep(0)
        assert not asking.done()
        async with serving(roost):
            assert await asking is None


async def test_server_that_does_not_come_is_an_error_that_says_what_to_do(roost: Roost) -> None:
    way = Way(roost.config.data)
    async with connected(way.find, patience=0) as connection:
        with pytest.raises(ServerUnreachable, match="Start it again with `roost run`"):
            await AttachedAccount(connection).current("cli")


async def test_answer_that_takes_too_long_is_an_error(way: Way, account: Account) -> None:
    session = (await account.create(origin="cli", title="Slow")).id
    async with connected(way.find, patience=0) as connection:
        asked = Ask("GET", path("sessions", session, "events"), seconds=0.2)
        with pytest.raises(ServerUnreachable, match="went away before it answered"):
            await connection.fetch(asked)


async def test_answer_that_is_not_understood_is_an_error(way: Way) -> None:
    async with connected(way.find, patience=0) as connection:
        with pytest.raises(ServerUnreachable, match="does not understand"):
            await connection.ask(Ask("GET", path("me")), int)


async def test_errors_are_those_of_the_server(
    way: Way, account: Account, attached: AttachedAccount
) -> None:
    session = (await account.create(origin="cli", title="Nothing")).id
    with pytest.raises(Conflict, match="Nothing has been said") as attached_error:
        await attached.proceed(session)
    with pytest.raises(RoostError) as error:
        await account.proceed(session)
    assert str(attached_error.value) == str(error.value)
    assert type(attached_error.value) is type(error.value)
