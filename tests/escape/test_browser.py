"""Attempts of pages to reach through the browser what is not public, and to leave it.

Chromium is real. What it may not reach is a server of the test's own on loopback, so that even an
attempt that succeeds goes nowhere else; names lead to the test's own servers only."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import cast

import pytest
import pytest_asyncio

from roost.core.ids import new_session_id
from roost.tools.base import ToolError
from roost.tools.browser_action import Patience
from tests.browsing import DEADLINE, Browsing, browsing, ref_of
from tests.network import PUBLIC

# One Chromium for all of them: it takes seconds to start.
pytestmark = pytest.mark.asyncio(loop_scope="module")


class Secret(asyncio.DatagramProtocol):
    """What nobody may reach, on one port of loopback: counts who tries, by TCP and by UDP."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reached.append("TCP")
        writer.close()

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.reached.append("UDP")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secret() -> AsyncGenerator[Secret]:
    secret = Secret()
    async with await asyncio.start_server(secret.serve, "127.0.0.1", 0) as server:
        secret.port = server.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        address = ("127.0.0.1", secret.port)
        transport, _ = await loop.create_datagram_endpoint(lambda: secret, local_addr=address)
        yield secret
        transport.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    tmp_path_factory: pytest.TempPathFactory, secret: Secret
) -> AsyncGenerator[Browsing]:
    async with browsing(tmp_path_factory.mktemp("escape")) as shared:
        # Were the guard to let it through, the secret would be reached.
        shared.network.put("127.0.0.1", secret.port)
        # As long as a session has tabs, Chromium stays.
        await shared.refused("snapshot")
        yield shared


@pytest_asyncio.fixture(loop_scope="module")
async def browser(shared: Browsing, secret: Secret) -> AsyncGenerator[Browsing]:
    """At a harmless page, in a session of its own. Nobody reached the secret in the end."""
    shared.session = new_session_id()
    shared.tool = shared.with_patience(Patience())
    shared.site.pages.clear()
    shared.site.page("/", "<title>Harmless</title><h1>Harmless</h1>")
    shared.network.name("example.com", [PUBLIC])
    yield shared
    await shared.workspaces.end(shared.session)
    assert secret.reached == []
    assert all(spot.host != "127.0.0.1" for spot in shared.network.dialled)


async def tried(browser: Browsing, host: str) -> None:
    """Wait until the proxy has refused this host: the page has tried."""
    tabs = await browser.current()
    async with asyncio.timeout(DEADLINE):
        while tabs.why_refused(host) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


