"""`roost user`: everybody who may use Roost, seen to from the command line."""

import asyncio
import io
import sys
from pathlib import Path

import pytest

from roost.cli.app import invoke
from roost.cli.user import base_url
from roost.core.clock import SystemClock
from roost.core.config import Config, ServerConfig
from roost.core.identities import SignedIn
from roost.core.settings import Port
from roost.core.users import Caps
from roost.runtime.identities import Identities
from roost.testing import faults
from tests.identities import HOME, RIGHT
from tests.store_driver import opened


class Desk:
    """Runs commands on one data folder, and keeps what they say."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def ask(self, *words: str, code: int = 0) -> str:
        assert invoke([*words, "--data", str(self.folder)]) == code
        captured = self._capsys.readouterr()
        return captured.err if code else captured.out


@pytest.fixture
def desk(begun: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(begun, capsys)


def sign_in(folder: Path, name: str | None, secret: str) -> SignedIn:
    """By a password, or, without a name, by a link."""

    async def work() -> SignedIn:
        clock = SystemClock()
        async with opened(folder, clock) as store:
            identities = Identities(store, clock)
            if name is None:
                return await identities.sign_in_with_link(secret, None)
            return await identities.sign_in_with_password(name, secret, None, HOME)

    return asyncio.run(work())


def listed(desk: Desk) -> list[list[str]]:
    return [line.split("  ")[:3] for line in desk.ask("user", "list").splitlines()]


def test_new_folder_has_its_owner(desk: Desk) -> None:
    assert listed(desk) == [["owner", "admin", "link"]]


def test_link_signs_in_and_stands_after_the_hash(desk: Desk) -> None:
    for words, name in (((), "owner"), (("Owner",), "owner")):
        base, secret = desk.ask("user", "link", *words).strip().split("#")
        assert base == "http://127.0.0.1:7667/sign-in"
        assert sign_in(desk.folder, None, secret).user.name == name


def test_added_user_gets_a_link(desk: Desk) -> None:
    _, secret = desk.ask("user", "add", "Ada Lovelace", "--admin").strip().split("#")
    signed_in = sign_in(desk.folder, None, secret)
    assert (signed_in.user.name, signed_in.user.role) == ("Ada Lovelace", "admin")
    assert "There is a user called ada lovelace already." in desk.ask(
        "user", "add", "ada lovelace", code=2
    )


def test_password_is_read_from_the_input(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{RIGHT}\n"))
    assert RIGHT not in desk.ask("user", "password")
    assert sign_in(desk.folder, "owner", RIGHT).user.name == "owner"
    assert listed(desk) == [["owner", "admin", "password"]]
    monkeypatch.setattr(sys, "stdin", io.StringIO("short\n"))
    assert "short" not in desk.ask("user", "password", code=2)


def test_roles_and_doors(desk: Desk) -> None:
    desk.ask("user", "add", "Ada")
    assert desk.ask("user", "role", "ada", "admin") == "Ada is an admin now.\n"
    assert "shut out" in desk.ask("user", "disable", "owner")
    assert "last admin" in desk.ask("user", "disable", "Ada", code=1)
    assert "last admin" in desk.ask("user", "role", "Ada", "member", code=1)
    assert "disabled" in desk.ask("user", "link", code=1)
    assert listed(desk) == [["owner", "admin", "disabled"], ["Ada", "admin", "link"]]
    assert desk.ask("user", "enable", "owner") == "owner may sign in again.\n"
    assert desk.ask("user", "role", "Ada", "member") == "Ada is a member now.\n"


def test_removed_user_is_gone(desk: Desk) -> None:
    desk.ask("user", "add", "Ada", "--admin")
    assert desk.ask("user", "remove", "ada") == "Ada is gone, and all that was theirs.\n"
    assert listed(desk) == [["owner", "admin", "link"]]
    assert "acts for this user" in desk.ask("user", "remove", "owner", code=1)


def test_owner_keeps_what_is_theirs_under_another_name(desk: Desk) -> None:
    assert desk.ask("user", "rename", "owner", "Ada") == "owner is called Ada now.\n"
    assert desk.ask("user", "add", "owner")
    _, secret = desk.ask("user", "link").strip().split("#")
    assert sign_in(desk.folder, None, secret).user.name == "Ada"


def test_caps(desk: Desk) -> None:
    said = desk.ask("user", "cap", "owner", "--day-tokens", "5000", "--day-cost", "0.5")
    assert said == "owner may take 5,000 tokens and $0.5 a day.\n"

    async def caps() -> Caps:
        async with opened(desk.folder, SystemClock()) as store:
            return await store.users.caps((await store.users.named("owner")).id)

    assert asyncio.run(caps()) == Caps(day_tokens=5000, day_cost=0.5)
    assert desk.ask("user", "cap", "owner") == "owner may take any number of tokens a day.\n"
    assert asyncio.run(caps()) == Caps()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("link", "nobody"), 1),
        (("role", "owner", "king"), 2),
        (("rename", "owner", " "), 2),
        (("cap", "owner", "--day-cost", "-1"), 2),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, words: tuple[str, ...], code: int) -> None:
    assert desk.ask("user", *words, code=code)


def test_lost_answer_is_asked_for_again(desk: Desk) -> None:
    desk.ask("user", "list")
    with faults.failing("store.commit.after"):
        desk.ask("user", "add", "Ada")
    assert [name for name, _, _ in listed(desk)] == ["owner", "Ada"]


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),  # noqa: S104
        ("::", "http://[::1]:80"),
        ("2001:db8::1", "http://[2001:db8::1]:80"),
        ("nest.example", "http://nest.example:80"),
    ],
)
def test_address_can_be_opened(tmp_path: Path, host: str, shown: str) -> None:
    config = Config(data=tmp_path, server=ServerConfig(host=host, port=Port(80)))
    assert base_url(config) == shown
