"""Threads begin once all structs are known."""

import subprocess
import sys
from pathlib import Path

import pytest

_BEGINNING = """
import asyncio, gc, sys
from pathlib import Path
import msgspec
import roost.cli.app
from roost.core.clock import SystemClock
from roost.core.keys import StoreAddress
from roost.store.postgres.engine import PostgresEngine
from roost.store.sqlite.readers import Readers

def below(kind):
    return {*kind.__subclasses__(), *[far for each in kind.__subclasses__() for far in below(each)]}

def unknown():
    structs = [each for each in below(msgspec.Struct) if each.__module__.startswith("roost.")]
    assert len(structs) > 500
    for each in structs:
        if "StructInfo" not in [type(known).__name__ for known in gc.get_referents(each)]:
            yield each.__qualname__

async def begin():
    assert len([*unknown()]) > 100
"""

_BEGUN = {
    "sqlite": "    Readers(Path('none'), {}, SystemClock()).close()",
    "postgres": "    PostgresEngine(StoreAddress('postgresql://127.0.0.1:1/none'), pooled=False)",
}

_END = """
asyncio.run(begin())
print(*unknown())
"""


@pytest.mark.parametrize("kind", _BEGUN)
def test_all_structs_are_known_before_there_are_threads(kind: str, tmp_path: Path) -> None:
    """Two threads that decode one for the first time together end the process. A query is never
    decoded."""
    program = _BEGINNING + _BEGUN[kind] + _END
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True)
    assert said.stdout == "Query\n"