MAKE = "document.body.appendChild(document.createElement"
SCRIPTS = {
    "fetch": "fetch(TARGET, {mode: 'no-cors'})",
    "fetch with a body": "fetch(TARGET, {mode: 'no-cors', method: 'POST', body: 'x'})",
    "XMLHttpRequest": "const it = new XMLHttpRequest(); it.open('GET', TARGET); it.send()",
    "picture": "new Image().src = TARGET",
    "script": f"{MAKE}('script')).src = TARGET",
    "frame": f"{MAKE}('iframe')).src = TARGET",
    "object": f"{MAKE}('object')).data = TARGET",
    "video": f"{MAKE}('video')).src = TARGET",
    "style sheet": "document.head.append(Object.assign(document.createElement('link'),"
    " {rel: 'stylesheet', href: TARGET}))",
    "font": "new FontFace('x', `url(${TARGET})`).load().catch(() => 0)",
    "prefetch": "document.head.append(Object.assign(document.createElement('link'),"
    " {rel: 'prefetch', href: TARGET}))",
    "form": "const it = document.createElement('form'); it.method = 'POST'; it.action = TARGET;"
    " document.body.append(it); it.submit()",
    "another page": "location = TARGET",
    "another tab": "window.open(TARGET)",
    "beacon": "navigator.sendBeacon(TARGET, 'x')",
    "stream of events": "new EventSource(TARGET)",
    "web socket": "new WebSocket(TARGET.replace('http', 'ws'))",
    "worker": "window.kept = new Worker(URL.createObjectURL(new Blob("
    "[`fetch('${TARGET}', {mode: 'no-cors'})`])))",
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
async def test_page_that_tries_loopback_by(browser: Browsing, secret: Secret, script: str) -> None:
    await browser("open", url="http://example.com/")
    url = f"http://127.0.0.1:{secret.port}/"
    await browser.evaluated(f"() => {{ const TARGET = '{url}'; {script} }}")
    await tried(browser, f"127.0.0.1:{secret.port}")


HOSTS = ["localhost", "sub.localhost", "127.8.8.8", "2130706433", "0x7f.1", "0", "[::1]"]


@pytest.mark.parametrize("host", HOSTS)
async def test_page_that_spells_loopback(browser: Browsing, secret: Secret, host: str) -> None:
    await browser("open", url="http://example.com/")
    url = f"http://{host}:{secret.port}/"
    plain = cast("str", await browser.evaluated(f"new URL('{url}').host"))
    await browser.evaluated(f"() => {{ fetch('{url}', {{mode: 'no-cors'}}) }}")
    await tried(browser, plain)


async def test_redirect_to_loopback(browser: Browsing, secret: Secret) -> None:
    browser.site.redirect("/away", f"http://127.0.0.1:{secret.port}/")
    await browser("open", url="http://example.com/away")
    await tried(browser, f"127.0.0.1:{secret.port}")


async def test_refresh_to_loopback(browser: Browsing, secret: Secret) -> None:
    url = f"http://127.0.0.1:{secret.port}/"
    browser.site.page("/away", f'<meta http-equiv="refresh" content="0; url={url}">')
    await browser("open", url="http://example.com/away")
    await tried(browser, f"127.0.0.1:{secret.port}")


async def test_name_that_changes_its_answer(browser: Browsing) -> None:
    """DNS rebinding: every connection is looked up anew, and none goes to another address than
    the one that was checked."""
    browser.network.name("evil.example", [PUBLIC])
    await browser("open", url="http://evil.example/")
    browser.network.name("evil.example", ["127.0.0.1"])  # Chromium may have looked more than once
    await browser.evaluated("() => { fetch('/again') }")
    await tried(browser, "evil.example")


async def test_name_with_private_and_public_addresses(browser: Browsing) -> None:
    browser.network.name("evil.example", [PUBLIC, "10.0.0.1"])
    said = await browser.refused("open", url="http://evil.example/")
    assert said == "evil.example can't be reached from here: it is not a public address."


async def test_calls_between_browsers_send_nothing(browser: Browsing, secret: Secret) -> None:
    await browser("open", url="http://example.com/")
    servers = [
        {"urls": f"stun:127.0.0.1:{secret.port}"},
        {"urls": f"turn:127.0.0.1:{secret.port}", "username": "a", "credential": "b"},
        {
            "urls": f"turn:127.0.0.1:{secret.port}?transport=tcp",
            "username": "a",
            "credential": "b",
        },
    ]
    found = await browser.evaluated(
        """() => new Promise(async resolve => {
            const call = new RTCPeerConnection({iceServers: SERVERS});
            const found = [];
            call.onicecandidate = event => event.candidate && found.push(event.candidate.candidate);
            call.onicegatheringstatechange = () =>
                call.iceGatheringState === 'complete' && resolve(found);
            call.createDataChannel('x');
            await call.setLocalDescription(await call.createOffer());
        })""".replace("SERVERS", str(servers))
    )
    assert found == []


OPENED = {
    "a file": "file:///etc/passwd",
    "data": "data:text/html,<h1>hello</h1>",
    "a script": "javascript:document.title",
    "the source of a page": "view-source:http://example.com/",
    "Chromium's own pages": "chrome://version",
    "its settings": "chrome://settings",
    "its inspector": "devtools://devtools/bundled/inspector.html",
    "an extension": "chrome-extension://abc/",
    "nothing": "about:blank",
    "loopback": "http://127.0.0.1/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "a private address": "https://10.0.0.1/",
    "a password": "http://ada:word@example.com/",
    "mail": "http://example.com:25/",
}


@pytest.mark.parametrize("url", OPENED.values(), ids=OPENED.keys())
async def test_agent_that_opens(browser: Browsing, url: str) -> None:
    said = await browser.refused("open", url=url)
    assert "can't be reached from here" in said or "ERR_UNSAFE_PORT" in said


@pytest.mark.parametrize(
    "href", ["file:///etc/passwd", "chrome://version", "view-source:http://example.com/"]
)
async def test_link_out_of_the_web(browser: Browsing, href: str) -> None:
    browser.site.page("/", f"<a href='{href}'>Out</a><a href='{href}' target=_blank>Away</a>")
    page = await browser("open", url="http://example.com/")
    await browser("click", ref=ref_of(page, "Out"))
    page = await browser("snapshot")
    assert page.startswith("From http://example.com/ ")
    await browser("click", ref=ref_of(page, "Away"))
    tabs = await browser("tabs")
    assert href.partition(":")[0] + ":" not in tabs


async def test_frame_of_a_file_stays_empty(browser: Browsing) -> None:
    browser.tool = browser.with_patience(Patience(see=2000))
    browser.site.page("/", "<h1>Here</h1><iframe src='file:///etc/passwd'></iframe>")
    assert "root:" not in await browser("open", url="http://example.com/")


async def test_file_of_this_machine_is_not_sent(browser: Browsing) -> None:
    browser.site.page("/", "<label>File <input type=file></label>")
    page = await browser("open", url="http://example.com/")
    await browser.refused("type", ref=ref_of(page, "File"), text="/etc/passwd")
    assert await browser.evaluated("document.querySelector('input').files.length") == 0


async def test_download_is_refused(browser: Browsing) -> None:
    browser.site.page("/file", b"x" * 100, "application/zip", Content_Disposition="attachment")
    browser.site.page("/", "<h1>Here</h1><a href=/file download>Get it</a>")
    page = await browser("open", url="http://example.com/")
    page = await browser("click", ref=ref_of(page, "Get it"))
    tabs = await browser.current()
    async with asyncio.timeout(DEADLINE):
        while "wanted to download" not in page + " ".join(tabs.notes):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_permissions_are_not_given(browser: Browsing) -> None:
    await browser("open", url="http://example.com/")
    state = "navigator.permissions.query({name: NAME}).then(it => it.state)"
    for name in ("geolocation", "notifications"):
        assert await browser.evaluated(state.replace("NAME", f"'{name}'")) != "granted"
    assert await browser.evaluated("navigator.serviceWorker === undefined")


async def test_tabs_without_end(browser: Browsing) -> None:
    """Each of which opens more."""
    browser.site.page("/", "<h1>Here</h1><script>for (let i = 0; i < 50; i++) open('/')</script>")
    await browser("open", url="http://example.com/")
    assert 'heading "Here"' in await browser("snapshot")
    assert (await browser("tabs")).count("\n") < 10


async def test_page_that_computes_without_end(browser: Browsing) -> None:
    browser.site.page("/", "<h1>Here</h1><button onclick='for (;;);'>Hang</button>")
    browser.site.page("/two", "<h1>Elsewhere</h1>")
    page = await browser("open", url="http://example.com/")
    browser.tool = browser.with_patience(Patience(load=10_000, act=2000, see=2000))
    await browser.refused("click", ref=ref_of(page, "Hang"))
    assert "Elsewhere" in await browser("open", url="http://example.com/two")


async def test_dialogs_without_end(browser: Browsing) -> None:
    browser.site.page("/", "<h1>Here</h1><script>setInterval(() => alert('x'), 1)</script>")
    browser.site.page("/two", "<h1>Elsewhere</h1>")
    tabs = await browser.current()
    browser.tool = browser.with_patience(Patience(load=10_000, act=2000, see=2000))
    with suppress(ToolError):  # its tab may be closed in the middle of it
        await browser("open", url="http://example.com/")
    assert "Elsewhere" in await browser("open", url="http://example.com/two")
    assert len(tabs.notes) <= 10


async def test_others_on_this_machine_do_not_get_through(browser: Browsing) -> None:
    await browser("open", url="http://example.com/")
    proxy = browser.browser.proxy_url
    _, _, port = proxy.rpartition(":")
    asked = len(browser.site.asked)
    for credentials in (b"", b"Proxy-Authorization: Basic " + base64.b64encode(b"a:b") + b"\r\n"):
        for target in (b"CONNECT example.com:443", b"GET http://example.com/"):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
            writer.write(target + b" HTTP/1.1\r\n" + credentials + b"\r\n")
            async with asyncio.timeout(DEADLINE):
                assert (await reader.read()).startswith(b"HTTP/1.1 407 ")
            writer.close()
            await writer.wait_closed()
    assert len(browser.site.asked) == asked
