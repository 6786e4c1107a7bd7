"""What the end-to-end tests share."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests import ports
from tests.e2e.chromium import Chromium
from tests.e2e.command import Roost


@pytest.fixture
def roost(tmp_path: Path) -> Roost:
    return Roost(tmp_path)


@pytest.fixture
def port() -> Generator[int]:
    """For a server that has to be where it is looked for, or comes back there."""
    with ports.held() as holder:
        yield ports.number(holder)


@pytest_asyncio.fixture(scope="session")
async def chromium() -> AsyncGenerator[Chromium]:
    chromium = Chromium()
    yield chromium
    await chromium.close()


@pytest_asyncio.fixture(loop_scope="session")
async def browser(chromium: Chromium) -> AsyncGenerator[Browser]:
    """For tests that run on the loop of the session."""
    async with chromium.lent() as browser:
        yield browser
