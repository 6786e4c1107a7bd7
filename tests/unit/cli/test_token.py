"""`roost token`: tokens for programs, shown once, listed without their secrets."""

import asyncio
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.errors import NotSignedIn
from roost.core.identities import Principal, could_be_token
from roost.runtime.identities import Identities
from tests.store_driver import opened
from tests.unit.cli.test_user import Desk


@pytest.fixture
def desk(begun: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(begun, capsys)


def bearer(folder: Path, token: str) -> Principal | None:
    async def work() -> Principal | None:
        clock = SystemClock()
        async with opened(folder, clock) as store:
            try:
                return await Identities(store, clock).authenticate(bearer=token)
            except NotSignedIn:
                return None

    return asyncio.run(work())


def test_token_is_all_that_a_program_reads(desk: Desk) -> None:
    secret = desk.ask("token", "create", "laptop").strip()
    assert could_be_token(secret)
    found = bearer(desk.folder, secret)
    assert found is not None
    assert (found.user.name, found.scopes) == ("owner", {"chat"})
    listed = desk.ask("token", "list")
    assert secret not in listed
    assert listed.split("  ")[1:] == ["laptop", "owner", "chat", "never", "for ever\n"]


def test_token_for_another_user_with_scopes_and_an_end(desk: Desk) -> None:
    desk.ask("user", "add", "Ada")
    words = ("--user", "ada", "--scope", "read", "--scope", "chat", "--days", "1")
    secret = desk.ask("token", "create", "x", *words).strip()
    found = bearer(desk.folder, secret)
    assert found is not None
    assert (found.user.name, found.scopes) == ("Ada", {"read", "chat"})
    assert "  chat read  " in desk.ask("token", "list", "--user", "Ada")
    assert "There are no tokens" in desk.ask("token", "list", "--user", "owner")
    create = ("token", "create", "y", "--user", "Ada")
    assert "'admin'" in desk.ask(*create, "--scope", "admin", code=1)
    assert "at least a second" in desk.ask(*create, "--days", "0", code=2)


@pytest.mark.parametrize("by", ["id", "all of it"])
def test_token_is_revoked_by_its_id_or_by_what_leaked(desk: Desk, by: str) -> None:
    secret = desk.ask("token", "create", "laptop").strip()
    id = desk.ask("token", "list").split("  ")[0]
    said = desk.ask("token", "revoke", id if by == "id" else secret)
    assert said == f"{id} is of no use any more.\n"
    assert bearer(desk.folder, secret) is None
    assert "There are no tokens" in desk.ask("token", "list")
    assert "There is no token tok_x here." in desk.ask("token", "revoke", "tok_x", code=1)
