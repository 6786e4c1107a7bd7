"""The real OpenViking server, killed while it works on a commit."""

from pathlib import Path

import pytest

from roost.core.errors import MemoryFailed
from tests.unit.memory.real_viking import RealViking
from tests.unit.memory.viking import Look, memory_at, recalled, segment, some_scope


@pytest.mark.timeout(150)
@pytest.mark.contract("C10")
async def test_a_commit_survives_the_death_of_the_server(tmp_path: Path) -> None:
    scope = some_scope()
    taken = segment("REMEMBER city: I live in Oslo.", scope=scope)
    async with RealViking(tmp_path) as server, memory_at(server, settle=0.5) as memory:
        with pytest.raises(MemoryFailed, match="still extracting"):
            await memory.commit(taken)
    async with RealViking(tmp_path) as server, memory_at(server) as memory:
        await memory.commit(taken)
        look = Look(server, scope)
        assert await look.archived() == [["REMEMBER city: I live in Oslo.", "Noted."]]
        assert await look.commits() == [1]
        [found] = await recalled(memory, server, scope, "where do I live")
        assert found.text == "- I live in Oslo."
