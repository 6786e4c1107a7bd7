"""Tries to sign in by a password: how many of a name, and from an address, are let through."""

import contextlib
import hashlib
import ipaddress
from collections.abc import Callable, Generator

from roost.core.errors import TooManyTries
from roost.core.users import folded
from roost.runtime.throttle import Throttle

_FREE_OF_NAME = 5
_FREE_FROM_ADDRESS = 20


class Attempt:
    def __init__(self) -> None:
        self.good = False

    def succeeded(self) -> None:
        self.good = True


class Attempts:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._names = Throttle(clock, free=_FREE_OF_NAME)
        self._addresses = Throttle(clock, free=_FREE_FROM_ADDRESS)

    @contextlib.contextmanager
    def one(self, name: str, address: str) -> Generator[Attempt]:
        """A try, from before it is known how it goes. TooManyTries if it has to wait: then it is
        not counted, so that whoever waits gets through."""
        name, address = _key(name), _network(address)
        if wait := max(self._addresses.wait(address), self._names.wait(name)):
            raise TooManyTries(wait)
        self._addresses.count(address)
        self._names.count(name)
        attempt = Attempt()
        try:
            yield attempt
        except TooManyTries:
            # Nobody looked at it.
            self._addresses.forgive(address)
            self._names.forgive(name)
            raise
        finally:
            if attempt.good:
                # Only this one of the address: an account of one's own is no way to guess others'.
                self._addresses.forgive(address)
                self._names.forget(name)


def _key(name: str) -> str:
    """Of a fixed length, whatever somebody sends as a name."""
    given = folded(name).encode(errors="surrogatepass")
    return hashlib.blake2b(given, digest_size=16).hexdigest()


def _network(address: str) -> str:
    """An address, or of IPv6 the network that one customer has to themselves."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "elsewhere"
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
