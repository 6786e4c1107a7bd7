"""`roost run` as a person meets it."""

import json
import signal
import stat
from pathlib import Path

import pytest

from roost import __version__
from tests.e2e.command import Roost


async def test_start_says_where_it_listens_and_where_its_data_is(roost: Roost) -> None:
    data = roost.home / ".local" / "share" / "roost"
    async with roost.running() as server:
        name, address, folder, link, stop = server.greeting.splitlines()
        assert name == f"Roost {__version__}"
        assert address == f"  Address  http://127.0.0.1:{server.port}"
        assert folder == f"  Data     {data}"
        assert link.startswith(f"  Sign in  http://127.0.0.1:{server.port}/sign-in#")
        assert stop == "Stop with Ctrl-C."
        assert await server.get("/healthz") == (200, {"status": "ok", "version": __version__})
        status, problem = await server.get("/nowhere")
        assert (status, problem) == (
            404,
            {
                "type": "about:blank",
                "title": "Not Found",
                "status": 404,
                "detail": "There is nothing at /nowhere.",
            },
        )
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signal_stops_it_cleanly(roost: Roost, number: signal.Signals) -> None:
    async with roost.running() as server:
        await server.get("/healthz")
        assert await server.stop(number) == (0, "Stopped.\n", "")


async def test_roost_alone_runs_the_server(roost: Roost) -> None:
    taken = await roost("--port", "not-a-port")
    assert (taken.code, taken.out) == (2, "")
    assert "server.port (from --port) is wrong" in taken.err


async def test_second_server_is_told_who_holds_the_data(roost: Roost) -> None:
    async with roost.running() as server:
        second = await roost("run", "--port", str(server.port))
        assert (second.code, second.out) == (1, "")
        assert f"in use by process {server.process.pid}" in second.err
        assert len(second.err.splitlines()) == 1
        assert (await server.get("/healthz"))[0] == 200


async def test_killed_server_leaves_nothing_in_the_way(roost: Roost) -> None:
    async with roost.running() as server:
        await server.stop(signal.SIGKILL)
    async with roost.running() as server:
        assert (await server.get("/healthz"))[0] == 200


async def test_taken_port_is_named(roost: Roost) -> None:
    async with roost.running() as server:
        other = await roost("run", "--port", str(server.port), "--data", "other")
    assert (other.code, other.out) == (2, "")
    assert other.err == (
        f"Port {server.port} on 127.0.0.1 is taken by another program. "
        "Choose another with --port.\n"
    )


async def test_unwritable_data_folder_is_named(roost: Roost) -> None:
    roost.home.chmod(0o500)
    try:
        refused = await roost("run", "--data", "data", ordinary=True)
    finally:
        roost.home.chmod(0o700)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f"The data folder {roost.home / 'data'} can't be used: permission denied. "
        "Choose another with --data.\n"
    )


async def test_mistake_in_the_file_is_named(roost: Roost, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[server]\nprot = 1")
    refused = await roost("run", "--config", str(file))
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        f"There is no setting server.prot (from {file}). Did you mean server.port?\n"
    )


async def test_requests_are_logged_as_json_when_debugging(roost: Roost) -> None:
    async with roost.running("--log-level", "debug") as server:
        await server.get("/healthz")
        stopped = await server.stop(signal.SIGTERM)
    assert stopped.code == 0
    records = [json.loads(line) for line in stopped.err.splitlines()]
    assert any("GET /healthz" in record["event"] for record in records)
