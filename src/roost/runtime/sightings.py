"""When sign-ins and tokens were last used, written down beside the requests, a minute at a time."""

import asyncio

import structlog

from roost.core.clock import Clock
from roost.core.ids import ApiTokenId, SignInId
from roost.store.store import Store

log = structlog.stdlib.get_logger("roost.identities")

EVERY = 60.0
"""Seconds. It is known to about that when something was used."""


class Sightings:
    """A browser that is seen stays signed in for another `ttl` seconds."""

    def __init__(self, store: Store, clock: Clock, *, ttl: float) -> None:
        self._store = store
        self._clock = clock
        self._ttl = ttl
        self._sign_ins: set[SignInId] = set()
        self._tokens: set[ApiTokenId] = set()
        self._wake = asyncio.Event()

    def saw_sign_in(self, id: SignInId, seen_at: int | None) -> None:
        if self._is_due(seen_at):
            self._sign_ins.add(id)
            self._wake.set()

    def saw_token(self, id: ApiTokenId, used_at: int | None) -> None:
        if self._is_due(used_at):
            self._tokens.add(id)
            self._wake.set()

    def _is_due(self, last: int | None) -> bool:
        # Either way: a clock that was set back must not keep a browser from being seen.
        return last is None or abs(self._clock.now() - last) >= EVERY * 1000

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            try:
                await self.write()
            except Exception:
                log.exception("it could not be noted who was seen; it is with the next")
            await asyncio.sleep(EVERY)

    async def write(self) -> None:
        """Note all that was seen since the last time."""
        self._wake.clear()
        sign_ins, self._sign_ins = self._sign_ins, set()
        tokens, self._tokens = self._tokens, set()
        if sign_ins:
            await self._store.sign_ins.touch(sign_ins, self._ttl)
        if tokens:
            await self._store.tokens.touch(tokens)
