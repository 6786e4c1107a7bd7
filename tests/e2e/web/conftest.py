"""What the tests of the page share."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.e2e.web.stage import Stage, staged
from tests.fakes.telegram import FakeTelegram, fake_telegram

SECONDS = 240


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser and a server take their time on a busy machine."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage
    assert stage.troubles == []


@pytest.fixture
async def telegram() -> AsyncGenerator[FakeTelegram]:
    async with fake_telegram() as fake:
        yield fake
