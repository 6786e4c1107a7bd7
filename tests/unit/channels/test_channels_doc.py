"""What docs/channels.md shows works as it stands there."""

import asyncio
import json
import re
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from starlette.applications import Starlette

from roost.channels.base import HookCall, HookReply, Piece
from roost.channels.registry import Registry
from roost.channels.webhook.channel import WebhookChannel, WebhookOptions
from roost.core.errors import ConfigError
from roost.core.keys import Key
from roost.http.hooks import hook_routes
from tests.fakes.inlet import MemoryInlet
from tests.fakes.running import running
from tests.unit.http.serving import served_at

DOC = Path(__file__).parents[3] / "docs" / "channels.md"
SECRET = "a secret of both sides"  # noqa: S105


def shown(language: str, words: str) -> str:
    """The block of code with these words in it."""
    blocks = re.findall(rf"```{language}\n(.*?)```", DOC.read_text(), re.DOTALL)
    (found,) = [block for block in blocks if words in block]
    return found


async def test_the_webhooks_client_says_something_and_prints_the_answer(tmp_path: Path) -> None:
    script = tmp_path / "say.py"
    script.write_text(shown("python", "Says something to Roost"))
    channel, inlet = WebhookChannel("desk", WebhookOptions(SECRET)), MemoryInlet()

    async def receive(_: str, call: HookCall) -> HookReply:
        return await channel.hook(call)

    async with running(channel, inlet), served_at(Starlette(routes=hook_routes(receive))) as url:
        await inlet.up.wait()
        client = await asyncio.create_subprocess_exec(
            sys.executable,
            str(script),
            "What is a rook?",
            env={"HOOK_URL": f"{url}/hooks/desk", "HOOK_SECRET": SECRET},
            stdout=asyncio.subprocess.PIPE,
        )
        (inbound,) = await inlet.until_kept(1)
        assert inbound.text == "What is a rook?"
        await channel.deliver(inbound.place.address, Piece("A bird."), key="k1")
        printed, _ = await client.communicate()
    assert printed == b"A bird.\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """The example's package, as if it were installed."""
    (tmp_path / "roost_spool.py").write_text(shown("python", "A channel of files"))
    points = shown("toml", "roost_spool").replace('project.entry-points."roost.channels"', "{}")
    info = tmp_path / "roost_spool-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: roost-spool\nVersion: 1\n")
    points = points.format("roost.channels").replace('"', "")
    (info / "entry_points.txt").write_text(points)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield
    sys.modules.pop("roost_spool", None)


@pytest.mark.usefixtures("package")
async def test_the_channel_of_a_package_is_found_and_works(tmp_path: Path) -> None:
    registry, inlet = Registry(), MemoryInlet()
    assert "spool" in registry.kinds()
    channel = registry.make("spool", "box", {"folder": Key(str(tmp_path / "box"))})
    async with running(channel, inlet):
        await asyncio.wait_for(inlet.up.wait(), 60)
        said = tmp_path / "box" / "in" / "1.json"
        said.write_text(json.dumps({"from": "ann", "text": "hello"}))
        (inbound,) = await inlet.until_kept(1)
        assert inbound.place.address == "box:dm:ann"
        await channel.deliver(inbound.place.address, Piece("Hello, Ann."), key="k1")
        name = await channel.deliver(inbound.place.address, Piece("Hello, Ann."), key="k1")
    (left,) = (tmp_path / "box" / "out").iterdir()
    assert left.name == name
    assert json.loads(left.read_text()) == {"to": "ann", "text": "Hello, Ann."}


@pytest.mark.usefixtures("package")
def test_a_packages_channel_says_what_it_lacks() -> None:
    with pytest.raises(ConfigError, match="folder"):
        Registry().make("spool", "box", {})


def test_slacks_manifest_is_whole() -> None:
    manifest = json.loads(shown("json", "display_information"))
    scopes = set(manifest["oauth_config"]["scopes"]["bot"])
    table = DOC.read_text().partition("| scope |")[2].partition("\n\n")[0]
    named = [row.split("|")[1] for row in table.splitlines()[1:]]

    assert set(re.findall(r"`([a-z_.:]+)`", " ".join(named))) == scopes
    assert manifest["settings"]["interactivity"]["is_enabled"]
