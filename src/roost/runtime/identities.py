"""Who may use this Roost: signing in, sign-ins and tokens, and whom a request comes from."""

import asyncio
import hmac
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

import structlog

from roost.core.clock import Clock
from roost.core.errors import InvalidInput, NotAllowed, NotSignedIn, SignInRefused
from roost.core.identities import (
    FOR_ADMINS,
    SCOPES,
    ApiToken,
    NewApiToken,
    Principal,
    SignedIn,
    SignIn,
    clean_scopes,
    clean_token_name,
    could_be_secret,
    could_be_token,
    hash_of,
    new_secret,
    new_token,
)
from roost.core.ids import ApiTokenId, SignInId, UserId, new_sign_in_id
from roost.core.keys import Key
from roost.runtime.attempts import Attempts
from roost.runtime.departures import Departures
from roost.runtime.passwords import Passwords
from roost.runtime.people import People
from roost.runtime.persistence import persisted
from roost.runtime.principals import Known, Principals
from roost.runtime.sightings import Sightings
from roost.store.sign_ins import Admitted, NewSignIn
from roost.store.signals import Signals
from roost.store.store import Store

log = structlog.stdlib.get_logger("roost.identities")

DAY = 86_400.0
SIGNED_IN = 30 * DAY
"""Seconds for which a browser stays signed in after it was last seen."""

LINK = 15 * 60.0
FIRST_LINK = DAY

_LONGEST_AGENT = 200
_BAD_LINK = (
    "This link has been used, has expired, or is not one. Make a new one: `roost user link`."
)
_BAD_PASSWORD = "The name or the password is not right."  # noqa: S105
_ALL = frozenset(SCOPES)


