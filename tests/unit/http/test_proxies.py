"""Behind a proxy: only ours is believed."""

from collections.abc import Sequence

import pytest
from starlette.types import Receive, Scope, Send

from roost.core.errors import ConfigError
from roost.http.proxies import Proxied

FORWARDED = [
    (b"host", b"10.0.0.2:7667"),
    (b"x-forwarded-for", b"6.6.6.6, 203.0.113.9"),
    (b"x-forwarded-for", b"10.0.0.3"),
    (b"x-forwarded-proto", b"http, https"),
    (b"x-forwarded-host", b"roost.example"),
]


async def seen_from(
    address: str, *proxies: str, headers: Sequence[tuple[bytes, bytes]] = FORWARDED
) -> tuple[str, str, str]:
    """Who asks, how, and for what name, as the application sees it."""
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)

    async def receive() -> dict[str, object]:
        raise AssertionError

    async def send(message: object) -> None:
        raise AssertionError

    scope: Scope = {"type": "http", "scheme": "http", "client": (address, 1), "headers": headers}
    await Proxied(app, proxies=proxies)(scope, receive, send)
    host = dict(seen[0]["headers"])[b"host"].decode()
    return seen[0]["client"][0], seen[0]["scheme"], host


async def test_our_proxy_says_who_asks() -> None:
    told = ("203.0.113.9", "https", "roost.example")
    assert await seen_from("10.0.0.2", "10.0.0.0/8") == told
    assert await seen_from("::ffff:10.0.0.2", "10.0.0.0/8") == told


async def test_scheme_that_is_none_of_the_web_is_not_taken() -> None:
    headers = [(b"host", b"roost.example"), (b"x-forwarded-proto", b"wss")]
    seen = await seen_from("10.0.0.2", "10.0.0.2", headers=headers)
    assert seen == ("10.0.0.2", "http", "roost.example")


@pytest.mark.parametrize("proxies", [(), ("10.0.0.1",), ("::1",)])
async def test_nobody_else_is_believed(proxies: tuple[str, ...]) -> None:
    assert await seen_from("10.0.0.2", *proxies) == ("10.0.0.2", "http", "10.0.0.2:7667")


def test_proxy_that_is_no_address_is_named() -> None:
    with pytest.raises(ConfigError, match=r"server\.proxies has 'my-proxy'"):
        Proxied(_nothing, proxies=("my-proxy",))


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None: ...
