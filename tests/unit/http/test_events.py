"""Streams of events, as browsers follow them."""

from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from roost.core.events import Cursor, Deltas, Streamed, TextDelta
from roost.core.ids import TurnId, new_user_id
from roost.core.users import User
from roost.http.events import FeedView, SessionSeenView, encode_event
from roost.http.views import ChangedView, SnapshotView
from roost.llm.providers import Providers
from roost.runtime.feed import Ready, SessionRemoved
from roost.testing.models import ModelServer
from tests.unit.http.page import Page
from tests.unit.http.served import HEARTBEAT, Client, EventReader, Served, started


@pytest.fixture
async def served(folder: Path, server: ModelServer) -> AsyncGenerator[Served]:
    async with started(Served(folder, server, heartbeat=0.05)) as served:
        yield served


async def next_of_feed(feed: EventReader) -> FeedView:
    return msgspec.json.decode((await anext(feed)).data, type=FeedView)


def test_event_is_three_lines_and_its_id_is_its_cursor() -> None:
    turn = TurnId("trn_01m7fz75gn8ye7kw7sre653qwk")
    deltas = Deltas(5, 5, (TextDelta("a\nb\r\u2028"),))
    sent = encode_event(Providers({}, {}), Streamed(Cursor(0, 7, turn, 1, 5), deltas))
    id, kind, data, *rest = sent.split(b"\n")
    assert id == b"id: 0.7.trn_01m7fz75gn8ye7kw7sre653qwk.1.5"
    assert kind == b"event: streamed"
    assert data.startswith(b"data: {")
    assert rest == [b"", b""]
    assert b"\r" not in sent


async def test_session_is_followed_from_its_snapshot_to_the_end_of_a_turn(browser: Client) -> None:
    session = await browser.session()
    async with browser.watch(session) as events:
        first = (await anext(events)).view
        assert isinstance(first, SnapshotView)
        assert first.session.id == session
        turn = TurnId((await browser.send(session))["id"])
        kinds: list[str] = []
        states: list[str] = []
        while "completed" not in states:
            told = await anext(events)
            kinds.append(told.kind)
            view = told.view
            if isinstance(view, ChangedView):
                states += [each.state for each in view.turns if each.id == turn]
    assert set(kinds) <= {"changed", "streamed", "rewound"}
    assert states[0] in ("queued", "running")


async def test_stream_is_neither_stored_nor_held_back_on_its_way(browser: Client) -> None:
    session = await browser.session()
    async with browser.watch(session) as events:
        headers = events.response.headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in headers


async def test_quiet_stream_shows_that_it_is_alive(browser: Client) -> None:
    session = await browser.session()
    async with browser.watch(session) as events:
        await anext(events)
        assert await events.response.content.readexactly(2 * len(HEARTBEAT)) == 2 * HEARTBEAT


async def test_client_that_can_send_no_header_says_in_the_address_where_it_was(
    browser: Client,
) -> None:
    page = Page()
    session = await browser.session()
    async with browser.watch(session) as events:
        page.take(await anext(events))
    await browser.ask("PATCH", f"/api/sessions/{session}", {"title": "Owls"})
    path = f"/api/sessions/{session}/events?after={page.last}"
    async with browser.events(path) as events:
        page.take(await anext(events))
    assert (page.snapshots, page.title) == (1, "Owls")


async def test_nobody_follows_the_session_of_another(served: Served, browser: Client) -> None:
    session = await browser.session()
    path = f"/api/sessions/{session}/events"
    bob = await served.engine.store.users.create(User(id=new_user_id(), name="Bob", role="admin"))
    async with served.browser(bob.id) as other:
        assert (await other.ask("GET", path))[0] == 404
        headers = {"Last-Event-ID": "0.1"}
        assert (await other.ask("GET", path, headers=headers))[0] == 404
    async with served.stranger() as stranger:
        assert (await stranger.ask("GET", path))[0] == 401
        assert (await stranger.ask("GET", "/api/events"))[0] == 401


@pytest.mark.parametrize("feed", [False, True])
async def test_stream_ends_at_once_with_what_opened_it(
    folder: Path, server: ModelServer, feed: bool
) -> None:
    owner = Served(folder, server, heartbeat=3600)
    async with started(owner) as served, served.browser() as browser, served.program() as program:
        session = await browser.session()
        token = (await browser.get("/api/tokens"))["tokens"][0]["id"]
        path = "/api/events" if feed else f"/api/sessions/{session}/events"
        async with program.events(path) as events, browser.events(path) as mine:
            assert (await anext(events)).kind == (await anext(mine)).kind
            assert (await browser.ask("DELETE", f"/api/tokens/{token}"))[0] == 204
            told = [each async for each in events]
            assert [each.data for each in told] == [b'{"kind":"end","reason":"signed_out"}']
            await browser.ask("PATCH", f"/api/sessions/{session}", {"title": "Owls"})
            assert (await anext(mine)).kind == ("session" if feed else "changed")


async def test_head_of_a_stream_ends(served: Served, browser: Client) -> None:
    session = await browser.session()
    url = served.url / f"api/sessions/{session}/events"
    async with browser.connections.head(url) as answer:
        assert (answer.status, answer.content_type) == (200, "text/event-stream")


async def test_feed_tells_what_happens_to_sessions_elsewhere(
    served: Served, browser: Client
) -> None:
    async with browser.events("/api/events") as feed, served.program() as program:
        assert await next_of_feed(feed) == Ready()
        session = await program.session(title="Owls")
        first = await next_of_feed(feed)
        assert isinstance(first, SessionSeenView)
        assert (first.session.id, first.session.title) == (session, "Owls")
        await program.ask("DELETE", f"/api/sessions/{session}")
        told = await next_of_feed(feed)
        while isinstance(told, SessionSeenView):
            told = await next_of_feed(feed)
        assert told == SessionRemoved(session)


async def test_answer_makes_a_session_unread_until_it_was_seen(
    served: Served, browser: Client
) -> None:
    async with browser.events("/api/events") as feed:
        assert await next_of_feed(feed) == Ready()
        session = await browser.session()
        await served.engine.say(session)
        told = await next_of_feed(feed)
        while not (isinstance(told, SessionSeenView) and told.session.unread):
            told = await next_of_feed(feed)
        seen = {"seen": told.session.revision}
        await browser.ask("PATCH", f"/api/sessions/{session}", seen)
        while not (isinstance(told, SessionSeenView) and not told.session.unread):
            told = await next_of_feed(feed)
