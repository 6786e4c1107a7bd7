"""Identities under test: on a real store, with passwords that are hashed in no time."""

from argon2 import PasswordHasher

from roost.core.errors import NotSignedIn
from roost.core.identities import Principal
from roost.core.keys import Key
from roost.runtime.identities import Identities
from roost.runtime.passwords import Passwords
from roost.store.store import Store
from roost.testing.clock import FakeClock

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
RIGHT, WRONG = "correct horse battery", "wrong horse battery"
HOME = "192.0.2.1"


def identities_of(store: Store, clock: FakeClock) -> Identities:
    """One clock moves them all."""
    return Identities(
        store, clock, passwords=Passwords(QUICK), monotonic=lambda: clock.now() / 1000
    )


async def opens(identities: Identities, secret: Key) -> Principal | None:
    """Whom it belongs to, as a cookie or as a token."""
    text = secret.reveal()
    try:
        if text.startswith("roost_"):
            return await identities.authenticate(bearer=text)
        return await identities.authenticate(cookie=text)
    except NotSignedIn:
        return None
