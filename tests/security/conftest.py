"""One house for each file of attacks: what one of them breaks is found by those that follow."""

from collections.abc import Generator

import pytest

from tests.security.house import House, opened


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    with opened(tmp_path_factory.mktemp("house") / "data") as house:
        house.furnish()
        yield house
