"""Sessions as files, over HTTP."""

import asyncio
import fcntl
import os
import struct
import termios
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from roost.core.ids import SessionId, TurnId, new_user_id
from roost.core.users import User
from roost.http import transfer
from tests.engine import SECONDS, eventually
from tests.unit.http.served import Client, Served

JSON = {"Content-Type": "application/json"}


async def exported(client: Client, path: str) -> tuple[str, bytes]:
    async with client.connections.get(client.served.url.join(client.served.url / path)) as answer:
        assert answer.status == 200
        return answer.content_type, await answer.read()


async def test_session_goes_out_and_comes_in_again(served: Served, browser: Client) -> None:
    session = await browser.session(title="Owls")
    await served.engine.say(session, "Where do owls sleep?")
    kind, document = await exported(browser, f"api/sessions/{session}/export")
    assert kind == "application/json"
    assert (await browser.ask("DELETE", f"/api/sessions/{session}"))[0] == 204
    bob = await served.engine.store.users.create(User(id=new_user_id(), name="Bob", role="member"))
    async with served.browser(bob.id) as other:
        status, loaded = await other.ask("POST", "/api/import", data=document, headers=JSON)
        assert (status, loaded["created"], loaded["session"]["title"]) == (200, True, "Owls")
        _, again = await other.ask("POST", "/api/import", data=document, headers=JSON)
        assert (again["created"], again["session"]["id"]) == (False, loaded["session"]["id"])


async def test_session_is_read_as_markdown(served: Served, browser: Client) -> None:
    session = await browser.session(title="Owls")
    await served.engine.say(session, "Where do owls sleep?")
    url = served.url / f"api/sessions/{session}/export"
    async with browser.connections.get(url.with_query(format="markdown")) as answer:
        assert answer.content_type == "text/markdown"
        assert "Where do owls sleep?" in await answer.text()


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("Owls: day/night?", "Owls day night"),
        ("Größe & हिन्दी", "Größe हिन्दी"),
        ("../../etc\u202e\r\nSet-Cookie: a=b", "etc Set-Cookie a b"),
        ("💬", "Session"),
        ("long " * 50, "long " * 11 + "long"),
    ],
)
async def test_file_is_named_by_title_and_day(
    served: Served, browser: Client, title: str, named: str
) -> None:
    session = await browser.session(title=title)
    _, view = await browser.ask("GET", f"/api/sessions/{session}")
    day = datetime.fromtimestamp(view["active_at"] / 1000, UTC).strftime("%Y-%m-%d")
    url = served.url / f"api/sessions/{session}/export"
    for form, ending in (("json", "json"), ("markdown", "md")):
        async with browser.connections.get(url.with_query(format=form)) as answer:
            disposition = answer.content_disposition
        assert disposition is not None
        assert disposition.filename == f"{named} {day}.{ending}"


async def test_what_is_no_export_is_refused(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, problem = await browser.ask("POST", "/api/import", data=b"[1]", headers=JSON)
    assert (status, problem["type"]) == (400, "urn:roost:invalid-input")
    monkeypatch.setattr(transfer, "IMPORT_LIMIT", 100)
    status, _ = await browser.ask("POST", "/api/import", data=b" " * 101, headers=JSON)
    assert status == 413


async def importing(client: Client, body: AsyncIterator[bytes]) -> int:
    """The body is sent when the server asks for it, which it does when there is a place."""
    url = client.served.url / "api/import"
    async with client.connections.post(url, data=body, headers=JSON, expect100=True) as answer:
        return answer.status


async def test_import_waits_while_two_are_under_way(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, rest = asyncio.Queue[None](), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        begun.put_nowait(None)
        yield b"["
        await rest.wait()

    async def one_more() -> AsyncIterator[bytes]:
        yield b"[1]"

    under_way = [asyncio.create_task(importing(browser, slow())) for _ in range(2)]
    for _ in under_way:
        await begun.get()
    monkeypatch.setattr(transfer, "PATIENCE", 0.05)
    url = browser.served.url / "api/import"
    async with browser.connections.post(url, data=b"[1]", headers=JSON) as refused:
        assert (refused.status, refused.headers["retry-after"]) == (503, "60")
        assert "Others are being imported" in (await refused.json(content_type=None))["detail"]
    monkeypatch.setattr(transfer, "PATIENCE", SECONDS)
    waiting = asyncio.create_task(importing(browser, one_more()))
    rest.set()
    assert await asyncio.gather(*under_way, waiting) == [400] * 3  # read, and no export


class Slow:
    """A session whose export comes to an attachment that is not all there yet."""

    def __init__(self, session: SessionId, pipe: int) -> None:
        self.session = session
        self._pipe = pipe

    async def is_read(self) -> bool:
        (unread,) = struct.unpack("i", fcntl.ioctl(self._pipe, termios.FIONREAD, bytes(4)))
        return unread == 0


@asynccontextmanager
async def slow(browser: Client, served: Served, number: int) -> AsyncGenerator[Slow]:
    _, made = await browser.ask("POST", "/api/files", data=b"attached %d" % number)
    session = await browser.session()
    turn = await browser.send(session, files=[{"file": made["id"], "name": "x.txt"}])
    await served.engine.ended(TurnId(turn["id"]))
    file = served.engine.folder / "blobs" / made["id"][:2] / made["id"]
    file.unlink()
    os.mkfifo(file)
    pipe = os.open(file, os.O_RDWR)
    os.write(pipe, b"a")
    try:
        yield Slow(session, pipe)
    finally:
        os.close(pipe)


async def test_export_waits_while_two_are_under_way(
    served: Served, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await browser.session()
    async with asyncio.TaskGroup() as tasks:
        async with slow(browser, served, 1) as first, slow(browser, served, 2) as second:
            for each in (first, second):
                tasks.create_task(exported(browser, f"api/sessions/{each.session}/export"))
                await eventually(each.is_read)
            monkeypatch.setattr(transfer, "PATIENCE", 0.05)
            for form in ("json", "markdown"):
                path = f"/api/sessions/{session}/export?format={form}"
                status, problem = await browser.ask("GET", path)
                assert (status, problem["detail"][:25]) == (503, "Others are being exported")
            assert (await browser.get(f"/api/sessions/{session}"))["id"] == session
            monkeypatch.setattr(transfer, "PATIENCE", SECONDS)
            waiting = tasks.create_task(exported(browser, f"api/sessions/{session}/export"))
        kind, _ = await waiting
        assert kind == "application/json"


async def test_who_goes_away_gives_the_place_back(served: Served, browser: Client) -> None:
    async with asyncio.TaskGroup() as tasks, slow(browser, served, 1) as gone:
        async with slow(browser, served, 2) as first, slow(browser, served, 3) as second:
            for each in (first, second):
                tasks.create_task(exported(browser, f"api/sessions/{each.session}/export"))
                await eventually(each.is_read)
            leaving = asyncio.create_task(exported(browser, f"api/sessions/{gone.session}/export"))
            await browser.get("/api/sessions")  # by then it waits
            leaving.cancel()
            await asyncio.wait([leaving])
            await browser.get("/api/sessions")  # by then it is known to be gone
        await exported(browser, f"api/sessions/{await browser.session()}/export")
        assert not await gone.is_read()
