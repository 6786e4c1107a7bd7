"""Which addresses of the network agents may reach: public ones, checked where they are dialled."""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple

from yarl import URL

from roost.core.errors import AddressRefused

Address = IPv4Address | IPv6Address
Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""All addresses of a name; an OSError if it has none."""

LOOKUP_SECONDS = 10.0
CONNECT_SECONDS = 5.0

# What IANA sets apart, and the one public address that a cloud keeps for its metadata. Python's
# `is_global` is no substitute: it calls multicast, and 192.0.0.192, global.
_NOT_PUBLIC_4 = [
    ip_network(each)
    for each in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",
    )
]
_PUBLIC_6 = ip_network("2000::/3")
# Teredo and 6to4 are among them: an IPv4 address hides in those.
_NOT_PUBLIC_6 = [
    ip_network(each) for each in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]
_NAT64 = ip_network("64:ff9b::/96")

_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "home.arpa", "lan")
_PORTS = (80, 443)
# From 1024 on these are not for the web either: file sharing, telephony, X, chat, databases.
_OTHER_SERVICES = frozenset(
    [
        *(1719, 1720, 1723, 2049, 3306, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566),
        *(6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211, 27017),
    ]
)


class Spot(NamedTuple):
    """An address, not a name, and a port."""

    host: str
    port: int


def is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    if address in _NAT64:
        return is_public(IPv4Address(address.packed[-4:]))
    return address in _PUBLIC_6 and not any(address in network for network in _NOT_PUBLIC_6)


def is_own(address: Address) -> bool:
    """Whether it is one of this machine's: what listens there may count on a firewall outside."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        # Connecting a datagram socket sends nothing; it only chooses where one would come from.
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return ip_address(probe.getsockname()[0]) == address
    except OSError:
        return False


async def look_up(host: str) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys([str(each[4][0]) for each in found]))


def read_url(text: str) -> URL:
    """An address of the web as a model, a page or a server wrote it."""
    text = text.strip(" \t\r\n")
    if re.search(r"[\x00-\x20\x7f]", text) or "\\" in text.partition("?")[0]:
        raise AddressRefused("it has spaces, backslashes or worse in it.", address=_shown(text))
    try:
        url = URL(text)
    except ValueError as error:
        raise AddressRefused("it is not written correctly.", address=_shown(text)) from error
    if url.scheme not in ("http", "https"):
        raise AddressRefused("only http:// and https:// can.", address=_shown(text))
    if url.raw_user is not None or url.raw_password is not None:
        raise AddressRefused("leave out the name and password.", address=_shown(str(url.host)))
    if not url.raw_host:
        raise AddressRefused("it names no host.", address=_shown(text))
    return url


def usual(text: str) -> str:
    """The address in its one usual spelling, for rules to match; as it is, if it is none."""
    try:
        url = read_url(text)
        assert url.raw_host is not None
        plain = url.with_host(url.raw_host.removesuffix(".")).with_fragment(None)
    except (AddressRefused, ValueError):
        return text
    return str(plain.with_port(None) if plain.is_default_port() else plain)


class Guard:
    """Says where to connect for a host: only to what was checked, without a second lookup, so that
    a name can't mean something else by then. `dial` says how a checked address is reached; tests
    have their own, which leads to nothing but themselves."""

    def __init__(
        self,
        *,
        resolve: Resolve = look_up,
        dial: Callable[[Spot], Spot] = lambda spot: spot,
        own: Callable[[Address], bool] = is_own,
    ) -> None:
        self._resolve = resolve
        self._dial = dial
        self._own = own

    async def spots(self, host: str, port: int) -> Sequence[Spot]:
        """Where the host is; an AddressRefused if any of it is not public."""
        name = _plain_name(host)
        if port not in _PORTS and (port < 1024 or port in _OTHER_SERVICES):
            raise AddressRefused(f"port {port} is not for the web.", address=name)
        for address in (addresses := await self._addresses(name)):
            if not is_public(address) or self._own(address):
                raise AddressRefused("it is not a public address.", address=name)
        return [self._dial(Spot(str(address), port)) for address in addresses]

    async def connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the first that answers; an OSError (TimeoutError too) if none does."""
        trouble: OSError = OSError("no address")
        for spot in await self.spots(host, port):
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(*spot)
            except OSError as error:
                trouble = error
        raise trouble

    async def _addresses(self, name: str) -> Sequence[Address]:
        if (literal := _literal(name)) is not None:
            return [literal]
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                found = await self._resolve(name)
        except TimeoutError as error:
            raise AddressRefused("looking it up took too long.", address=name) from error
        except (OSError, UnicodeError) as error:
            raise AddressRefused("there is no such host.", address=name) from error
        if not found:
            raise AddressRefused("there is no such host.", address=name)
        return [ip_address(each) for each in found]


def _plain_name(host: str) -> str:
    """The host in lower case, without the dot at its end; refused if it can only be local."""
    name = host.lower().removesuffix(".")
    if ":" not in name and not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", name):
        raise AddressRefused("it is not the name of a host.", address=_shown(host))
    if any(name == local or name.endswith(f".{local}") for local in _LOCAL_NAMES):
        raise AddressRefused("it is not a public address.", address=name)
    return name


def _literal(name: str) -> Address | None:
    """The address that is written out, if one is. A number that is not written like one
    (0x7f.1, 2130706433, 0177.0.0.1) is read as an address by some and as a name by others."""
    try:
        address = ip_address(name)
    except ValueError:
        last = name.rpartition(".")[2]
        if ":" in name or re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last):
            raise AddressRefused("it is not written correctly.", address=_shown(name)) from None
        return None
    if "%" in name:
        raise AddressRefused("it is not a public address.", address=_shown(name))
    return address


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else f"{text[:100]}…")
