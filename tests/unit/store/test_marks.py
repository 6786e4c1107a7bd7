"""A data folder goes with one store."""

from pathlib import Path

import pytest

from roost.core.errors import ConfigError
from roost.store.marks import server_name
from roost.store.sqlite.store import open_store
from roost.testing.clock import FakeClock
from tests.postgres import Server
from tests.store_driver import AnyStore, databases, open_any, opened


def test_server_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = server_name(tmp_path)
    monkeypatch.setattr("socket.gethostname", lambda: "made-anew")
    assert server_name(tmp_path) == name


def test_name_that_a_crash_left_empty_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "server.id").write_text("")
    assert server_name(tmp_path)


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
async def test_folder_is_refused_by_another_database(
    store: AnyStore, folder: Path, clock: FakeClock, postgres_server: Server
) -> None:
    await store.close()
    own, databases[folder] = databases[folder], await postgres_server.database()
    with pytest.raises(ConfigError, match="belongs to another store"):
        await open_any(folder, clock)
    await postgres_server.give_back(databases[folder])
    databases[folder] = own
    async with opened(folder, clock):
        pass


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
async def test_folder_of_a_store_that_was_moved_is_not_opened_as_it_was_before(
    store: AnyStore, folder: Path, clock: FakeClock
) -> None:
    await store.close()
    with pytest.raises(ConfigError, match="Name that in ROOST_STORE again"):
        open_store(folder, clock=clock, version="test")
    (folder / "store.id").unlink()
    await open_store(folder, clock=clock, version="test").close()
