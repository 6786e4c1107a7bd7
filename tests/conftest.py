"""What all tests share: a store in a folder of its own, a clock that stands still, two users."""

import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from roost.core.ids import SessionId
from roost.store.sqlite.store import SqliteStore
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, opened

# The same examples on every run; `HYPOTHESIS_PROFILE=long` looks further, with new ones each time.
_EVERY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("usual", _EVERY, derandomize=True)
settings.register_profile("long", _EVERY, max_examples=2000, stateful_step_count=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))

# Plain tracebacks: those with colours and locals take a second each.
structlog.configure(
    processors=[
        structlog.stdlib.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
    ],
    logger_factory=structlog.PrintLoggerFactory(sys.__stderr__),
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of `store`."""
    return tmp_path / "data"


@pytest.fixture
async def store(folder: Path, clock: FakeClock) -> AsyncGenerator[SqliteStore]:
    async with opened(folder, clock) as store:
        yield store


@pytest.fixture
async def ada(store: SqliteStore) -> Driver:
    return await Driver.of(store, "Ada", "admin")


@pytest.fixture
async def bob(store: SqliteStore) -> Driver:
    return await Driver.of(store, "Bob")


@pytest.fixture
async def session(ada: Driver) -> SessionId:
    """An empty session of Ada's."""
    return await ada.session()
