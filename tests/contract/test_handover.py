"""Turns that a server hands over when it stops, as the one that goes on with them sees them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from roost.core.clock import SystemClock
from roost.core.config import ChannelConfig, RecoveryConfig
from roost.core.ids import SessionId, new_turn_id
from roost.core.keys import StoreAddress
from roost.core.outbound import Said, decode_outbound
from roost.core.settings import Window
from roost.core.turns import NewTurn, TurnEnd
from roost.runtime import recovery
from roost.store.postgres.connect import Connection, connect, fetch
from roost.testing.models import ModelServer, say, stall
from tests.engine import Engine, config_for, eventually, started
from tests.store_driver import AnyStore, Driver, Run, beside, databases, open_any, text

pytestmark = pytest.mark.postgres

NEVER = 3600.0
WAITING = """
SELECT 1 FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'"""


@pytest.fixture
async def here(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Engine]:
    """It looks for what it may go on with when it is told to."""
    monkeypatch.setattr(recovery, "PERIOD", NEVER)
    config = msgspec.structs.replace(
        config_for(folder, server), channels={"small": ChannelConfig()}
    )
    async with started(Engine(folder, server, clock=SystemClock(), config=config)) as engine:
        yield engine


@pytest.fixture
async def elsewhere(here: Engine, folder: Path, tmp_path: Path) -> AsyncGenerator[Path]:
    """The folder of another server."""
    yield beside(folder, tmp_path / "elsewhere")
    del databases[tmp_path / "elsewhere"]


@pytest.fixture
async def there(elsewhere: Path) -> AsyncGenerator[AnyStore]:
    """The store of a server that is about to stop."""
    store = await open_any(elsewhere, SystemClock(), lease_ttl=NEVER)
    yield store
    await store.close()


async def begun(here: Engine, there: AnyStore, route: str) -> Run:
    """A turn that runs there, and came over a channel."""
    session = await here.session()
    new = NewTurn(id=new_turn_id(), parts=text("Question"), route=route)
    holder = there.leases.new_holder("turn")
    submitted = await there.work.submit(here.owner.id, session, new, holder)
    assert submitted.claimed is not None
    return await Driver(there, here.owner).start(new.id, submitted.claimed.lease)


async def hand_over(here: Engine, there: AnyStore, run: Run) -> None:
    end = TurnEnd(state="interrupted", reason="moved: another server goes on with it.")
    await there.of(here.owner.id).turns.end(run.session, run.token, run.turn, end)


def tell(there: AnyStore) -> None:
    assert there.signals is not None
    there.signals.tell(left=True)


@asynccontextmanager
async def holding_up(folder: Path, session: SessionId) -> AsyncGenerator[Connection]:
    """Whoever wants to take the session waits."""
    connection = await connect(StoreAddress(databases[folder]), cached=False)
    try:
        await connection.execute("BEGIN")
        await fetch(connection, "SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE", session)
        yield connection
    finally:
        connection.terminate()


async def test_turn_handed_over_while_another_is_taken_up_is_not_told_as_stopped(
    here: Engine, there: AnyStore, folder: Path
) -> None:
    first, second = await begun(here, there, "small:dm:1"), await begun(here, there, "small:dm:2")
    await hand_over(here, there, first)
    async with holding_up(folder, first.session) as connection:
        tell(there)
        await eventually(lambda: fetch(connection, WAITING))
        await hand_over(here, there, second)
    await here.reached(first.turn, "completed")
    tell(there)
    await here.reached(second.turn, "completed")
    told = await here.store.outbox.next("small:dm:2")
    assert told is not None
    assert isinstance(decode_outbound(told.body), Said), "its answer, and nothing before"


@pytest.mark.contract("D3")
async def test_turn_that_was_handed_over_still_goes_on_once_after_a_crash(
    here: Engine, there: AnyStore, server: ModelServer
) -> None:
    server.plan(say("One, ") + stall(), say("two."))
    run = await begun(here, there, "small:dm:1")
    await hand_over(here, there, run)
    tell(there)
    await here.streamed(run.session, "One, ")
    await here.parts.checkpoints.flush()
    await here.crash()
    await here.start()
    await here.reached(run.turn, "completed")


async def test_where_nothing_goes_on_by_itself_turns_are_not_handed_over(
    here: Engine, elsewhere: Path, server: ModelServer
) -> None:
    server.plan(say("One, ") + stall())
    never = RecoveryConfig(auto_continue=Window(timedelta(0)))
    here.config = msgspec.structs.replace(here.config, recovery=never)
    await here.restart()
    stops = Engine(elsewhere, server, clock=SystemClock(), config=here.config)
    await stops.start()
    session = await stops.session()
    turn = (await stops.account.send(session, "Count")).id
    await stops.streamed(session, "One, ")
    await stops.stop()
    found = await here.store.of(here.owner.id).turns.get(turn)
    assert (found.state, found.reason) == ("interrupted", "stopped: Roost was stopped.")
