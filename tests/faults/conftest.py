"""A folder whose store is to be moved."""

from pathlib import Path

import pytest

from tests.faults.moving import fill


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """With a store that was stopped in the middle of things."""
    folder = tmp_path / "data"
    await fill(folder)
    return folder
