"""What the tests of the page share."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.e2e.web.stage import Stage, staged


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage
    assert stage.troubles == []
