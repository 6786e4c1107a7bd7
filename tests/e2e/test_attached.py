"""Commands beside a running server: they go to it, and say and do the same as without one."""

import asyncio
import json
import re
import signal
import stat
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.client.place import FILE
from roost.core.identities import TOKEN
from roost.testing.models import ModelRequest, ModelServer, Reply, echo, say, stall
from tests.e2e import command
from tests.e2e.chat_terminal import CTRL_C, CTRL_D, ENTER, terminal
from tests.e2e.command import Roost
from tests.e2e.test_http_tls import certificate

pytestmark = pytest.mark.timeout(600)  # some start forty processes, one after the other

SESSION = re.compile(r"ses_[0-9a-z]{26}")


@pytest.fixture
def answers() -> dict[str, Reply]:
    """What is answered to messages that end like this."""
    return {}


@pytest.fixture
async def server(answers: dict[str, Reply]) -> AsyncGenerator[ModelServer]:
    def answer(request: ModelRequest) -> Reply:
        if b"Give this conversation a title" in request.body:
            return say("Of herons")
        found = [reply for words, reply in answers.items() if request.last_text.endswith(words)]
        return found[0] if found else echo()

    async with ModelServer(otherwise=answer) as server:
        yield server


@pytest.fixture
def roost(roost: Roost, server: ModelServer) -> Roost:
    folder = roost.home / ".config" / "roost"
    folder.mkdir(parents=True)
    (folder / "roost.toml").write_text(
        "[models]\ndefault = 'nest/heron'\n[memory]\nprovider = 'none'\n"
        f"[providers.nest]\nbase_url = {server.openai_url!r}\nmodels = ['heron', 'owl']\n"
    )
    return roost


def data(roost: Roost) -> Path:
    return roost.home / ".local" / "share" / "roost"


def asked(server: ModelServer) -> list[str]:
    """The requests that are part of a conversation."""
    bodies = [request.body.decode() for request in server.requests]
    return [body for body in bodies if "Give this conversation" not in body]


# The credential.


async def test_credential_is_for_this_user_alone_and_gone_after_the_stop(roost: Roost) -> None:
    file = data(roost) / FILE
    async with roost.running("--log-level", "debug") as running:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        token = json.loads(file.read_text())["token"]
        assert TOKEN.fullmatch(token)
        listed = await roost("token", "list")
        assert listed == (0, "There are no tokens. Make one with `roost token create NAME`.\n", "")
        stopped = await running.stop(signal.SIGTERM)
    assert not file.exists()
    assert "/api/users" in stopped.err
    assert token.split("_")[2] not in stopped.out + stopped.err


async def test_credential_of_a_killed_server_is_recognised(roost: Roost) -> None:
    async with roost.running() as running:
        await running.stop(signal.SIGKILL)
    left = (data(roost) / FILE).read_bytes()
    assert (await roost("sessions", "list")) == (0, "There are no sessions yet.\n", "")
    async with roost.running():
        assert (data(roost) / FILE).read_bytes() != left
        assert (await roost("sessions", "list")).code == 0


async def test_second_server_says_where_the_first_is(roost: Roost) -> None:
    async with roost.running() as running:
        second = await roost("run", "--port", "0")
        assert (second.code, second.out) == (1, "")
        assert f"in use by process {running.process.pid}" in second.err
        assert f"at {running.address}." in second.err


