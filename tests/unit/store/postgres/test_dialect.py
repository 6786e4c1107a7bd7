"""The statements of PostgreSQL: the server takes each, and none is missing that is asked for."""

import re
from pathlib import Path

import pytest

import roost.store
from roost.core.keys import StoreAddress
from roost.store import statements
from roost.store.postgres import dialect
from roost.store.postgres.connect import connect, fetch
from tests.postgres import Server

SOURCE = Path(roost.store.__file__ or "").parent


@pytest.mark.parametrize("server_clock", [True, False])
async def test_server_takes_every_statement(url: str, server_clock: bool) -> None:
    connection = await connect(StoreAddress(url), cached=False)
    try:
        for name, each in dialect.load(server_clock=server_clock).items():
            await connection.execute(f"PREPARE {name} AS {each.sql}")
    finally:
        await connection.close(timeout=60)


def test_every_statement_is_used_and_every_use_is_a_statement() -> None:
    code = [path for path in SOURCE.rglob("*.py") if "sqlite" not in path.relative_to(SOURCE).parts]
    text = "\n".join(path.read_text() for path in code)
    named = statements.load("postgres")
    asked = set(re.findall(r'query\(\s*"(\w+)"', text))
    assert asked - set(named) == set()
    locks = {lock for each in named.values() for lock in (each.locks, each.holds) if lock}
    quoted = set(re.findall(r'"([a-z]+(?:_[a-z]+)*)"', text))
    assert set(named) - quoted - locks == set()
    assert locks <= set(named)


def test_both_dialects_are_asked_the_same() -> None:
    """What one of them has alone serves its own files, locks where there are several writers, or
    is about the servers that share it."""
    lite, big = statements.load("sqlite"), statements.load("postgres")
    alone = {name for name in big if name not in lite}
    assert {name for name in alone if not name.startswith("lock_")} == {
        "blob_has_bytes",
        "put_blob_piece",
        "get_blob_piece",
        "drop_blob_pieces",
        "describe_database",
        "beat_server",
        "known_servers",
        "silent_servers",
        "forget_server",
        "workspace_of",
        "settle_workspace",
        "settle_workspaces",
        "workspaces_over",
    }


async def test_time_is_the_servers(postgres_server: Server) -> None:
    connection = await connect(StoreAddress(postgres_server.url("postgres")), cached=False)
    try:
        sql = f"SELECT {dialect.CLOCK} - (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        ((apart,),) = await fetch(connection, sql)
        assert isinstance(apart, int)
        assert -60_000 < apart <= 0
    finally:
        await connection.close(timeout=60)
