"""The `fetch` tool, called as an agent calls it."""

import struct
from collections.abc import AsyncGenerator

import msgspec
import pytest

from roost.core.ids import BlobId
from roost.core.messages import ImagePart, TextPart, plain_text
from roost.tools.base import Tool, ToolError, ToolOutput
from roost.tools.download import Downloads
from roost.tools.web import CHARACTERS, Web
from tests.network import PUBLIC, Network, Site, served
from tests.unit.tools.calling import context_of, written

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 4, 3) + bytes(20)


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
async def fetch(site: Site) -> AsyncGenerator[Tool]:
    network = Network()
    network.name("example.com", [PUBLIC])
    async with served(site) as port:
        network.put(PUBLIC, port)
        yield Web(Downloads(network.guard, limit=100_000)).tools()[0]


async def call(tool: Tool, url: str, offset: int = 0) -> ToolOutput:
    return await tool.run(written(url=url, offset=offset), context_of())


async def test_a_page_says_where_it_is_from(fetch: Tool, site: Site) -> None:
    site.redirect("/", "/birds")
    site.page("/birds", "<title>Birds</title><h1>Birds</h1><p>They <a href=fly>fly</a>.")
    got = await call(fetch, "http://example.com/")
    assert plain_text(got.content) == (
        "From http://example.com/birds (Birds)\n\n# Birds\n\nThey [fly](http://example.com/fly)."
    )
    assert not got.error


@pytest.mark.parametrize("kind", ["application/json", "text/csv", "application/vnd.x+json", ""])
async def test_data_comes_as_it_is(fetch: Tool, site: Site, kind: str) -> None:
    site.page("/data", '{"a": "<b>"}', kind)
    got = await call(fetch, "http://example.com/data")
    assert plain_text(got.content) == 'From http://example.com/data\n\n{"a": "<b>"}'


async def test_a_long_page_is_read_in_parts(fetch: Tool, site: Site) -> None:
    lines = [f"line {number}" for number in range(5000)]
    site.page("/long", "\n".join(lines), "text/plain")
    read: list[str] = []
    offset = 0
    while True:
        said = plain_text((await call(fetch, "http://example.com/long", offset)).content)
        part = said.partition("\n\n")[2]
        text, more, note = part.partition("\n\n[")
        assert len(text) <= CHARACTERS
        read += text.splitlines()
        if not more:
            break
        offset = int(note.partition("offset=")[2].rstrip(".]"))
    assert read == lines
    with pytest.raises(ToolError, match="past its end"):
        await call(fetch, "http://example.com/long", 10**6)


async def test_a_picture_is_shown(fetch: Tool, site: Site) -> None:
    site.page("/cat.png", PNG, "image/png")
    kept: dict[BlobId, bytes] = {}

    async def keep(data: bytes, media_type: str) -> BlobId:
        kept[BlobId(media_type)] = data
        return BlobId(media_type)

    got = await fetch.run(written(url="http://example.com/cat.png"), context_of(keep=keep))
    words, picture = got.content
    assert words == TextPart("From http://example.com/cat.png")
    assert isinstance(picture, ImagePart)
    assert kept[picture.blob] == PNG
    assert (picture.media_type, picture.name) == ("image/png", "cat.png")


async def test_no_picture_passes_for_one(fetch: Tool, site: Site) -> None:
    site.page("/cat.png", "<h1>Not found</h1>", "image/png")
    with pytest.raises(ToolError, match="no PNG, JPEG, GIF or WebP picture"):
        await call(fetch, "http://example.com/cat.png")
    site.page("/cat.png", PNG[:16] + struct.pack(">II", 9000, 1) + bytes(20), "image/png")
    with pytest.raises(ToolError, match="too large a picture"):
        await call(fetch, "http://example.com/cat.png")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("application/pdf", "is a PDF of 4 bytes"),
        ("application/zip", r"is no text \(application/zip\)"),
        ("text/plain", r"is no text \(text/plain\)"),
    ],
)
async def test_what_can_not_be_read(fetch: Tool, site: Site, kind: str, said: str) -> None:
    site.page("/file", b"\0\1\2\3", kind)
    with pytest.raises(ToolError, match=said):
        await call(fetch, "http://example.com/file")


async def test_what_a_server_refuses_is_an_error_with_its_words(fetch: Tool) -> None:
    got = await call(fetch, "http://example.com/nothing")
    assert got.error
    assert plain_text(got.content) == (
        "From http://example.com/nothing\nThe server answered 404 Not Found.\n\n"
        "There is nothing here."
    )


async def test_a_page_without_text_says_so(fetch: Tool, site: Site) -> None:
    site.page("/", "<script>draw()</script>")
    assert "no text in it" in plain_text((await call(fetch, "http://example.com/")).content)


async def test_what_it_would_do_is_the_usual_spelling_of_the_address(fetch: Tool) -> None:
    intent = await fetch.intent(written(url="HTTP://Example.com.:80/a#b"), context_of())
    assert intent is not None
    assert (intent.does, intent.subject, intent.asks) == (
        "Fetch a page",
        "http://example.com/a",
        False,
    )


def test_it_takes_little_room(fetch: Tool) -> None:
    assert len(msgspec.json.encode(fetch.schema)) < 500
