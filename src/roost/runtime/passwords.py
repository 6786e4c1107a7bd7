"""Passwords: what may be one, and their hashing, which is slow by intent and off the loop."""

import asyncio
import base64
import secrets
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import structlog
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from roost.core.errors import InvalidInput, TooManyTries

log = structlog.stdlib.get_logger("roost.identities")

T = TypeVar("T")

SHORTEST = 10
LONGEST = 1000

# What RFC 9106 recommends where memory is short. Written down here, so that a newer argon2-cffi
# does not change by itself what sign-ins cost.
_HASHER = PasswordHasher(time_cost=3, memory_cost=65536, parallelism=4, hash_len=32, salt_len=16)

_AT_ONCE = 2
"""Each takes 64 MB while it lasts."""

_WAITING = 32
_BUSY_SECONDS = 2


class Passwords:
    def __init__(self, hasher: PasswordHasher = _HASHER) -> None:
        self._hasher = hasher
        self._nobodys = _hash_of_nothing(hasher)
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="roost-password")
        self._waiting = 0

    async def hash(self, password: str) -> str:
        """InvalidInput if it can't be a password; that does not repeat it."""
        given = unicodedata.normalize("NFC", password)
        if not SHORTEST <= len(given) <= LONGEST:
            raise InvalidInput(f"A password has {SHORTEST} to {LONGEST} characters.")
        return await self.rehash(given)

    async def rehash(self, password: str) -> str:
        """Of one that was taken before, whatever is asked of new ones now."""
        given = _bytes(unicodedata.normalize("NFC", password))
        return await self._run(lambda: self._hasher.hash(given))

    async def check(self, hash: str | None, password: str) -> bool:
        """Without a hash it is as much work, and False: time does not tell who has one."""
        given = _bytes(unicodedata.normalize("NFC", password[:LONGEST]))
        matches = await self._run(lambda: self._matches(hash or self._nobodys, given))
        return matches and hash is not None and len(password) <= LONGEST

    def is_outdated(self, hash: str) -> bool:
        """It was made with other parameters than are used now."""
        return self._hasher.check_needs_rehash(hash)

    def _matches(self, hash: str, given: bytes) -> bool:
        try:
            return self._hasher.verify(hash, given)
        except VerificationError:
            return False
        except InvalidHashError:
            log.error("a stored password can't be read; set it anew with `roost user password`")
            return False

    async def _run(self, work: Callable[[], T]) -> T:
        if self._waiting >= _WAITING:
            raise TooManyTries(_BUSY_SECONDS)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1


def _bytes(password: str) -> bytes:
    return password.encode(errors="surrogatepass")


def _hash_of_nothing(hasher: PasswordHasher) -> str:
    """Reads like any other, and nobody knows a password for it."""
    salt, digest = (
        base64.b64encode(secrets.token_bytes(size)).decode().rstrip("=")
        for size in (hasher.salt_len, hasher.hash_len)
    )
    costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${costs}${salt}${digest}"
