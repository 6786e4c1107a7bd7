"""Taking an address, and giving it back."""

import asyncio
import socket

import pytest
from starlette.applications import Starlette

from roost.core.errors import AddressUnusable, PortTaken
from roost.http.server import address, bind, serve
from tests.ports import held, number

NOTHING = Starlette()


def test_port_zero_takes_a_free_port() -> None:
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert port > 0
        assert address(listener) == f"http://127.0.0.1:{port}"


def test_ipv6_address_is_bracketed() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    with bind("::1", 0) as listener:
        assert address(listener) == f"http://[::1]:{listener.getsockname()[1]}"


def test_taken_port_is_named() -> None:
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(PortTaken, match=f"Port {port} on 127.0.0.1 is taken"):
            bind("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("192.0.2.1", "cannot assign requested address"),
        ("no-such-host.invalid", "no such host is known"),
        ("x" * 70, "no such host is known"),
    ],
)
def test_address_that_is_not_ours_is_refused_with_a_reason(host: str, reason: str) -> None:
    with pytest.raises(AddressUnusable, match=f"can't listen on {host}, port 0: {reason}. Choose"):
        bind(host, 0)


async def test_stopping_frees_the_port() -> None:
    ready, stop = asyncio.Event(), asyncio.Event()
    with held() as holder:
        listener = bind("127.0.0.1", number(holder))
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            serving = serve(NOTHING, listener, ready=ready.set, stop=stop, log_requests=False)
            tasks.create_task(serving)
            await ready.wait()
            with pytest.raises(PortTaken):
                bind("127.0.0.1", number(holder))
            stop.set()
        bind("127.0.0.1", number(holder)).close()


async def test_stop_before_the_start_serves_nothing() -> None:
    stop = asyncio.Event()
    stop.set()
    async with asyncio.timeout(60):
        await serve(
            NOTHING,
            bind("127.0.0.1", 0),
            ready=lambda: None,
            stop=stop,
            log_requests=False,
        )
