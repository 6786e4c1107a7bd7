"""What the end-to-end tests share."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests import ports
from tests.e2e.command import Roost


@pytest.fixture
def roost(tmp_path: Path) -> Roost:
    return Roost(tmp_path)


@pytest.fixture
def port() -> Generator[int]:
    """For a server that has to be where it is looked for, or comes back there."""
    with ports.held() as holder:
        yield ports.number(holder)