class Identities:
    """`departures` stops what runs for those who are not let in any more, where anything runs.
    `monotonic` is for what is kept in memory and must not follow a clock that is set."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        departures: Departures | None = None,
        passwords: Passwords | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._passwords = passwords or Passwords()
        self._attempts = Attempts(monotonic)
        signals = store.signals
        told = None if signals is None else partial(signals.tell, people=True)
        self._principals = Principals(monotonic, told=told)
        self._local: tuple[ApiTokenId, bytes] | None = None
        self.sightings = Sightings(store, clock, ttl=SIGNED_IN)
        self.people = People(
            store, self._principals, self._passwords, self._attempts, departures=departures
        )

    async def run(self) -> None:
        """Keeps track of what is used, and of what is revoked on other servers, for as long as
        requests are answered."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.sightings.run())
            if self._store.signals is not None:
                group.create_task(self._hear(self._store.signals))

    async def _hear(self, signals: Signals) -> None:
        """A word that is lost is made up for: nothing is remembered for longer than a moment."""
        async for told in signals.listen():
            if told.people:
                self._principals.forget()

    # Links.

    async def link(self, user: UserId, *, seconds: float = LINK) -> Key:
        """The secret of a link that signs in one browser, once. Unused ones before it are void."""
        secret, id = new_secret(), new_sign_in_id()
        links = self._store.of(user).sign_ins
        await persisted(partial(links.add_link, id, hash_of(secret.reveal()), seconds))
        log.info("a sign-in link was made", user=user)
        return secret

    async def first_link(self) -> Key | None:
        """One for the owner, of a Roost that nobody has signed in to and where nobody has a
        password."""
        owner = await self.people.owner()
        secret, id = new_secret(), new_sign_in_id()
        first = partial(
            self._store.sign_ins.first_link, owner.id, id, hash_of(secret.reveal()), FIRST_LINK
        )
        return secret if owner.disabled_at is None and await persisted(first) else None

    # Signing in. Each time with a new secret: nobody can know it beforehand.

    async def sign_in_with_link(self, secret: str, agent: str | None) -> SignedIn:
        if not could_be_secret(secret):
            raise SignInRefused(_BAD_LINK)
        cookie = new_secret()
        new = _new_sign_in(cookie, agent)
        redeem = partial(self._store.sign_ins.redeem, hash_of(secret), new)
        return _signed_in(await persisted(redeem), cookie, _BAD_LINK)

    async def sign_in_with_password(
        self, name: str, password: str, agent: str | None, address: str
    ) -> SignedIn:
        """`address` is whom the request came from. TooManyTries says how long to wait."""
        with self._attempts.one(name, address) as attempt:
            found = await self._store.users.credentials(name)
            hash = None if found is None else found.password
            right = await self._passwords.check(hash, password)
            if found is None or hash is None or not right:
                log.warning("a sign-in was refused", address=address)
                raise SignInRefused(_BAD_PASSWORD)
            cookie = new_secret()
            sign_ins, new = self._store.of(found.user).sign_ins, _new_sign_in(cookie, agent)
            admitted = await persisted(partial(sign_ins.add, new, checked=hash))
            signed_in = _signed_in(admitted, cookie, _BAD_PASSWORD)
            attempt.succeeded()
        await self._refresh(found.user, hash, password)
        return signed_in

    async def _refresh(self, user: UserId, hash: str, password: str) -> None:
        """Bring a password up to what is asked of hashes now: only here it is known."""
        if self._passwords.is_outdated(hash):
            newer = await self._passwords.rehash(password)
            await persisted(partial(self._store.users.rehash, user, hash, newer))

    # Requests.

    async def authenticate(
        self, *, cookie: str | None = None, bearer: str | None = None
    ) -> Principal:
        """Whom a request comes from, or NotSignedIn. If it carries both, the token counts. A
        stream that lasts asks again now and then."""
        if bearer is not None:
            known = await self._find_token(bearer)
        else:
            known = await self._find_browser(cookie)
        if known is None or self._is_over(known):
            raise NotSignedIn
        return known.principal

    async def _find_browser(self, cookie: str | None) -> Known | None:
        if cookie is None or not could_be_secret(cookie):
            return None
        hash = hash_of(cookie)

        async def find() -> Known | None:
            found = await self._store.sign_ins.find(hash)
            if found is None:
                return None
            self.sightings.saw_sign_in(found.id, found.seen_at)
            principal = Principal(user=found.user, scopes=_ALL, via="browser", id=found.id)
            return Known(principal=principal, expires_at=found.expires_at)

        return await self._principals.get(hash, find)

    def local_token(self) -> Key:
        """A token by which whoever gets it is the owner. It is kept nowhere: it is void when this
        process ends, or another is made."""
        id, secret = new_token()
        self._local = (id, hash_of(secret.reveal()))
        self._principals.forget()
        return secret

    async def _find_token(self, bearer: str) -> Known | None:
        if not could_be_token(bearer):
            return None
        hash = hash_of(bearer)

        async def find() -> Known | None:
            if self._local is not None and hmac.compare_digest(hash, self._local[1]):
                return await self._owner_by(self._local[0])
            found = await self._store.tokens.find(hash)
            if found is None:
                return None
            self.sightings.saw_token(found.id, found.used_at)
            principal = Principal(
                user=found.user,
                scopes=found.scopes,
                via="token",
                id=found.id,
                until=found.expires_at,
            )
            return Known(principal=principal, expires_at=found.expires_at)

        return await self._principals.get(hash, find)

    async def _owner_by(self, id: ApiTokenId) -> Known:
        owner = await self.people.owner()
        principal = Principal(user=owner, scopes=_ALL, via="cli", id=id)
        return Known(principal=principal, expires_at=None)

    def _is_over(self, known: Known) -> bool:
        return known.expires_at is not None and known.expires_at <= self._clock.now()

    @property
    def changed(self) -> asyncio.Event:
        """Is set once someone may not be let in any more who was: what is open for long asks again
        then. Later changes have another."""
        return self._principals.changed

    # Sign-ins of a user.

    async def sign_ins(self, user: UserId) -> Sequence[SignIn]:
        return await self._store.of(user).sign_ins.all()

    async def revoke_sign_in(self, user: UserId, id: SignInId) -> None:
        """One's own, too: that is signing out."""
        revoke = partial(self._store.of(user).sign_ins.revoke, id)
        await self._principals.changed_by(persisted(revoke))

    async def revoke_sign_ins(self, user: UserId, *, keep: SignInId | None = None) -> int:
        """All of them but one, with links that nobody has used yet."""
        revoke = partial(self._store.of(user).sign_ins.revoke_all, keep=keep)
        return await self._principals.changed_by(persisted(revoke))

    # Tokens of a user.

    async def tokens(self, user: UserId) -> Sequence[ApiToken]:
        return await self._store.of(user).tokens.all()

    async def create_token(
        self,
        user: UserId,
        *,
        name: str,
        scopes: Collection[str],
        seconds: float | None = None,
        until: int | None = None,
    ) -> NewApiToken:
        """`seconds` is for how long it holds; None is until it is revoked. `until` is when whoever
        makes it ends: what they make does too."""
        wanted = clean_scopes(scopes)
        expires_at = None if seconds is None else self._ends(seconds)
        if until is not None and (expires_at is None or expires_at > until):
            raise InvalidInput("A token can't make one that outlasts it. Give it fewer seconds.")
        if wanted & FOR_ADMINS and (await self.people.get(user)).role != "admin":
            raise NotAllowed(scope="admin")
        id, secret = new_token()
        add = partial(
            self._store.of(user).tokens.add,
            id,
            hash_of(secret.reveal()),
            name=clean_token_name(name),
            scopes=wanted,
            expires_at=expires_at,
        )
        token = await persisted(add)
        log.info("a token was made", user=user, token=id, scopes=sorted(wanted))
        return NewApiToken(token=token, secret=secret)

    async def owner_of_token(self, id: ApiTokenId) -> UserId:
        return await self._store.tokens.owner(id)

    async def revoke_token(self, user: UserId, id: ApiTokenId) -> None:
        revoke = partial(self._store.of(user).tokens.revoke, id)
        await self._principals.changed_by(persisted(revoke))
        log.info("a token was revoked", user=user, token=id)

    def _ends(self, seconds: float) -> int:
        if not 1 <= seconds <= 100 * 365 * DAY:
            raise InvalidInput("A token lasts for at least a second, and at most 100 years.")
        return self._clock.now() + round(seconds * 1000)


def _new_sign_in(cookie: Key, agent: str | None) -> NewSignIn:
    return NewSignIn(new_sign_in_id(), hash_of(cookie.reveal()), _clean_agent(agent), SIGNED_IN)


def _signed_in(admitted: Admitted | None, cookie: Key, refusal: str) -> SignedIn:
    if admitted is None:
        raise SignInRefused(refusal)
    log.info("a browser signed in", user=admitted.user.id, sign_in=admitted.id)
    return SignedIn(id=admitted.id, user=admitted.user, secret=cookie)


def _clean_agent(agent: str | None) -> str | None:
    """What a browser says about itself is anyone's text."""
    if agent is None:
        return None
    return "".join([letter for letter in agent if letter.isprintable()])[:_LONGEST_AGENT] or None