async def test_server_with_a_certificate_is_known_by_it(roost: Roost, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    roost.environ |= {"ROOST_SERVER_TLS_CERT": str(cert), "ROOST_SERVER_TLS_KEY": str(key)}
    async with roost.running() as running:
        assert (await roost("chat", "hi")).code == 0
        assert (await roost("user", "link")).out.startswith(f"{running.address}/sign-in#")
        left = data(roost) / FILE
        text = left.read_text()
        left.write_text(re.sub(r'"certificate":"..', '"certificate":"00', text))
        refused = await roost("sessions", "list")
    assert (refused.code, refused.out) == (1, "")
    assert "another certificate" in refused.err


# Talking.


@pytest.mark.contract("E4")
async def test_what_starts_beside_a_server_goes_on_without_it(
    roost: Roost, server: ModelServer, answers: dict[str, Reply]
) -> None:
    answers |= {"Good morning.": say("Good **day**."), "And now?": say("Night.\n")}
    async with roost.running() as running:
        assert await roost("chat", typed="Good morning.\n") == (0, "Good **day**.\n", "")
        await running.stop(signal.SIGTERM)
    assert await roost("chat", "And now?") == (0, "Night.\n", "")
    async with roost.running():
        assert (await roost("chat", "Still there?")).code == 0
    first, second, third = asked(server)
    assert "And now?" not in first
    assert all(words in second for words in ("Good morning.", "Good **day**.", "And now?"))
    assert all(words in third for words in ("Good morning.", "Night.", "Still there?"))


async def test_interrupt_stops_the_turn_at_the_server(
    roost: Roost, server: ModelServer, answers: dict[str, Reply]
) -> None:
    answers["hi"] = say("One two") + stall()
    async with roost.running():
        process = await roost.start("chat", "hi")
        assert process.stdout is not None
        async with asyncio.timeout(command.DEADLINE):  # what was sent may still be on its way
            assert await process.stdout.readexactly(7) == b"One two"
        process.send_signal(signal.SIGINT)
        stopped = await command.outcome(process)
        assert stopped == (130, "\n", "Stopped. What it said is kept.\n")


async def test_mistakes_are_told_in_the_same_words(roost: Roost) -> None:
    mistakes = [
        ("chat", "hi", "--session", "ses_nobody"),
        ("chat", "hi", "--model", "zebra/x"),
        ("sessions", "show", "ses_nobody"),
        ("sessions", "export", "nothing like an id"),
        ("user", "role", "nobody", "admin"),
        ("token", "revoke", "tok_nothing"),
        ("token", "create", " "),
        ("user", "add", "owner"),
    ]
    alone = [await roost(*mistake) for mistake in mistakes]
    async with roost.running():
        beside = [await roost(*mistake) for mistake in mistakes]
    for mistake, one, other in zip(mistakes, alone, beside, strict=True):
        assert (one.code, one.out) == (other.code, other.out), mistake
        assert one.code in (1, 2)
        assert len(other.err.splitlines()) == 1
        assert one.err.replace("'", "") == other.err.replace("'", ""), mistake


@pytest.mark.contract("D11")
async def test_two_terminals_see_the_same(roost: Roost, answers: dict[str, Reply]) -> None:
    answers |= {
        "What is a heron?": say("A **bird**.\n\n- gray\n- tall\n"),
        "Count.": say("One two") + stall(),
    }
    async with roost.running() as running, terminal(roost) as one:
        assert f", at {running.address}." in await one.prompt()
        async with terminal(roost) as other:
            await other.prompt()
            one.type("What is a heron?" + ENTER)
            await one.until("tall")
            await other.until("tall")
            assert "> What is a heron?\n\nA bird.\n\n • gray\n • tall" in await other.prompt()
            await one.prompt()
            one.type("Count." + ENTER)
            await one.until("One two")
            await other.until("One two")
            other.type(CTRL_C)  # stops it, wherever it was begun
            await other.until("Stopped. What it said is kept.")
            await one.until("Stopped. What it said is kept.")
            await one.prompt()
            one.type("/undo" + ENTER)
            await one.until("Taken back: “Count.”.")
            other.type(CTRL_D)
            assert await other.over() == 0
        await one.prompt()
        one.type("/model owl" + ENTER)
        await one.until("nest/owl answers from now on.")
        await one.prompt()
        one.type("/sessions" + ENTER)
        await one.until("this one")
        await one.prompt()
        one.type("/quit" + ENTER)
        assert await one.over() == 0


async def test_chat_waits_for_a_server_that_is_restarted(
    roost: Roost, server: ModelServer, answers: dict[str, Reply]
) -> None:
    answers["And now?"] = say("Night.")
    async with roost.running() as running, terminal(roost) as here:
        await here.prompt()
        await running.stop(signal.SIGTERM)
        await here.until("The server stopped.")
        async with roost.running():
            await here.until("The server is back.")
            here.type("And now?" + ENTER)
            await here.until("Night.")
            await here.prompt()
            here.type(CTRL_D)
            assert await here.over() == 0


async def test_message_that_nobody_took_can_be_sent_once_the_server_is_back(
    roost: Roost, server: ModelServer, answers: dict[str, Reply]
) -> None:
    answers["And now?"] = say("Night.")
    async with roost.running() as running, terminal(roost) as here:
        await here.prompt()
        await running.stop(signal.SIGTERM)
        await here.until("The server stopped.")
        here.type("And now?" + ENTER)  # it waits a while
        async with roost.running():
            await here.until("Night.")
            await here.prompt()
            here.type(CTRL_D)
            assert await here.over() == 0
    assert len(asked(server)) == 1


async def test_message_that_waits_for_a_server_can_be_taken_back(
    roost: Roost, server: ModelServer, answers: dict[str, Reply]
) -> None:
    answers["And now?"] = say("Night.")
    async with roost.running() as running, terminal(roost) as here:
        await here.prompt()
        await running.stop(signal.SIGTERM)
        await here.until("The server stopped.")
        here.type("And now?" + ENTER)
        await here.until("Ctrl-C takes it back.")
        here.type(CTRL_C)
        await here.until("Nobody has confirmed the message yet.")
        assert "And now?" in (await here.prompt()).splitlines()[-1]  # to be sent again
        async with roost.running():
            here.type(ENTER)
            await here.until("Night.")
            await here.prompt()
            here.type(CTRL_D)
            assert await here.over() == 0
    assert len(asked(server)) == 1


# Looking after it.


async def test_sessions_are_looked_after_the_same_way(roost: Roost, tmp_path: Path) -> None:
    async with roost.running() as running:
        await _look_after_sessions(roost, tmp_path / "beside.json")
        await running.stop(signal.SIGTERM)
    await _look_after_sessions(roost, tmp_path / "alone.json")


async def _look_after_sessions(roost: Roost, file: Path) -> None:
    assert (await roost("chat", "--new", "Talk of herons")).code == 0
    listed = await roost("sessions", "list", "--limit", "1")
    (id,) = SESSION.findall(listed.out)
    assert await roost("sessions", "rename", id, "My herons") == (
        0,
        f"{id} is called My herons now.\n",
        "",
    )
    assert f"{id}  " in (await roost("sessions", "list", "my", "HERONS")).out
    shown = (await roost("sessions", "show", id)).out
    assert f"Session  {id}\nTitle    My herons\n" in shown
    assert "Talk of herons" in shown
    found = await roost("sessions", "search", "herons")
    assert (found.code, found.err) == (0, "")
    assert id in found.out
    assert (await roost("sessions", "search", "zebras")).out == "Nothing that was said matches.\n"
    assert (await roost("sessions", "export", id, str(file))).code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "Talk of herons" in (await roost("sessions", "export", id, "--format", "markdown")).out
    assert "was here already" in (await roost("sessions", "import", str(file))).out
    assert (await roost("sessions", "end", id)).out == f"Ended {id}, My herons.\n"
    assert (await roost("sessions", "delete", id, "ses_unknown")).code == 1
    assert (await roost("sessions", "delete", id)).out == f"Deleted {id}, My herons.\n"
    assert (await roost("sessions", "show", id)).code == 1
    used = await roost("usage")
    assert "  nest/heron  " in used.out


async def test_people_and_tokens_are_looked_after_beside_the_server(roost: Roost) -> None:
    async with roost.running() as running:
        added = await roost("user", "add", "Ada")
        assert added.out.startswith(f"{running.address}/sign-in#")
        assert [
            line.split("  ")[:3] for line in (await roost("user", "list")).out.splitlines()
        ] == [
            ["owner", "admin", "link"],
            ["Ada", "member", "link"],
        ]
        for words in (
            ("role", "ada", "admin"),
            ("rename", "Ada", "Ada L."),
            ("cap", "Ada L.", "--day-tokens", "1000"),
            ("disable", "Ada L."),
            ("enable", "Ada L."),
            ("link",),
        ):
            assert (await roost("user", *words)).code == 0, words
        assert (await roost("user", "password", typed="a long password\n")).code == 0
        made = await roost("token", "create", "script", "--user", "Ada L.", "--scope", "read")
        assert TOKEN.fullmatch(made.out.strip())
        listed = (await roost("token", "list")).out
        assert "  script  Ada L.  read  never  for ever" in listed
        assert (await roost("token", "revoke", made.out.strip())).code == 0
        assert (await roost("token", "list")).out.startswith("There are no tokens.")
        backed_up = await roost("backup", "copy")
        assert backed_up.code == 0
        assert not (roost.home / "copy" / FILE).exists()


async def test_looking_does_not_begin_anything(
    roost: Roost, server: ModelServer, answers: dict[str, Reply]
) -> None:
    """A turn that was cut by a crash goes on with the next server, not with the next command."""
    answers["Count."] = say("One two") + stall()
    async with roost.running() as running:
        chat = await roost.start("chat", "Count.")
        await (await server.request(0)).stalled()
        await running.stop(signal.SIGKILL)
        chat.kill()
        await chat.communicate()
    asked_before = len(asked(server))
    for _ in range(2):
        assert (await roost("sessions", "list")).code == 0
    assert len(asked(server)) == asked_before
    answers |= {"Count.": say("One two three"), "</note>": say(" three")}
    async with roost.running(), asyncio.timeout(command.DEADLINE):
        await server.request(asked_before)


async def test_doctor_asks_the_server(roost: Roost) -> None:
    roost.environ["ROOST_SERVER_PORT"] = "0"
    async with roost.running() as running:
        examined = await roost("doctor")
        assert (examined.code, examined.err) == (0, "")
        assert re.search(rf"good +Server +{re.escape(running.address)}, ready", examined.out)
