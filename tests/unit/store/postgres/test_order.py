"""Writes to one session: in the order in which they were asked for."""

import asyncio
from pathlib import Path

import pytest

from roost.store.operations import Engine, Operation, query, writing
from roost.store.postgres.store import PostgresStore
from tests.store_driver import AnyStore
from tests.unit.store.postgres.writers import somebody_waits, transaction

pytestmark = pytest.mark.postgres


class Notes:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @writing
    def put(self, session: str, key: str) -> Operation[None]:
        yield query("put_setting", user="", key=f"{session} {key}", value="1")


@pytest.mark.parametrize("by_name", [False, True])
async def test_write_waits_for_the_one_before_it_however_its_session_is_given(
    store: AnyStore, folder: Path, by_name: bool
) -> None:
    assert isinstance(store, PostgresStore)
    notes = Notes(store.settings.engine)

    async def put(session: str, key: str) -> None:
        await (notes.put(key=key, session=session) if by_name else notes.put(session, key))

    async with transaction(folder) as other:
        await other.execute("INSERT INTO settings VALUES ('', 'ses_1 first', '0', 0)")
        first = asyncio.create_task(put("ses_1", "first"))
        await somebody_waits(other)
        second = asyncio.create_task(put("ses_1", "second"))
        for number in range(5):  # in which it would have been done
            await put("ses_2", str(number))
        assert not second.done()
    await asyncio.gather(first, second)
