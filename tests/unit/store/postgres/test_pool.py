"""Connections that are kept: those that nobody uses are let go, and those that are gone noticed."""

import asyncio
import socket
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from roost.core.keys import StoreAddress
from roost.store.postgres import pool as pools
from roost.store.postgres.connect import connect
from roost.store.postgres.pool import Pool
from tests.cutting import cutting


async def test_connections_that_nobody_used_for_long_are_let_go(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool(partial(connect, StoreAddress(url), cached=False), 2)
    async with pool.taken() as one, pool.taken() as other:
        pass
    async with pool.taken() as again:
        assert again is one, "the one that was given back last"
    monkeypatch.setattr(pools, "STALE", 0.0)
    async with pool.taken() as new:
        assert new not in (one, other)
        assert one.is_closed()
        assert other.is_closed()
    await pool.close()


async def test_connection_over_a_network_is_kept_alive(url: str, tmp_path: Path) -> None:
    async with (
        cutting(url, tmp_path) as cutter,
        await asyncio.start_server(cutter.serve, "127.0.0.1", 0) as listener,
    ):
        port = listener.sockets[0].getsockname()[1]
        address = f"postgresql://roost@127.0.0.1:{port}{urlsplit(url).path}?sslmode=disable"
        connection: Any = await connect(StoreAddress(address), cached=False)
        line = connection._transport.get_extra_info("socket")  # noqa: SLF001 (asyncpg's)
        assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 20
        await connection.close(timeout=60)
