"""Users, their settings and their secrets."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from roost.core.errors import InvalidInput, NotFound, StoreError
from roost.core.ids import UserId, new_user_id
from roost.core.users import User
from roost.store.folder import DATABASE, KEY
from roost.store.sqlite.connect import connect_writer
from roost.store.sqlite.store import SqliteStore
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, opened


async def test_user_is_kept_as_given(store: SqliteStore, clock: FakeClock) -> None:
    new = User(id=new_user_id(), name="Ada", role="admin", time_zone="Europe/Zurich", locale="de")
    user = await store.users.create(new)
    assert user == replace(new, created_at=clock.now())
    assert await store.users.get(new.id) == user
    assert await store.users.all() == [user]


async def test_creating_a_user_again_changes_nothing(store: SqliteStore, ada: Driver) -> None:
    assert await store.users.create(replace(ada.user, role="member")) == ada.user
    assert await store.users.all() == [ada.user]


async def test_name_is_taken_once(store: SqliteStore, ada: Driver) -> None:
    with pytest.raises(InvalidInput, match="Ada"):
        await store.users.create(User(id=new_user_id(), name="Ada", role="member"))
    assert await store.users.all() == [ada.user]


async def test_unknown_user_is_not_found(store: SqliteStore) -> None:
    with pytest.raises(NotFound):
        await store.users.get(UserId("usr_unknown"))


async def test_setting_is_the_last_one_put(ada: Driver) -> None:
    assert await ada.settings.get("theme") is None
    for value in ('"dark"', '"light"'):
        await ada.settings.put("theme", value)
        assert await ada.settings.get("theme") == value
    await ada.store.settings.put("theme", '"server"')
    assert await ada.settings.get("theme") == '"light"'


async def test_secret_is_replaced_listed_by_name_and_removed(ada: Driver) -> None:
    for value in ("sk-old", "sk-new \U0001f989"):
        await ada.secrets.put("openai", value)
    await ada.secrets.put("anthropic", "")
    assert await ada.secrets.get("openai") == "sk-new \U0001f989"
    assert await ada.secrets.get("anthropic") == ""
    assert await ada.secrets.names() == ["anthropic", "openai"]
    await ada.secrets.remove("openai")
    assert await ada.secrets.get("openai") is None


async def test_secret_stands_nowhere_in_the_files(ada: Driver, folder: Path) -> None:
    await ada.secrets.put("openai", "sk-very-secret")
    for path in folder.rglob("*"):
        if path.is_file():
            assert b"sk-very-secret" not in path.read_bytes(), path


async def test_secret_moved_to_another_row_does_not_open(
    ada: Driver, bob: Driver, folder: Path
) -> None:
    await ada.secrets.put("openai", "sk-ada")
    database = connect_writer(folder / DATABASE)
    database.rows("UPDATE secrets SET user_id = ?", (bob.user.id,))
    database.close()
    with pytest.raises(StoreError, match="another key"):
        await bob.secrets.get("openai")


async def test_secret_needs_the_key_it_was_sealed_with(tmp_path: Path, clock: FakeClock) -> None:
    async with opened(tmp_path, clock) as store:
        await store.secrets.put("openai", "sk-1")
    async with opened(tmp_path, clock) as store:
        assert await store.secrets.get("openai") == "sk-1"
    (tmp_path / KEY).unlink()
    async with opened(tmp_path, clock) as store:
        with pytest.raises(StoreError, match="enter the secret again"):
            await store.secrets.get("openai")
