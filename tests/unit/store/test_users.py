"""Users, their settings and their secrets."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest
from msgspec.structs import replace

from roost.core.errors import Conflict, InvalidInput, NotFound, StoreError
from roost.core.ids import UserId, new_user_id
from roost.core.users import Caps, Profile, User
from roost.store.folder import KEY
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, opened
from tests.unit.store.tables import run_sql

pytestmark = pytest.mark.both


async def test_user_is_kept_as_given(store: Store, clock: FakeClock) -> None:
    new = User(id=new_user_id(), name="Ada", role="admin", time_zone="Europe/Zurich", locale="de")
    user = await store.users.create(new)
    assert user == replace(new, created_at=clock.now())
    assert await store.users.get(new.id) == user
    assert await store.users.all() == [user]


async def test_creating_a_user_again_changes_nothing(store: Store, ada: Driver) -> None:
    assert await store.users.create(replace(ada.user, role="member")) == ada.user
    assert await store.users.all() == [ada.user]


async def test_name_is_taken_once(store: Store, ada: Driver) -> None:
    with pytest.raises(InvalidInput, match="Ada"):
        await store.users.create(User(id=new_user_id(), name="Ada", role="member"))
    assert await store.users.all() == [ada.user]


async def test_unknown_user_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.users.get(UserId("usr_unknown"))


async def test_setting_is_the_last_one_put(ada: Driver) -> None:
    assert await ada.settings.get("theme") is None
    for value in ('"dark"', '"light"'):
        await ada.settings.put("theme", value)
        assert await ada.settings.get("theme") == value
    await ada.store.settings.put("theme", '"server"')
    assert await ada.settings.get("theme") == '"light"'


async def test_setting_is_replaced_if_it_is_as_it_was_seen(ada: Driver) -> None:
    assert await ada.settings.replace("theme", None, '"dark"')
    assert not await ada.settings.replace("theme", None, '"light"')
    assert await ada.settings.replace("theme", '"dark"', '"light"')
    assert not await ada.settings.replace("theme", '"dark"', '"grey"')
    assert await ada.settings.get("theme") == '"light"'


async def test_setting_that_is_replaced_again_after_a_lost_answer_is_as_asked(ada: Driver) -> None:
    for _ in range(2):
        assert await ada.settings.replace("theme", None, '"dark"')


async def test_stamp_of_secrets_is_another_after_each_change(ada: Driver) -> None:
    stamps = [await ada.secrets.stamp()]
    for value in ("sk-1", "sk-1", "sk-2"):
        await ada.secrets.put("openai", value)
        stamps.append(await ada.secrets.stamp())
        assert await ada.secrets.stamp() == stamps[-1]
    await ada.secrets.remove("openai")
    assert len(set(stamps)) == 4
    assert await ada.secrets.stamp() == stamps[0]


async def test_secret_is_replaced_listed_by_name_and_removed(ada: Driver) -> None:
    for value in ("sk-old", "sk-new \U0001f989"):
        await ada.secrets.put("openai", value)
    await ada.secrets.put("anthropic", "")
    assert await ada.secrets.get("openai") == "sk-new \U0001f989"
    assert await ada.secrets.get("anthropic") == ""
    assert await ada.secrets.names() == ["anthropic", "openai"]
    await ada.secrets.remove("openai")
    assert await ada.secrets.get("openai") is None


async def test_secrets_change_with_the_setting_they_belong_to_or_not_at_all(ada: Driver) -> None:
    await ada.secrets.put("old", "sk-old")
    assert await ada.secrets.replace("names", None, '["new"]', {"old": None, "new": "sk-new"})
    assert not await ada.secrets.replace("names", None, "[]", {"new": None, "old": "sk-late"})
    assert await ada.settings.get("names") == '["new"]'
    assert await ada.secrets.names() == ["new"]
    assert await ada.secrets.get("new") == "sk-new"


async def test_secret_stands_nowhere_in_the_files(ada: Driver, folder: Path) -> None:
    await ada.secrets.put("openai", "sk-very-secret")
    for path in folder.rglob("*"):
        if path.is_file():
            assert b"sk-very-secret" not in path.read_bytes(), path


async def test_secret_moved_to_another_row_does_not_open(
    ada: Driver, bob: Driver, folder: Path
) -> None:
    await ada.secrets.put("openai", "sk-ada")
    await run_sql(folder, f"UPDATE secrets SET user_id = '{bob.user.id}'")
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


async def test_names_differ_in_more_than_case(store: Store, ada: Driver, bob: Driver) -> None:
    with pytest.raises(InvalidInput):
        await store.users.create(User(id=new_user_id(), name="ADA", role="member"))
    with pytest.raises(InvalidInput):
        await store.users.change(bob.user.id, Profile(name="ada"))
    renamed = await store.users.change(ada.user.id, Profile(name="ADA", locale="de"))
    assert renamed == replace(ada.user, name="ADA", locale="de")
    assert await store.users.named(" ada") == renamed
    with pytest.raises(NotFound):
        await store.users.named("nobody")


async def test_owner_is_made_once_and_may_be_renamed(store: Store) -> None:
    def owner() -> Awaitable[User]:
        return store.users.owner(User(id=new_user_id(), name="owner", role="admin"))

    assert await store.users.find_owner("owner") is None
    first, *others = await asyncio.gather(*[owner() for _ in range(8)])
    assert all(other == first for other in others)
    await store.users.change(first.id, Profile(name="Ada"))
    await store.users.create(User(id=new_user_id(), name="owner", role="member"))
    assert (await owner()).id == first.id == await store.users.find_owner("owner")


async def test_owner_of_an_older_store_is_known_by_name(store: Store, ada: Driver) -> None:
    before = await store.users.create(User(id=new_user_id(), name="owner", role="admin"))
    assert await store.users.find_owner("owner") == before.id
    found = await store.users.owner(User(id=new_user_id(), name="owner", role="admin"))
    assert found == before


async def test_last_admin_stays_one(store: Store, ada: Driver, bob: Driver) -> None:
    change = store.users.change
    for refused in (change(ada.user.id, disabled=True), change(ada.user.id, role="member")):
        with pytest.raises(Conflict, match="last admin"):
            await refused
    assert await store.users.get(ada.user.id) == ada.user
    await change(bob.user.id, role="admin")
    await change(bob.user.id, disabled=True)
    for refused in (change(ada.user.id, disabled=True), change(ada.user.id, role="member")):
        with pytest.raises(Conflict):  # an admin who is disabled sees to nothing
            await refused
    await change(bob.user.id, role="member")
    await change(bob.user.id, role="admin", disabled=False)
    await change(ada.user.id, role="member")
    with pytest.raises(NotFound):
        await change(UserId("usr_unknown"), disabled=True)


async def test_change_that_is_refused_in_part_changes_nothing(
    store: Store, ada: Driver, bob: Driver
) -> None:
    with pytest.raises(Conflict):
        await store.users.change(ada.user.id, Profile(name="Augusta"), role="member")
    with pytest.raises(Conflict):
        await store.users.change(ada.user.id, Profile(locale="de"), disabled=True)
    with pytest.raises(InvalidInput):
        await store.users.change(bob.user.id, Profile(name="Ada"), role="admin")
    assert await store.users.get(ada.user.id) == ada.user
    assert await store.users.get(bob.user.id) == bob.user


@pytest.mark.parametrize("how", ["disable", "demote"])
async def test_admins_who_remove_one_another_at_once_leave_one(
    store: Store, ada: Driver, how: str
) -> None:
    admins = [ada.user.id]
    for number in range(7):
        new = User(id=new_user_id(), name=f"admin {number}", role="admin")
        admins.append((await store.users.create(new)).id)
    change = store.users.change
    removals = [
        change(each, disabled=True) if how == "disable" else change(each, role="member")
        for each in admins
    ]
    outcomes = await asyncio.gather(*removals, return_exceptions=True)
    assert [type(each) for each in outcomes].count(Conflict) == 1
    left = [user for user in await store.users.all() if user.role == "admin"]
    assert [user.disabled_at for user in left].count(None) == 1


async def test_password_is_replaced_only_by_who_knows_the_one_of_now(
    store: Store, ada: Driver
) -> None:
    users, id = store.users, ada.user.id
    assert not await users.replace_password(id, "guess", "new")
    assert await users.replace_password(id, None, "first")
    assert (await users.get(id)).has_password
    assert await users.password(id) == "first"
    assert not await users.replace_password(id, None, "second")
    assert await users.replace_password(id, "first", "second")
    assert await users.replace_password(id, "first", "second"), "asked again"
    found = await users.credentials("ADA")
    assert found is not None
    assert (found.user, found.password) == (id, "second")
    assert "second" not in repr(found)
    assert await users.credentials("nobody") is None


async def test_disabled_user_has_no_credentials(store: Store, ada: Driver, bob: Driver) -> None:
    await store.users.set_password(bob.user.id, "hash")
    await store.users.change(bob.user.id, disabled=True)
    assert await store.users.credentials("Bob") is None
    assert not await store.users.replace_password(bob.user.id, "hash", "new")
    await store.users.change(bob.user.id, disabled=False)
    assert await store.users.credentials("Bob") is not None


async def test_caps_are_kept_where_users_can_not_write(store: Store, bob: Driver) -> None:
    assert await store.users.caps(bob.user.id) == Caps()
    await store.users.set_caps(bob.user.id, Caps(day_tokens=5, day_cost=0.5))
    for name in ("caps", f"caps/{bob.user.id}"):
        await bob.settings.put(name, "{}")
    assert await store.users.caps(bob.user.id) == Caps(day_tokens=5, day_cost=0.5)
    assert await store.of(bob.user.id).caps.get() == Caps(day_tokens=5, day_cost=0.5)
    with pytest.raises(NotFound):
        await store.users.set_caps(UserId("usr_unknown"), Caps())
