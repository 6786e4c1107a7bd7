"""Servers of tools in processes of their own: what they offer, and what becomes of calls."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
import structlog.testing

from roost.core.config import McpConfig
from roost.core.errors import ConfigError
from roost.core.ids import BlobId
from roost.core.messages import ImagePart, TextPart
from roost.core.settings import BaseUrl
from roost.tools.base import ToolError
from roost.tools.mcp.launching import Launcher
from roost.tools.mcp.offers import Offer
from roost.tools.mcp.server import McpServer
from roost.tools.mcp.servers import McpServers
from roost.workspace.local import LocalSandbox
from tests.mcp_server import PIXEL
from tests.seconds import within
from tests.unit.tools.calling import context_of, told, written
from tests.unit.tools.mcp.talking import SECONDS, answered, named, plain, real, talking, until

HIDDEN = "owl-hidden-42"


async def test_tools_are_listed_over_all_pages_under_the_servers_name(tmp_path: Path) -> None:
    async with talking(tmp_path, birds=plain()) as servers:
        names = [tool.schema.name for tool in servers.tools()]
    assert names[:4] == ["mcp_birds_echo", "mcp_birds_die", "mcp_birds_silence", "mcp_birds_pid"]
    assert names[4].startswith("mcp_birds_odd_name_")
    assert len(names) == 5  # without the two that no model could be told of


async def test_everything_that_a_tool_can_answer_reaches_the_model(tmp_path: Path) -> None:
    kept: list[tuple[bytes, str]] = []

    async def keep(data: bytes, media_type: str) -> BlobId:
        kept.append((data, media_type))
        return BlobId("0" * 64)

    async with talking(tmp_path, birds=real()) as servers:
        assert await told(named(servers, "mcp_birds_add"), a=1, b=2) == "3"
        assert '"Hedwig"' in await told(named(servers, "mcp_birds_owl"))
        papers = await told(named(servers, "mcp_birds_papers"))
        assert papers == "[file:///owls.txt]\nThey fly.\n\n[more: https://example.invalid/owls]"
        shown = await named(servers, "mcp_birds_picture").run("{}", context_of(keep=keep))
        assert shown.content == (TextPart("An owl:"), ImagePart(BlobId("0" * 64), "image/png"))
        assert kept == [(PIXEL, "image/png")]
        failed = await named(servers, "mcp_birds_fail").run("{}", context_of())
        assert failed.error
        assert "no owls today" in str(failed.content)
        wrong = await named(servers, "mcp_birds_add").run('{"a":"x"}', context_of())
        assert wrong.error


async def test_server_sees_nothing_of_roosts_environment(tmp_path: Path) -> None:
    assert len(os.environ) > 8
    async with talking(tmp_path, birds=real()) as servers:
        seen = (await told(named(servers, "mcp_birds_environment"))).split()
    assert set(seen) <= {"PATH", "LANG", "PWD", "LC_CTYPE", "SHLVL", "_", "OLDPWD", "TMPDIR"}


async def test_tool_asks_unless_it_only_reads(tmp_path: Path) -> None:
    async with talking(tmp_path, birds=real()) as servers:
        reading, writing = named(servers, "mcp_birds_add"), named(servers, "mcp_birds_owl")
    reads = await reading.intent(written(a=1, b=2), context_of())
    writes = await writing.intent(' { "x" : [1] }', context_of())
    assert reads is not None
    assert writes is not None
    assert (reads.asks, reading.parallel, writes.asks, writing.parallel) == (
        False,
        True,
        True,
        False,
    )
    assert (reads.subject, writes.subject) == ('add {"a":1,"b":2}', 'owl {"x":[1]}')


async def test_server_that_dies_is_started_again_and_says_so_meanwhile(tmp_path: Path) -> None:
    async with talking(tmp_path, birds=plain()) as servers:
        die, pid = named(servers, "mcp_birds_die"), named(servers, "mcp_birds_pid")
        before = await told(pid)
        with pytest.raises(ToolError, match="nobody knows whether it took effect"):
            await told(die)
        with pytest.raises(ToolError, match="is not there"):
            await told(pid)
        assert named(servers, "mcp_birds_pid") is not None  # still offered
        after = await answered(lambda: told(pid))
        assert after != before


async def test_call_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    async with talking(tmp_path, birds=plain(timeout=8)) as servers:
        with pytest.raises(ToolError, match="did not answer within 8 s"):
            await told(named(servers, "mcp_birds_silence"))
        assert await told(named(servers, "mcp_birds_echo"), x=1) == '{"x": 1}'


async def test_server_hears_that_a_call_was_cancelled(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with talking(tmp_path / "mcp", birds=real()) as servers:
        calling = asyncio.create_task(told(named(servers, "mcp_birds_hang"), mark=str(mark)))
        await until((tmp_path / "mark.began").exists)
        calling.cancel()
        await asyncio.wait([calling], timeout=SECONDS)
        assert calling.cancelled()
        await until(mark.exists)
        assert await told(named(servers, "mcp_birds_add"), a=1, b=2) == "3"


async def test_call_is_cancelled_at_once_even_if_the_server_does_not_listen(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path, birds=plain("deaf")) as servers:
        silence, echo = named(servers, "mcp_birds_silence"), named(servers, "mcp_birds_echo")
        calls = [
            asyncio.create_task(told(tool, words="x" * 1_000_000)) for tool in (silence, echo, echo)
        ]
        await asyncio.wait(calls, timeout=0.2)  # until nothing more goes into the pipe
        for call in calls:
            call.cancel()
        async with within(2):
            await asyncio.wait(calls)


async def test_new_tools_are_there_for_sessions_that_begin_later(tmp_path: Path) -> None:
    async with talking(tmp_path, birds=real()) as servers:
        begun = servers.tools()
        assert await told(named(servers, "mcp_birds_grow")) == "grown"
        await until(lambda: len(servers.tools()) == len(begun) + 1)
        assert '"Hedwig"' in await told(named(servers, "mcp_birds_another_owl"))
        assert await told(begun[0], a=2, b=2) == "4"


async def test_server_error_with_the_clients_own_number_is_only_an_error(tmp_path: Path) -> None:
    async with talking(tmp_path, birds=plain()) as servers:
        odd = servers.tools()[-1]
        with pytest.raises(ToolError, match="The server refused: there is no odd name"):
            await told(odd)
        assert await told(named(servers, "mcp_birds_echo")) == "{}"


async def test_old_server_that_can_not_stand_newer_questions_is_asked_as_it_wants(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path, birds=plain("strict")) as servers:
        await until(lambda: bool(servers.tools()))
        assert await told(named(servers, "mcp_birds_echo"), x=1) == '{"x": 1}'


async def test_broken_server_holds_up_nobody_and_says_why(tmp_path: Path) -> None:
    missing = McpConfig(command=("/nowhere/owl",))
    with structlog.testing.capture_logs() as logged:
        async with talking(tmp_path, bad=missing, birds=plain()) as servers:
            assert servers.tools()[0].schema.name == "mcp_birds_echo"
    (down, *_) = [line for line in logged if line["event"] == "a server of tools is down"]
    assert down["server"] == "bad"
    assert "not found" in down["why"]


async def test_server_that_never_answers_does_not_hold_up_the_start(tmp_path: Path) -> None:
    async with talking(tmp_path, mute=plain("mute", timeout=2)) as servers:
        assert servers.tools() == ()


async def test_errors_of_a_server_are_logged_up_to_a_limit_and_without_secrets(
    tmp_path: Path,
) -> None:
    with structlog.testing.capture_logs() as logged:
        async with talking(tmp_path, birds=plain("noisy", TOKEN=HIDDEN)) as servers:
            assert await told(named(servers, "mcp_birds_echo")) == "{}"
    said = [line["line"] for line in logged if line["event"] == "a server says"]
    assert len(said) == 200
    assert said[0] == "line 0 of [secret]"
    assert HIDDEN not in str(logged)


async def test_server_that_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    async with talking(tmp_path, birds=plain("parent", "stubborn")) as servers:
        pids = [int(await told(named(servers, "mcp_birds_pid")))]
        pids.append(int((tmp_path / "birds" / "child.pid").read_text()))
        assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


async def test_two_tools_with_one_name_are_told_apart(tmp_path: Path) -> None:
    launcher = Launcher(LocalSandbox(), tmp_path)
    servers = [McpServer(name, plain(), launcher) for name in ("a", "a_b")]
    servers[0].take([Offer("b_c", "One.", {})])
    servers[1].take([Offer("c", "Another.", {})])
    one, another = McpServers(servers).tools()
    assert one.schema.name == "mcp_a_b_c"
    assert another.schema.name.startswith("mcp_a_b_c_")
    assert McpServers(servers).tools()[1].schema.name == another.schema.name


@pytest.mark.parametrize(
    "config",
    [McpConfig(), McpConfig(command=(sys.executable,), url=BaseUrl("http://127.0.0.1:1/mcp"))],
)
async def test_server_needs_a_command_or_an_address(tmp_path: Path, config: McpConfig) -> None:
    with pytest.raises(ConfigError, match="needs a command or a url"):
        async with talking(tmp_path, birds=config):
            pass
