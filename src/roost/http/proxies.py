"""Where a request really came from, if one of our own proxies says so."""

import ipaddress
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from roost.core.errors import ConfigError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Proxied:
    """Takes `X-Forwarded-For`, `-Proto` and `-Host` from configured addresses, and from nobody
    else. Of several values the last counts: the others are what the client sent."""

    def __init__(self, app: ASGIApp, *, proxies: Iterable[str]) -> None:
        self._app = app
        self._networks = [_network(proxy) for proxy in proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._networks and self._trusts(scope):
            scope = self._real(scope)
        await self._app(scope, receive, send)

    def _trusts(self, scope: Scope) -> bool:
        client: tuple[str, int] | None = scope.get("client")
        return client is not None and self._is_ours(client[0])

    def _is_ours(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        return any(found in network for network in self._networks)

    def _real(self, scope: Scope) -> Scope:
        given = Headers(scope=scope)
        real: Scope = {**scope, "headers": list(scope["headers"])}
        if (scheme := _last(given, "x-forwarded-proto")) in ("http", "https"):
            real["scheme"] = scheme
        if host := _last(given, "x-forwarded-host"):
            MutableHeaders(scope=real)["host"] = host
        chain = _values(given, "x-forwarded-for")
        # From our end: the first that is not one of our proxies is who asked.
        others = [address for address in reversed(chain) if not self._is_ours(address)]
        if others:
            real["client"] = (others[0], 0)
        return real


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        raise ConfigError(
            f"server.proxies has {text[:80]!r}, which is no address and no network."
        ) from None


def _values(headers: Headers, name: str) -> list[str]:
    return [
        value
        for line in headers.getlist(name)
        for part in line.split(",")
        if (value := part.strip())
    ]


def _last(headers: Headers, name: str) -> str | None:
    values = _values(headers, name)
    return values[-1] if values else None
