"""Repairing a store in which a turn runs: it is in its latest attempt, with none but its words."""

import asyncio
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from roost.core.users import User
from roost.store.folder import DATABASE
from roost.store.sqlite.connect import Connection
from roost.store.sqlite.repair import check, repair
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, Run, eventually, open_any

Fate = Literal["kept", "swept", "reused"]
"""Of the deltas of a step that is written; `reused` are their numbers, by somebody else's."""


class Left(NamedTuple):
    user: User
    run: Run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


def change(folder: Path, *statements: str) -> None:
    connection = Connection(str(folder / DATABASE))
    for statement in statements:
        connection.rows(statement)
    connection.close()


async def fill(folder: Path, fate: Fate) -> Left:
    """Ada's turn has streamed a step and written it."""
    store = await open_any(folder, FakeClock())
    ada, bob = await Driver.of(store, "Ada", "admin"), await Driver.of(store, "Bob")
    if fate == "kept":
        await bob.stream(await bob.run(), "what keeps all that is streamed later")
    run = await ada.run()
    await ada.stream(run, "Ada's words")
    await ada.say(run, "Ada's words")
    if fate != "kept":
        await eventually(lambda: nothing_streams(folder))
    if fate == "reused":
        await bob.stream(await bob.run(), "Bob's secret")
    await store.close()
    return Left(ada.user, run)


async def nothing_streams(folder: Path) -> bool:
    connection = Connection(str(folder / DATABASE))
    try:
        return connection.rows("SELECT count(*) FROM deltas") == [(0,)]
    finally:
        connection.close()


async def assert_stands(folder: Path, left: Left) -> None:
    store = await open_any(folder, FakeClock())
    ada = Driver(store, left.user)
    turn = await ada.turns.get(left.run.turn)
    assert (turn.step, turn.attempt) == (2, 2)
    assert await ada.streamed(turn.id) == ""
    assert await ada.texts(left.run.session) == ["Hello", "Ada's words"]
    await store.close()
    assert check(folder) == []


@pytest.mark.parametrize("fate", ["kept", "reused"])
def test_turn_whose_session_is_lost_shows_no_words_of_others_nor_its_own_twice(
    data: Path, fate: Fate
) -> None:
    left = asyncio.run(fill(data, fate))
    change(data, f"DELETE FROM sessions WHERE id = '{left.run.session}'")
    repair(data, "0")
    asyncio.run(assert_stands(data, left))


def test_turn_of_a_store_before_version_9_goes_on_where_it_was(data: Path) -> None:
    left = asyncio.run(fill(data, "kept"))
    change(
        data,
        "UPDATE streams SET (step, attempt) = (SELECT step, attempt FROM sessions"
        " WHERE id = streams.session_id), last_seq = 0, first_delta = NULL, last_delta = NULL",
        "UPDATE sessions SET step = 0, attempt = 0",
    )
    repair(data, "0")
    asyncio.run(assert_stands(data, left))


def test_step_that_was_written_is_not_lost_with_what_had_streamed_of_it(data: Path) -> None:
    left = asyncio.run(fill(data, "swept"))
    assert repair(data, "0").lost == []
    asyncio.run(assert_stands(data, left))


def test_what_no_write_did_stands_in_nobodys_way(data: Path) -> None:
    """A damaged page can give rows that are JSON, and still not what is written there."""
    left = asyncio.run(fill(data, "kept"))
    change(data, """UPDATE events SET body = '["attempt", 2, null]' WHERE revision = 1""")
    repair(data, "0")
    asyncio.run(assert_stands(data, left))
