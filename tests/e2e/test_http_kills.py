"""D5 with the server killed: what a page shows in the end is what is stored, told once."""

import random
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from yarl import URL

from roost.core.ids import TurnId
from roost.testing.models import ModelServer, say
from tests.e2e.command import Roost
from tests.unit.http.page import Page
from tests.unit.http.served import Client, connections

CONFIG = """
[models]
default = "test/model"

[memory]
provider = "none"

[providers.test]
vendor = "compatible"
base_url = "{url}"
models = ["model"]
"""


class Where:
    """Of a server that comes back elsewhere."""

    def __init__(self) -> None:
        self.url = URL()


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say("One word after the other, " * 30, pace=0.01))
        yield server


@pytest.mark.contract("D5")
async def test_page_comes_back_after_kills_and_has_what_is_stored(
    roost: Roost, server: ModelServer, tmp_path: Path
) -> None:
    file = tmp_path / "roost.toml"
    file.write_text(CONFIG.format(url=server.openai_url))
    where, page, chance = Where(), Page(), random.Random(1)  # noqa: S311
    async with connections({}) as opened:
        browser = Client(where, opened)
        async with roost.running("--config", str(file)) as running:
            where.url = URL(running.address)
            link = running.greeting.partition("#")[2].split()[0]
            opened.headers.update(_ours(where))
            assert await browser.post("/api/sign-in", {"secret": link}) == (204, None)
            session = await browser.session()
            async with browser.watch(session) as events:
                page.take(await anext(events))
            turn = TurnId((await browser.send(session, "Tell me."))["id"])
            await page.follow_until_said(browser, session, "after the other")
            await running.stop(signal.SIGKILL)
        for kill in (True, True, False):
            async with roost.running("--config", str(file)) as running:
                where.url = URL(running.address)
                opened.headers.update(_ours(where))
                async with browser.watch(session, after=page.last) as events:
                    for told in await events.read(chance.randrange(200, 3000)):
                        page.take(told)
                if kill:
                    await running.stop(signal.SIGKILL)
                    continue
                # By itself it goes on only once; if that is now, or it is over, this is refused.
                assert (await browser.post(f"/api/sessions/{session}/continue"))[0] in {202, 409}
                await page.follow_to_the_end(browser, session, turn)
                assert (page.snapshots, page.states[turn]) == (1, "completed")
                await page.check_equals_what_is_stored(browser, session)


@pytest.mark.contract("D5")
async def test_stop_ends_streams_and_is_not_held_up_by_them(
    roost: Roost, server: ModelServer, tmp_path: Path
) -> None:
    file = tmp_path / "roost.toml"
    grace = '[server]\ngrace = "10m"\n'  # longer than it is waited for
    file.write_text(CONFIG.format(url=server.openai_url) + grace)
    where, page = Where(), Page()
    async with connections({}) as opened, roost.running("--config", str(file)) as running:
        where.url = URL(running.address)
        opened.headers.update(_ours(where))
        browser = Client(where, opened)
        link = running.greeting.partition("#")[2].split()[0]
        assert await browser.post("/api/sign-in", {"secret": link}) == (204, None)
        session = await browser.session()
        async with browser.watch(session) as events:
            page.take(await anext(events))
            stopped = await running.stop(signal.SIGTERM)
            assert (stopped.code, stopped.out) == (0, "Stopped.\n")
            async for told in events:
                page.take(told)
    assert page.ended == "stops"


def _ours(where: Where) -> dict[str, str]:
    return {"Origin": str(where.url.origin())}
