"""Another server on the database of a store."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.testing.clock import FakeClock
from tests.store_driver import AnyStore, beside, databases, opened


@pytest.fixture
async def other(
    store: AnyStore, folder: Path, tmp_path: Path, clock: FakeClock
) -> AsyncGenerator[AnyStore]:
    """With a folder of its own."""
    elsewhere = beside(folder, tmp_path / "other")
    async with opened(elsewhere, clock) as other:
        yield other
    del databases[elsewhere]
