"""What the end-to-end tests share."""

from pathlib import Path

import pytest

from tests.e2e.command import Roost


@pytest.fixture
def roost(tmp_path: Path) -> Roost:
    return Roost(tmp_path)
