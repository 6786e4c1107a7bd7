"""A file that the agent gives to the person: the real tool, libraries and store."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.config import WorkspacesConfig
from roost.core.ids import UserId
from roost.core.messages import sent_files
from roost.testing.models import ModelServer, call, say
from roost.tools.ask_user import ASK_USER
from roost.tools.base import ToolContext
from roost.tools.files import file_tools
from roost.workspace.workspaces import Workspaces
from tests.engine import Engine, FunctionTool, eventually
from tests.fakes.discord_server import led_to, served
from tests.fakes.slack import APP_TOKEN, fake_slack
from tests.fakes.slack import TOKEN as SLACK_TOKEN
from tests.fakes.telegram import TOKEN, FakeTelegram, fake_telegram
from tests.fakes.telegram_calls import LOST_ANSWER, Trouble
from tests.platforms import answered, connected
from tests.unit.tools.test_sending import PNG

HOME = "telegram:dm:42"
WRITE = call("write_file", {"path": "plan.txt", "content": "All of it"})
SEND = call("send_file", {"path": "plan.txt"})

pytestmark = pytest.mark.both


@pytest.fixture
async def fake() -> AsyncGenerator[FakeTelegram]:
    async with fake_telegram() as fake:
        yield fake


async def _anyone(user: UserId) -> bool:
    return True


@asynccontextmanager
async def with_channel(
    folder: Path, server: ModelServer, name: str, options: Mapping[str, str]
) -> AsyncGenerator[Engine]:
    """With the real file tools, and one that draws."""
    clock = SystemClock()
    root = folder / "workspaces"
    workspaces = Workspaces(None, root, WorkspacesConfig(), clock=clock, is_admin=_anyone)

    async def draw(arguments: str, context: ToolContext) -> str:
        workspace = await workspaces.of(context.user, context.session)
        (workspace.ground.home.host / "rook.png").write_bytes(PNG)
        return "drawn"

    tools = (*file_tools(workspaces), ASK_USER, FunctionTool("draw", draw))
    engine = Engine(folder, server, clock=clock, tools=tools, workspaces=workspaces)
    async with connected(engine, name, options, allow="42"):
        yield engine


def roost(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> AbstractAsyncContextManager[Engine]:
    return with_channel(folder, server, "telegram", {"token": TOKEN, "api": fake.url})


def files(fake: FakeTelegram) -> list[tuple[str, str, bytes]]:
    return [sent.file for sent in fake.sent if sent.file is not None]


@pytest.mark.contract("E2")
async def test_file_of_the_workspace_comes_with_the_answer(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    server.plan(WRITE, SEND, say("Here is the plan."), model="model")
    async with roost(folder, server, fake) as engine:
        await fake.say("Write the plan")
        await answered(engine, HOME)
        session = await engine.account.current(HOME)
        assert session is not None
        parts = [message.parts for message in await engine.messages(session)]

    assert files(fake) == [("document", "plan.txt", b"All of it")]
    assert "Here is the plan." in [sent.text for sent in fake.sent]
    # The same for whoever looks at the session in the browser; the model is not shown it again.
    assert [file.name for part in parts for file in sent_files(part)] == ["plan.txt"]
    asked = [request.body for request in server.requests if request.model == "model"]
    assert b"plan.txt: the user has it" in asked[-1]
    assert len(re.findall(b"All of it", asked[-1])) == 1  # as it wrote it itself


async def test_picture_is_shown_as_one(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    send = call("send_file", {"path": "rook.png"})
    server.plan(call("draw", {}), send, say("There."), model="model")
    async with roost(folder, server, fake):
        await fake.say("Draw a rook")
        await fake.until(lambda: files(fake))

    assert files(fake) == [("photo", "rook.png", PNG)]


@pytest.mark.contract("E2")
@pytest.mark.parametrize("trouble", [Trouble(502, "Bad Gateway"), Trouble()])
async def test_file_arrives_once_in_spite_of_trouble(
    folder: Path, server: ModelServer, fake: FakeTelegram, trouble: Trouble
) -> None:
    fake.meet("sendDocument", trouble)
    server.plan(WRITE, SEND, say("Here."), model="model")
    async with roost(folder, server, fake) as engine:
        await fake.say("Write the plan")
        await answered(engine, HOME)

    assert len(files(fake)) == 1


@pytest.mark.contract("E2")
async def test_file_whose_confirmation_was_lost_is_sent_again(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    """Telegram knows no keys: at least once."""
    fake.meet("sendDocument", LOST_ANSWER)
    server.plan(WRITE, SEND, say("Here."), model="model")
    async with roost(folder, server, fake) as engine:
        await fake.say("Write the plan")
        await answered(engine, HOME)

    assert len(files(fake)) == 2


@pytest.mark.contract("E2")
async def test_file_that_can_not_be_delivered_is_kept_and_named(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    fake.blocked.add(42)
    server.plan(WRITE, SEND, say("Here."), model="model")
    async with roost(folder, server, fake) as engine:
        await fake.say("Write the plan")
        contacts = engine.parts.contacts
        found = await eventually(contacts.undelivered)

    assert found[-1].text == "plan.txt"
    assert "blocked" in found[-1].error


async def test_file_is_there_before_the_question_about_it(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    """Also if both are of one step."""
    ask = call("ask_user", {"question": "Is that it?"})
    server.plan(WRITE, SEND + ask, say("Good."), model="model")
    async with roost(folder, server, fake):
        await fake.say("Write the plan")
        await fake.until(lambda: any("Is that it?" in sent.text for sent in fake.sent))
        assert len(files(fake)) == 1
        await fake.say("Yes")
        await fake.until(lambda: any("Good." in sent.text for sent in fake.sent))

    assert len(files(fake)) == 1


async def test_file_that_was_asked_for_in_the_browser_is_seen_here_too(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    server.plan(say("Hello."), WRITE, SEND, say("There."), model="model")
    async with roost(folder, server, fake) as engine:
        await fake.say("Hello")
        await answered(engine, HOME)
        session = await engine.account.current(HOME)
        assert session is not None
        await engine.account.send(session, "Write the plan", route="web")
        await fake.until(lambda: any("There." in sent.text for sent in fake.sent))

    assert files(fake) == [("document", "plan.txt", b"All of it")]


async def test_file_arrives_on_discord(folder: Path, server: ModelServer) -> None:
    server.plan(WRITE, SEND, say("Here is the plan."), model="model")
    async with served() as fake:
        dm = fake.dm(fake.person("ann", id="42"))
        with led_to(fake.url):
            async with with_channel(folder, server, "discord", {"token": fake.token}):
                await fake.until(lambda: fake.gateway.connected)
                await fake.say("42", dm, "Write the plan")
                await fake.until(lambda: "Here is the plan." in fake.texts(dm))

        (sent,) = [message for message in fake.said() if message["attachments"]]
        assert sent["channel_id"] == dm
        assert fake.files["sent:plan.txt"] == b"All of it"


async def test_file_arrives_on_slack(folder: Path, server: ModelServer) -> None:
    server.plan(WRITE, SEND, say("Here is the plan."), model="model")
    async with fake_slack() as fake:
        options = {"token": SLACK_TOKEN, "app_token": APP_TOKEN, "api": fake.api}
        async with with_channel(folder, server, "slack", options):
            await fake.until(lambda: fake.sockets)
            await fake.say("Write the plan", user="42")
            await fake.until(lambda: any("Here is" in post.text for post in fake.sent()))

        (sent,) = fake.uploads.values()
        assert (sent.name, sent.data, sent.channel) == ("plan.txt", b"All of it", "D1")
