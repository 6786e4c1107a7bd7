"""D5 and D11 over real connections, cut anywhere, to a server that stops and starts in between."""

import asyncio
import random
import socket
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.ids import SessionId, TurnId
from roost.testing.models import ModelServer, call, say, stall, think
from tests.engine import eventually
from tests.seconds import within
from tests.unit.http.page import Page
from tests.unit.http.served import Client, Served, started

WORDS = "The owl sat in the oak and told the story of the night from its beginning to its end. "


@pytest.fixture
async def served(folder: Path, server: ModelServer) -> AsyncGenerator[Served]:
    async with started(Served(folder, server, heartbeat=0.02, patience=0.5)) as served:
        yield served


def talkative(server: ModelServer) -> None:
    """Turns of several kinds, each in many pieces."""
    server.plan(
        think("Hm. " * 10, pace=0.002) + say(WORDS, pace=0.002),
        say("Let me see. ") + call("echo", {"text": "a" * 100}),
        say(WORDS * 2, size=7, pace=0.001),
    )
    server.otherwise(say(WORDS, size=5, pace=0.002))


@pytest.mark.contract("D5")
@pytest.mark.parametrize("seed", range(8))
async def test_reader_cut_at_any_byte_sees_every_durable_event_once(
    served: Served, server: ModelServer, seed: int
) -> None:
    chance, page, restarts = random.Random(seed), Page(), 3  # noqa: S311
    talkative(server)
    async with served.browser() as browser:
        session = await browser.session()
        async with browser.watch(session) as events:
            page.take(await anext(events))
        turns = [TurnId((await browser.send(session, f"Say {n}."))["id"]) for n in range(4)]
        async with asyncio.timeout(50):
            while not page.has_ended(*turns):
                async with browser.watch(session, after=page.last) as events:
                    for told in await events.read(chance.randrange(1, 4000)):
                        page.take(told)
                if restarts and chance.random() < 0.1:
                    restarts -= 1
                    await served.stop()
                    await served.start()
        assert page.snapshots == 1
        await page.check_equals_what_is_stored(browser, session)


@pytest.mark.contract("D5")
async def test_text_that_did_not_survive_a_crash_is_withdrawn(
    served: Served, server: ModelServer
) -> None:
    page = Page()
    server.plan(say("It was never to be ") + stall())
    server.otherwise(say("All is well."))
    async with served.browser() as browser:
        session = await browser.session()
        turn = TurnId((await browser.send(session))["id"])
        await page.follow_until_said(browser, session, "It was never")
        await served.crash()
        await served.start()
        await page.follow_to_the_end(browser, session, turn)
        assert page.snapshots == 1
        await page.check_equals_what_is_stored(browser, session)
        assert page.withdrawn == 1


@pytest.mark.contract("D5")
async def test_undo_reaches_a_reader_that_was_away(served: Served) -> None:
    page = Page()
    async with served.browser() as browser:
        session = await browser.session()
        async with browser.watch(session) as events:
            page.take(await anext(events))
        for words in ("One", "Two"):
            turn = TurnId((await browser.send(session, words))["id"])
            await page.follow_to_the_end(browser, session, turn)
        assert (await browser.post(f"/api/sessions/{session}/undo"))[0] == 200
        async with browser.watch(session, after=page.last) as events:
            while not page.rewritten:
                page.take(await anext(events))
        assert page.cursor.epoch == 1


@pytest.mark.contract("D5")
async def test_closing_the_page_does_not_stop_the_turn(served: Served, server: ModelServer) -> None:
    page = Page()
    server.plan(say("Slowly, ", pace=0.01) + stall() + say("but surely."))
    async with served.browser() as browser:
        session = await browser.session()
        turn = TurnId((await browser.send(session))["id"])
        await page.follow_until_said(browser, session, "Slowly")
    assert await eventually(lambda: _unwatched(served))
    server.release()
    assert (await served.engine.ended(turn)).state == "completed"
    assert (await served.engine.texts(session))[-1] == "Slowly, but surely."


async def _unwatched(served: Served) -> bool:
    return not served.engine.parts.hub.watched


