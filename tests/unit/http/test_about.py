"""What a Roost says of itself."""

import asyncio
import platform

from roost import __version__
from roost.core.ids import new_user_id
from roost.core.users import User
from tests.unit.http.served import Client, Served


async def test_everyone_is_told_which_roost_this_is(served: Served, browser: Client) -> None:
    found = await browser.get("/api/about")
    assert (found["version"], found["python"]) == (__version__, platform.python_version())
    assert found["store"]["kind"] == "sqlite"
    assert found["store"]["bytes"] >= 4096
    assert 0 < found["started_at"] <= served.engine.clock.now()
    assert found["sandbox"] == {"kind": None, "detail": "There are no tools that run commands."}


async def test_only_admins_are_told_where_it_is_and_whether_all_is_well(
    served: Served, browser: Client
) -> None:
    assert (await browser.get("/api/about"))["data"] == str(served.engine.config.data)
    bob = User(id=new_user_id(), name="Bob", role="member")
    await served.engine.store.users.create(bob)
    async with served.browser(bob.id) as member, served.program("read") as program:
        for other in (member, program):
            assert (await other.get("/api/about"))["data"] is None
            assert (await other.ask("GET", "/api/doctor"))[0] == 403


async def test_doctor_looks_at_what_the_command_looks_at(browser: Client) -> None:
    checks = {each["name"]: each for each in (await browser.get("/api/doctor"))["checks"]}
    assert list(checks) == [
        "Python",
        "SQLite",
        "Data folder",
        "Disk",
        "Store",
        "Schema",
        "Sandbox",
        "Model",
    ]
    assert (checks["Store"]["state"], checks["Store"]["detail"]) == ("ok", "whole")
    assert checks["Model"]["detail"] == "test/model, its provider answers"
    assert {each["state"] for each in checks.values()} <= {"ok", "warn"}


async def test_many_who_ask_get_one_look(served: Served) -> None:
    first, *others = await asyncio.gather(*[served.engine.app.doctor.look() for _ in range(5)])
    assert all(each is first for each in others)
