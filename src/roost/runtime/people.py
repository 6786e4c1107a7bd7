"""The users of this Roost, as an admin sees to them, and as they see to themselves."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from msgspec.structs import replace

from roost.core.errors import Conflict, InvalidInput, SignInRefused
from roost.core.ids import SignInId, UserId, new_user_id
from roost.core.users import Caps, Profile, User, UserRole, check_locale, clean_name
from roost.runtime.attempts import Attempts
from roost.runtime.departures import Departures
from roost.runtime.passwords import Passwords
from roost.runtime.persistence import persisted
from roost.runtime.principals import Principals
from roost.store.store import Store

log = structlog.stdlib.get_logger("roost.identities")

OWNER = "owner"


async def owner_of(store: Store) -> User:
    """Whoever runs this Roost: the first user, made when first asked for."""
    new = User(id=new_user_id(), name=OWNER, role="admin")
    return await persisted(partial(store.users.owner, new))


class People:
    """Who may do these things is for the surfaces to see to. Whatever changes what someone may do
    counts at once."""

    def __init__(
        self,
        store: Store,
        principals: Principals,
        passwords: Passwords,
        attempts: Attempts,
        *,
        departures: Departures | None,
    ) -> None:
        self._store = store
        self._departures = departures
        self._users = store.users
        self._principals = principals
        self._passwords = passwords
        self._attempts = attempts

    async def owner(self) -> User:
        return await owner_of(self._store)

    async def all(self) -> Sequence[User]:
        return await self._users.all()

    async def get(self, user: UserId) -> User:
        return await self._users.get(user)

    async def named(self, name: str) -> User:
        return await self._users.named(name)

    async def create(
        self, name: str, *, role: UserRole = "member", time_zone: str = "UTC", locale: str = "en"
    ) -> User:
        """They sign in by a link at first: see `Identities.link`."""
        profile = _clean(Profile(name=name, time_zone=time_zone, locale=locale))
        new = User(
            id=new_user_id(),
            name=profile.name or name,
            role=role,
            time_zone=time_zone,
            locale=locale,
        )
        user = await persisted(partial(self._users.create, new))
        log.info("a user was added", user=user.id, role=role)
        return user

    async def change(
        self,
        user: UserId,
        profile: Profile = Profile(),  # noqa: B008 (frozen)
        *,
        role: UserRole | None = None,
        disabled: bool | None = None,
    ) -> User:
        """All of it, or nothing. If they are disabled, all that they are signed in with is revoked,
        so are their tokens, and what runs for them is stopped."""
        write = partial(self._users.change, user, _clean(profile), role=role, disabled=disabled)
        found = await self._principals.changed_by(self._changed(user, write))
        if role is not None or disabled is not None:
            log.info("a user was changed", user=user, role=role, disabled=disabled)
        return found

    async def _changed(self, user: UserId, write: Callable[[], Awaitable[User]]) -> User:
        found = await persisted(write)
        if found.disabled_at is not None and self._departures is not None:
            self._principals.revoked()  # nothing of theirs is let in while it is stopped
            await self._departures.stop(user)
        return found

    async def set_role(self, user: UserId, role: UserRole) -> User:
        return await self.change(user, role=role)

    async def disable(self, user: UserId) -> User:
        return await self.change(user, disabled=True)

    async def enable(self, user: UserId) -> User:
        return await self.change(user, disabled=False)

    async def remove(self, user: UserId) -> None:
        """For good, with all that is theirs: sessions, files, memory, sign-ins and tokens."""
        if await self._users.find_owner(OWNER) == user:
            raise Conflict("The command line acts for this user. Disable them instead.")
        await self.disable(user)
        await self._principals.changed_by(self._removed(user))
        log.info("a user was removed", user=user)

    async def _removed(self, user: UserId) -> None:
        sessions = await persisted(partial(self._users.remove, user))
        if self._departures is not None:
            await self._departures.remove(sessions)

    async def set_password(
        self, user: UserId, password: str, *, keep: SignInId | None = None
    ) -> None:
        """For an admin, who need not know the old one. All sign-ins of theirs but `keep` end."""
        hash = await self._passwords.hash(password)
        await self._principals.changed_by(
            persisted(partial(self._users.set_password, user, hash, keep=keep))
        )
        log.info("a password was set", user=user)

    async def change_password(
        self, user: User, old: str | None, new: str, *, keep: SignInId, address: str
    ) -> None:
        """For the users themselves. Who has a password has to know it; their other sign-ins end."""
        checked = await self._users.password(user.id)
        if checked is not None:
            with self._attempts.one(user.name, address) as attempt:
                if not await self._passwords.check(checked, old or ""):
                    raise SignInRefused("The old password is not right.")
                attempt.succeeded()
        hash = await self._passwords.hash(new)
        write = partial(self._users.replace_password, user.id, checked, hash, keep=keep)
        if not await self._principals.changed_by(persisted(write)):
            raise SignInRefused("The password was changed by somebody else meanwhile.")
        log.info("a password was changed", user=user.id)

    async def caps(self, user: UserId) -> Caps:
        return await self._users.caps(user)

    async def set_caps(self, user: UserId, caps: Caps) -> None:
        """They count from the next turn on."""
        await persisted(partial(self._users.set_caps, user, caps))


def _clean(profile: Profile) -> Profile:
    if profile.time_zone is not None:
        try:
            ZoneInfo(profile.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise InvalidInput("A time zone is named as in Europe/Zurich, or UTC.") from None
    if profile.locale is not None:
        check_locale(profile.locale)
    return profile if profile.name is None else replace(profile, name=clean_name(profile.name))