@pytest.mark.contract("D11")
async def test_all_surfaces_that_watch_a_session_are_told_the_same(
    served: Served, server: ModelServer
) -> None:
    talkative(server)
    async with (
        served.browser() as one,
        served.browser() as two,
        served.program("read") as three,
        asyncio.TaskGroup() as tasks,
    ):
        session = await one.session()
        pages = [Page() for _ in range(3)]
        ready = [asyncio.Event() for _ in pages]

        async def follow(client: Client, page: Page, began: asyncio.Event) -> None:
            async with client.watch(session) as events:
                while not (turns and page.has_ended(*turns)):
                    page.take(await anext(events))
                    began.set()

        turns: list[TurnId] = []
        for client, page, began in zip((one, two, three), pages, ready, strict=True):
            tasks.create_task(follow(client, page, began))
        for began in ready:
            await began.wait()
        turns += [TurnId((await two.send(session, f"Say {n}."))["id"]) for n in range(3)]
    assert len(pages[0].durable) > 10
    for page in pages[1:]:
        assert _durable(page) == _durable(pages[0])
        assert page.messages == pages[0].messages


def _durable(page: Page) -> list[object]:
    return [(each.cursor.revision, each.events, each.messages, each.turns) for each in page.durable]


@pytest.mark.contract("D11")
async def test_client_that_never_reads_is_dropped_and_harms_nobody(
    served: Served, server: ModelServer
) -> None:
    server.plan(say("Wait. ") + stall())
    page = Page()
    async with served.browser() as browser:
        session = await browser.session()
        await browser.send(session)
        for _ in range(14):  # in all more than what the kernel takes for a client that does not
            await browser.send(session, "word " * 80_000)
        stuck = await _that_never_reads(served, browser, session)
        assert await eventually(lambda: _watched(served))
        async with browser.watch(session) as events:
            page.take(await anext(events))
            await browser.ask("PATCH", f"/api/sessions/{session}", {"title": "Still here"})
            while page.title != "Still here":
                page.take(await anext(events))
        assert await eventually(lambda: _unwatched(served))
        with pytest.raises(ConnectionError):
            _read_all(stuck)
        stuck.close()


def _read_all(stuck: socket.socket) -> None:
    while stuck.recv(1 << 20):
        pass


async def _watched(served: Served) -> bool:
    return bool(served.engine.parts.hub.watched)


async def _that_never_reads(served: Served, browser: Client, session: SessionId) -> socket.socket:
    cookies = browser.connections.cookie_jar.filter_cookies(served.url)
    cookie = "; ".join([f"{name}={morsel.value}" for name, morsel in cookies.items()])
    stuck = socket.socket()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck.connect(("127.0.0.1", served.url.port))
    request = f"GET /api/sessions/{session}/events HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}"
    await asyncio.to_thread(stuck.sendall, f"{request}\r\n\r\n".encode())
    stuck.settimeout(20)
    return stuck


@pytest.mark.contract("D5")
async def test_stop_ends_streams_with_a_hint_to_come_back(served: Served) -> None:
    async with served.browser() as browser:
        session = await browser.session()
        page = Page()
        async with browser.watch(session) as events, browser.events("/api/events") as feed:
            page.take(await anext(events))
            assert (await anext(feed)).kind == "ready"
            async with within(5):
                await served.stop()
            async for told in events:
                page.take(told)
            assert page.ended == "stops"
            assert [told.kind async for told in feed][-1] == "end"
        await served.start()
        turn = TurnId((await browser.send(session))["id"])
        await page.follow_to_the_end(browser, session, turn)
        assert page.snapshots == 1


@pytest.mark.contract("D5")
async def test_stream_of_a_deleted_session_ends_and_is_not_there_any_more(served: Served) -> None:
    async with served.browser() as browser:
        session = await browser.session()
        page = Page()
        async with browser.watch(session) as events:
            page.take(await anext(events))
            assert await browser.ask("DELETE", f"/api/sessions/{session}") == (204, None)
            async for told in events:
                page.take(told)
        assert page.ended == "gone"
        with pytest.raises(AssertionError, match="no session"):
            async with browser.watch(session, after=page.last):
                pass


@pytest.mark.contract("D5")
async def test_ids_that_are_none_are_refused(served: Served) -> None:
    async with served.browser() as browser:
        session = await browser.session()
        headers = {"Last-Event-ID": "nonsense"}
        path = f"/api/sessions/{session}/events"
        status, problem = await browser.ask("GET", path, headers=headers)
        assert (status, problem["type"]) == (400, "urn:roost:invalid-input")


@pytest.mark.contract("D5")
async def test_signing_out_ends_the_stream(served: Served) -> None:
    async with served.browser() as browser:
        session = await browser.session()
        page = Page()
        async with browser.watch(session) as events:
            page.take(await anext(events))
            assert (await browser.post("/api/sign-out"))[0] == 204
            async for told in events:
                page.take(told)
        assert page.ended == "signed_out"
        async with browser.connections.get(served.url / "api/me") as answer:
            assert answer.status == 401
