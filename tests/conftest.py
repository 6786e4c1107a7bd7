"""What all tests share: a store in a folder of its own, a clock that stands still, two users."""

import logging
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from roost.core.ids import SessionId
from roost.store.folder import DATABASE
from roost.store.migrations import load
from roost.store.sqlite.connect import connect_writer
from roost.store.sqlite.schema import migrate
from roost.testing.clock import FakeClock
from tests import postgres
from tests.store_driver import AnyStore, Driver, databases, opened

# The same examples on every run, but for a few of the store's machine, which says what repeats
# them; `HYPOTHESIS_PROFILE=long` looks further, with new ones each time.
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

# The loggers that `roost.cli.logs` speaks to.
_CONFIGURED = (None, "uvicorn")


def pytest_xdist_auto_num_workers() -> int:
    """Half of its time a test waits for a process, a page or a disk."""
    return min(8, 2 * (os.cpu_count() or 1))


@pytest.fixture(autouse=True)
def logs_as_before() -> Generator[None]:
    """What a test, or a command that it runs, does to the logs of this process ends with it: others
    come after it here."""
    ours, loggers = structlog.get_config(), [logging.getLogger(name) for name in _CONFIGURED]
    levels = [logger.level for logger in loggers]
    yield
    structlog.configure(**ours)
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    root = logging.getLogger()
    for handler in root.handlers[:]:
        if type(handler).__module__ == logging.__name__:  # others are pytest's
            root.removeHandler(handler)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What is said of stores is said of both: these tests run on each."""
    if "backend" in metafunc.fixturenames and (backends := _backends(metafunc)):
        metafunc.parametrize("backend", backends, indirect=True)


def _backends(metafunc: pytest.Metafunc) -> list[str]:
    marked = metafunc.definition.get_closest_marker
    if marked("postgres") is not None:
        return ["postgres"]
    is_for_both = marked("sqlite") is None and marked("both") is not None
    return ["sqlite", "postgres"] if is_for_both else []


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """What the store of a test is in."""
    return getattr(request, "param", "sqlite")


@pytest.fixture(scope="session")
def postgres_server() -> Generator[postgres.Server]:
    with postgres.running() as server:
        yield server


@pytest.fixture
async def url(postgres_server: postgres.Server) -> AsyncGenerator[str]:
    """The address of a PostgreSQL with nothing in it."""
    url = await postgres_server.database()
    yield url
    await postgres_server.give_back(url)


@pytest.fixture(scope="session")
def new_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with nothing in it but the schema, to be copied: making one takes longer."""
    path = tmp_path_factory.mktemp("new") / DATABASE
    connection = connect_writer(path)
    migrate(connection, load("sqlite"), FakeClock())
    connection.close()
    return path


@pytest.fixture
async def folder(
    tmp_path: Path, backend: str, new_database: Path, request: pytest.FixtureRequest
) -> AsyncGenerator[Path]:
    """The data folder of `store`."""
    folder = tmp_path / "data"
    if backend == "sqlite":
        folder.mkdir(mode=0o700)
        shutil.copy(new_database, folder)
        yield folder
        return
    server: postgres.Server = request.getfixturevalue("postgres_server")
    databases[folder] = url = await server.database()
    yield folder
    del databases[folder]
    await server.give_back(url)


@pytest.fixture
async def store(folder: Path, clock: FakeClock) -> AsyncGenerator[AnyStore]:
    async with opened(folder, clock) as store:
        yield store


@pytest.fixture
async def ada(store: AnyStore) -> Driver:
    return await Driver.of(store, "Ada", "admin")


@pytest.fixture
async def bob(store: AnyStore) -> Driver:
    return await Driver.of(store, "Bob")


@pytest.fixture
async def session(ada: Driver) -> SessionId:
    """An empty session of Ada's."""
    return await ada.session()
