"""What the tests of the page share."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.e2e.web.stage import Stage, staged
from tests.fakes.telegram import FakeTelegram, fake_telegram

SECONDS = 240


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser and a server take their time on a busy machine. The browser is that of the session,
    and so is its loop."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(SECONDS))
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(loop_scope="session")
async def stage(tmp_path: Path, browser: Browser) -> AsyncGenerator[Stage]:
    async with staged(tmp_path, browser) as stage:
        yield stage
    assert stage.troubles == []


@pytest_asyncio.fixture(loop_scope="session")
async def telegram() -> AsyncGenerator[FakeTelegram]:
    async with fake_telegram() as fake:
        yield fake
