"""Files over HTTP: what they are is told by their content, and none of them runs script."""

import struct
import zlib
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import msgspec
import pytest

from roost.core.config import LimitsConfig
from roost.core.ids import TurnId, new_user_id
from roost.core.settings import Count
from roost.core.users import User
from roost.http import files
from roost.testing.models import ModelServer, echo
from tests.engine import config_for
from tests.unit.http.served import Client, Served, started


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


PAGE = b"<!doctype html><script>alert(1)</script>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
KINDS = {
    "a picture": (png(), "image/png", "inline"),
    "text": (b"Hello.", "text/plain", "inline"),
    "a page": (PAGE, "text/plain", "inline"),
    "a drawing": (SVG, "text/plain", "inline"),
    "a document": (b"%PDF-1.7 ...", "application/pdf", "attachment"),
    "a page with a zero": (PAGE + b"\0", "application/octet-stream", "attachment"),
    "a picture that is a page": (b"GIF89a/*" + PAGE, "image/gif", "inline"),
    "bytes": (b"\xff\xfe\x00\x01", "application/octet-stream", "attachment"),
    "nothing": (b"", "text/plain", "inline"),
}


async def upload(client: Client, data: bytes, kind: str = "text/html") -> dict[str, object]:
    status, made = await client.ask("POST", "/api/files", data=data, headers={"Content-Type": kind})
    assert status == 201, made
    return made


async def content(client: Client, path: str) -> tuple[aiohttp.ClientResponse, bytes]:
    async with client.connections.get(
        client.served.url.join(client.served.url.with_path(path))
    ) as r:
        return r, await r.read()


@pytest.mark.parametrize("what", KINDS)
async def test_file_is_what_its_content_says_and_can_run_no_script(
    browser: Client, what: str
) -> None:
    data, kind, how = KINDS[what]
    made = await upload(browser, data)
    assert (made["media_type"], made["size"]) == (kind, len(data))
    answer, body = await content(browser, f"/api/files/{made['id']}/content")
    assert body == data
    assert answer.content_type == kind
    assert answer.headers["content-disposition"] == how
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"


@pytest.mark.parametrize("claimed", ["text/html", "image/svg+xml", "application/xhtml+xml"])
async def test_what_was_kept_as_a_page_is_not_served_as_one(
    served: Served, browser: Client, claimed: str
) -> None:
    """Tools and channels say themselves what it is that they keep."""

    async def page() -> AsyncGenerator[bytes]:
        yield b"<script>alert(1)</script>"

    blob = await served.engine.account.files.keep(page(), claimed)
    answer, _ = await content(browser, f"/api/files/{blob.id}/content")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment"


async def test_name_can_not_get_out_of_its_header(browser: Client) -> None:
    made = await upload(browser, b"Hello.")
    url = browser.served.url / f"api/files/{made['id']}/content"
    name = 'a"; x=y\r\nSet-Cookie: a=b\r\n\r\n<script>é.txt'
    async with browser.connections.get(url.with_query(name=name, save="true")) as answer:
        assert answer.status == 200
        assert "set-cookie" not in answer.headers
        disposition = answer.headers["content-disposition"]
    assert disposition.startswith("attachment; filename*=UTF-8''a%22%3B%20x%3Dy%0D%0ASet-Cookie")


async def test_file_is_only_for_whoever_uploaded_it(served: Served, browser: Client) -> None:
    made = await upload(browser, b"Mine.")
    bob = await served.engine.store.users.create(User(id=new_user_id(), name="Bob", role="admin"))
    async with served.browser(bob.id) as other:
        assert (await other.ask("GET", f"/api/files/{made['id']}"))[0] == 404
        assert (await other.ask("GET", f"/api/files/{made['id']}/content"))[0] == 404
        session = await other.session()
        attached = {"text": "Look", "files": [{"file": made["id"], "name": "mine.txt"}]}
        assert (await other.post(f"/api/sessions/{session}/turns", attached))[0] == 404


async def test_upload_that_is_too_large_leaves_nothing(
    served: Served, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "UPLOAD_LIMIT", 10_000)

    async def without_length() -> AsyncGenerator[bytes]:
        for _ in range(1000):
            yield b"x" * 1000

    url = served.url / "api/files"
    async with browser.connections.post(url, data=without_length()) as answer:
        assert answer.status == 413
    assert (await browser.ask("POST", "/api/files", data=b"x" * 10_001))[0] == 413
    blobs = served.engine.folder / "blobs"
    assert [path for path in blobs.rglob("*") if path.is_file()] == []


@pytest.fixture
async def small(folder: Path, server: ModelServer) -> AsyncGenerator[Served]:
    """With room for a megabyte of files."""
    limits = LimitsConfig(files_mb=Count(1))
    config = msgspec.structs.replace(config_for(folder, server), limits=limits)
    async with started(Served(folder, server, config=config)) as served:
        yield served


async def test_who_is_full_uploads_and_imports_no_more(small: Served) -> None:
    bob = await small.identities.people.create("Bob")
    async with small.browser() as browser, small.browser(bob.id) as other:
        made = await upload(browser, b"x" * 600_000)
        session = await browser.session()
        said = {"text": "This", "files": [{"file": made["id"], "name": "x"}]}
        assert (await browser.post(f"/api/sessions/{session}/turns", said))[0] == 202
        _, exported = await content(browser, f"/api/sessions/{session}/export")
        status, problem = await browser.ask("POST", "/api/files", data=b"y" * 600_000)
        assert (status, problem["type"]) == (507, "urn:roost:files-full")
        assert problem["detail"].startswith("Your files take 1 MB, and 1 MB is the limit")
        await upload(other, b"z" * 600_000)
        status, problem = await other.ask(
            "POST", "/api/import", data=exported, headers={"Content-Type": "application/json"}
        )
        assert (status, problem["type"]) == (507, "urn:roost:files-full")
        assert (await other.get("/api/sessions"))["sessions"] == []


async def test_attached_file_goes_to_the_model_as_what_it_is(
    served: Served, browser: Client, server: ModelServer
) -> None:
    made = await upload(browser, png(), kind="text/plain")
    session = await browser.session()
    server.plan(echo())
    attached = [{"file": made["id"], "name": "red.png"}]
    turn = await browser.send(session, "What is this?", files=attached)
    await served.engine.ended(TurnId(turn["id"]))
    (first, *_) = (await browser.get(f"/api/sessions/{session}/messages"))["messages"]
    (image,) = [part for part in first["parts"] if part["kind"] == "image"]
    assert (image["media_type"], image["name"]) == ("image/png", "red.png")
