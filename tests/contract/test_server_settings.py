"""What is set up or revoked on one server holds on the other, told or not."""

import asyncio

import pytest

from roost.channels import outbox
from roost.channels.base import Channel, Options
from roost.channels.hosting import hosted
from roost.channels.registry import Registry
from roost.core.clock import SystemClock
from roost.core.config import ChannelSetup
from roost.core.ids import UserId, new_user_id
from roost.core.keys import Key
from roost.core.settings import ScopeName
from roost.core.users import User
from roost.runtime.catalogue import Setup
from roost.runtime.departures import Departures
from roost.runtime.identities import Identities
from roost.runtime.preferences import Preferring
from roost.runtime.principals import KEPT
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, say, stall
from roost.wiring.background import going_on
from tests.engine import Engine, eventually
from tests.identities import identities_of, opens
from tests.pairs import NEVER, Words, seen
from tests.small_channel import SmallChannel, SmallPlatform

pytestmark = pytest.mark.postgres

SMALL = ChannelSetup(kind=ScopeName("small"))


async def member(engine: Engine) -> UserId:
    new = User(id=new_user_id(), name="Bob", role="member")
    return (await engine.store.users.create(new)).id


async def test_provider_that_is_set_up_on_one_server_is_there_on_both(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    nest, known = Setup(base_url=server.openai_url, models=("heron",)), there.parts.catalogue
    for key in ("first", "second"):
        await here.parts.catalogue.put("nest", nest, Key(key))

        async def has_key(key: str = key) -> bool:
            return known.providers.key("nest") == Key(key)

        await eventually(has_key)
    await here.parts.catalogue.remove("nest")

    async def is_gone() -> bool:
        return known.providers.find("nest") is None

    await eventually(is_gone)


async def test_model_that_was_chosen_on_one_server_answers_on_the_other(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    nest = Setup(base_url=server.openai_url, models=("heron",))
    await here.parts.catalogue.put("nest", nest, None)

    async def is_known() -> bool:
        return there.parts.catalogue.providers.find("nest") is not None

    await eventually(is_known)
    await there.say(await there.session(model="nest/heron"))
    assert server.requests[-1].model == "heron"


async def test_what_both_servers_set_up_at_once_is_kept(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    nest = Setup(base_url=server.openai_url, models=("heron",))
    await here.parts.catalogue.put("nest", nest, None)
    await there.parts.catalogue.put("coop", nest, None)
    for board, name in ((here, "one"), (there, "two")):
        board.parts.switchboard.kinds = lambda: ["small"]
        await board.parts.switchboard.put(name, SMALL, {})
    assert there.parts.catalogue.providers.find("nest") is not None
    assert there.parts.switchboard.wanted().keys() == {"small", "one", "two"}


async def test_preferences_that_are_changed_on_both_servers_are_kept(
    servers: tuple[Engine, Engine],
) -> None:
    here, there = servers
    mine = Preferring(here.parts, here.owner.id)
    also_mine = Preferring(there.parts, there.owner.id)
    await asyncio.gather(
        mine.change({"model": "test/other"}), also_mine.change({"toolset": "chat"})
    )
    found = await mine.get()
    assert (found.model, found.toolset) == ("test/other", "chat")


async def test_channel_that_is_added_on_one_server_is_begun_by_the_other(
    servers: tuple[Engine, Engine],
) -> None:
    here, there = servers
    platform = SmallPlatform()
    here.parts.switchboard.kinds = lambda: ["small"]

    def make(name: str, options: Options) -> Channel:
        return SmallChannel(platform, name=name)

    async with hosted(there.app, Registry({"small": make})):
        await here.parts.switchboard.put("another", SMALL, {})

        async def runs() -> bool:
            return there.parts.switchboard.status("another").condition == "connected"

        await eventually(runs)
        await here.parts.switchboard.remove("another")

        async def is_off() -> bool:
            return there.parts.switchboard.status("another").condition == "off"

        await eventually(is_off)


@pytest.mark.contract("E2")
async def test_answer_goes_out_by_the_server_that_hosts_the_channel(
    servers: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "LOOK", NEVER)
    here, there = servers
    platform = SmallPlatform()

    def make(name: str, options: Options) -> Channel:
        return SmallChannel(platform, name=name)

    await here.store.pairings.put("small", "42", here.owner.id, by="test", name="Ann")
    async with hosted(there.app, Registry({"small": make})):
        await platform.say("Hello")
        await platform.until_text("Good day.")
        session = await here.account.current("small:dm:42")
        assert session is not None
        await here.say(session, "On the web")
        assert "Good day." in (await platform.until_text("> On the web")).piece.text


# Who may do what.


@pytest.mark.contract("D6")
async def test_user_who_is_disabled_on_one_server_is_stopped_on_both(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    bob = await member(here)
    server.plan(say("One two ") + stall())
    account = there.app.of(bob)
    session = (await account.create(origin="test", title="Session")).id
    turn = await account.send(session, "Count")
    await seen(account, session, "One two")
    identities = Identities(here.store, SystemClock(), departures=Departures(here.parts))
    await identities.people.disable(bob)

    async def is_stopped() -> bool:
        return (await there.store.of(bob).turns.get(turn.id)).state == "cancelled"

    await eventually(is_stopped)


async def test_workspaces_of_a_user_who_is_disabled_on_one_server_end_on_both(
    servers: tuple[Engine, Engine],
) -> None:
    here, there = servers
    bob, rooms = await member(here), there.parts.workspaces
    assert rooms is not None
    session = (await there.app.of(bob).create(origin="test", title="Session")).id
    await rooms.of(bob, session)
    mine = await rooms.of(there.owner.id, await there.session())
    identities = Identities(here.store, SystemClock(), departures=Departures(here.parts))
    await identities.people.disable(bob)

    async def are_ended() -> bool:
        return rooms.listed(bob) == ()

    await eventually(are_ended)
    assert [each.session for each in rooms.listed(there.owner.id)] == [mine.session]


async def test_token_that_is_revoked_on_one_server_opens_nothing_on_the_other(
    servers: tuple[Engine, Engine], words: Words, clock: FakeClock
) -> None:
    here, there = servers
    ours, theirs = [identities_of(each.store, clock) for each in servers]
    made = await ours.create_token(here.owner.id, name="test", scopes=("chat",))
    async with going_on(theirs.run()):
        assert await opens(theirs, made.secret) is not None
        await ours.revoke_token(there.owner.id, made.token.id)
        if words == "lost":
            clock.advance(KEPT)

        async def is_refused() -> bool:
            return await opens(theirs, made.secret) is None

        await eventually(is_refused)
