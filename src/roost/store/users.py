"""The users of a store, their settings, and secrets sealed at rest."""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.ids import SessionId, SignInId, UserId
from roost.core.users import Caps, Profile, User, UserRole, folded
from roost.store.cipher import Cipher
from roost.store.operations import Engine, Operation, every, maybe, one, query, reading, writing
from roost.store.removal import depart, is_removed

SERVER = UserId("")
"""Owns the settings and secrets that are nobody's in particular."""

_OWNER = "owner"
_CAPS = "caps/"
"""What a user may take is a setting of the server's: users can't write those."""


class UserRow(msgspec.Struct, frozen=True, array_like=True):
    id: UserId
    name: str
    role: UserRole
    time_zone: str
    locale: str
    created_at: int
    disabled_at: int | None
    has_password: bool


class Credentials(msgspec.Struct, frozen=True):
    """`password` is its hash."""

    user: UserId
    password: str | None

    def __repr__(self) -> str:
        return f"Credentials({self.user!r}, …)"


class _Name(msgspec.Struct, frozen=True, array_like=True):
    name: str


class _Named(msgspec.Struct, frozen=True, array_like=True):
    id: UserId
    name: str


class _SecretRow(msgspec.Struct, frozen=True, array_like=True):
    sealed: bytes


class _NamedSecret(msgspec.Struct, frozen=True, array_like=True):
    name: str
    sealed: bytes


class _PasswordRow(msgspec.Struct, frozen=True, array_like=True):
    password: str | None


def user_of(row: UserRow) -> User:
    return User(
        id=row.id,
        name=row.name,
        role=row.role,
        time_zone=row.time_zone,
        locale=row.locale,
        created_at=row.created_at,
        disabled_at=row.disabled_at,
        has_password=row.has_password,
    )


def load_user(user: UserId) -> Operation[User]:
    row = maybe((yield query("user_by_id", user=user)), UserRow)
    if row is None:
        raise NotFound("user", user)
    return user_of(row)


def check_enabled(user: UserId) -> Operation[None]:
    if (yield from load_user(user)).disabled_at is not None:
        raise Conflict("This user is disabled. Enable them first: `roost user enable`.")


class Users:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @writing
    def create(self, user: User) -> Operation[User]:
        """Add a user. The same id again gives the user that is there."""
        return (yield from _create(user))

    @writing
    def owner(self, new: User) -> Operation[User]:
        """Whoever set this Roost up, whatever they are called by now. `new` is who they are if
        there is nobody yet; a store that does not say who it is knows them by that name."""
        known = yield from _recorded_owner()
        if known is not None:
            return (yield from load_user(known))
        found = (yield from _find(new.name)) or (yield from _create(new)).id
        value = msgspec.json.encode(found).decode()
        yield query("put_setting", user=SERVER, key=_OWNER, value=value)
        return (yield from load_user(found))

    @reading
    def find_owner(self, name: str) -> Operation[UserId | None]:
        """The same, to look only."""
        return (yield from _recorded_owner()) or (yield from _find(name))

    @reading
    def get(self, user: UserId) -> Operation[User]:
        return (yield from load_user(user))

    @reading
    def named(self, name: str) -> Operation[User]:
        found = yield from _find(name)
        if found is None:
            raise NotFound("user", name)
        return (yield from load_user(found))

    @reading
    def all(self) -> Operation[Sequence[User]]:
        return [user_of(row) for row in every((yield query("list_users")), UserRow)]

    @writing
    def change(
        self,
        user: UserId,
        profile: Profile = Profile(),  # noqa: B008 (frozen)
        *,
        role: UserRole | None = None,
        disabled: bool | None = None,
    ) -> Operation[User]:
        """All of it, or nothing. Of a user who is disabled nothing opens anything any more; all of
        that has to be made anew if they come back."""
        yield from load_user(user)
        if profile.name is not None:
            yield from _check_free(profile.name, user)
        yield query("update_user", user=user, **msgspec.structs.asdict(profile))
        if role is not None and not (yield query("set_role", user=user, role=role)):
            yield from _last_admin(user)
        if disabled is True:
            yield from _disable(user)
        elif disabled is False:
            yield query("enable_user", user=user)
        return (yield from load_user(user))

    @writing
    def remove(self, user: UserId) -> Operation[Sequence[SessionId]]:
        """Gone at once for everyone with all that is theirs; the rows follow in the background. The
        sessions that were theirs. Asked again after a lost answer there are none left."""
        if (yield from is_removed(user)):
            return ()
        sessions = yield from depart(user)
        if sessions is None:
            yield from _last_admin(user)
        return sessions or ()

    # Passwords. What is kept and given here are hashes.

    @reading
    def credentials(self, name: str) -> Operation[Credentials | None]:
        """Of a user by that name who is not disabled."""
        found = yield from _find(name)
        if found is None:
            return None
        row = maybe((yield query("password_of", user=found)), _PasswordRow)
        return None if row is None else Credentials(found, row.password)

    @reading
    def password(self, user: UserId) -> Operation[str | None]:
        yield from check_enabled(user)
        return one((yield query("password_of", user=user)), _PasswordRow).password

    @writing
    def set_password(
        self, user: UserId, password: str, *, keep: SignInId | None = None
    ) -> Operation[None]:
        """Whoever is signed in by the old one is not any more; nor by a link."""
        yield from load_user(user)
        yield query("set_password", user=user, password=password)
        yield query("revoke_sign_ins", user=user, keep=keep)

    @writing
    def replace_password(
        self, user: UserId, checked: str | None, password: str, *, keep: SignInId | None = None
    ) -> Operation[bool]:
        """The same, if the hash that was checked is still the one that counts."""
        if not (yield from _replace(user, checked, password)):
            return False
        yield query("revoke_sign_ins", user=user, keep=keep)
        return True

    @writing
    def rehash(self, user: UserId, checked: str, password: str) -> Operation[bool]:
        """The same password, hashed as it is done now. Nobody is signed out by it."""
        return (yield from _replace(user, checked, password))

    # Caps.

    @writing
    def set_caps(self, user: UserId, caps: Caps) -> Operation[None]:
        yield from load_user(user)
        value = msgspec.json.encode(caps).decode()
        yield query("put_setting", user=SERVER, key=_CAPS + user, value=value)

    @reading
    def caps(self, user: UserId) -> Operation[Caps]:
        return (yield from _caps(user))


def _disable(user: UserId) -> Operation[None]:
    if not (yield query("disable_user", user=user)):
        yield from _last_admin(user)
    yield query("revoke_sign_ins", user=user, keep=None)
    yield query("revoke_tokens", user=user)


class OwnCaps:
    """What one user may take, for them to see."""

    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def get(self) -> Operation[Caps]:
        return (yield from _caps(self._user))


def _caps(user: UserId) -> Operation[Caps]:
    found = maybe((yield query("get_setting", user=SERVER, key=_CAPS + user)), str)
    return Caps() if found is None else msgspec.json.decode(found, type=Caps)


def _create(user: User) -> Operation[User]:
    yield from _check_free(user.name, user.id)
    yield query(
        "insert_user",
        user=user.id,
        name=user.name,
        role=user.role,
        time_zone=user.time_zone,
        locale=user.locale,
    )
    return (yield from load_user(user.id))


def _find(name: str) -> Operation[UserId | None]:
    """There are few users, and SQL compares names by their bytes."""
    wanted = folded(name)
    rows = every((yield query("user_names")), _Named)
    return next((row.id for row in rows if folded(row.name) == wanted), None)


def _check_free(name: str, user: UserId) -> Operation[None]:
    if (yield from _find(name)) not in (None, user):
        raise InvalidInput(f"There is a user called {name} already.")


def _recorded_owner() -> Operation[UserId | None]:
    value = maybe((yield query("get_setting", user=SERVER, key=_OWNER)), str)
    if value is None:
        return None
    known = msgspec.json.decode(value, type=UserId)
    # A repair may have lost the one and kept the other.
    return known if (yield query("user_by_id", user=known)) else None


def _last_admin(user: UserId) -> Operation[None]:
    yield from load_user(user)
    raise Conflict("This is the last admin. Make somebody else an admin first.")


def _replace(user: UserId, checked: str | None, password: str) -> Operation[bool]:
    rows = yield query("replace_password", user=user, checked=checked, password=password)
    if rows:
        return True
    # Asked again after a lost answer, it is there already: no two hashes are the same.
    row = maybe((yield query("password_of", user=user)), _PasswordRow)
    return row is not None and row.password == password


class Settings:
    """Small JSON values by name, of a user or of the server."""

    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @writing
    def put(self, key: str, value: str) -> Operation[None]:
        yield query("put_setting", user=self._user, key=key, value=value)

    @writing
    def replace(self, key: str, expected: str | None, value: str) -> Operation[bool]:
        """Put another value in the place of this one, or of none; whether that was there."""
        return (yield from _replace_setting(self._user, key, expected, value))

    @reading
    def get(self, key: str) -> Operation[str | None]:
        return (yield from _setting(self._user, key))


def _setting(user: UserId, key: str) -> Operation[str | None]:
    return maybe((yield query("get_setting", user=user, key=key)), str)


def _replace_setting(user: UserId, key: str, expected: str | None, value: str) -> Operation[bool]:
    rows = yield query("replace_setting", user=user, key=key, expected=expected, value=value)
    # A write whose answer was lost is made again, and finds its own value there.
    return bool(rows) or (yield from _setting(user, key)) == value


class Secrets:
    """Provider keys and the like: written, used, replaced, never listed with their values."""

    def __init__(self, engine: Engine, user: UserId, cipher: Cipher) -> None:
        self.engine = engine
        self._user = user
        self._cipher = cipher

    @writing
    def put(self, name: str, value: str) -> Operation[None]:
        yield from self._put(name, value)

    @writing
    def replace(
        self, key: str, expected: str | None, value: str, secrets: Mapping[str, str | None]
    ) -> Operation[bool]:
        """Replace a setting with the secrets that belong to it, of which None removes one: all of
        it, or nothing where the setting is not as expected."""
        if not (yield from _replace_setting(self._user, key, expected, value)):
            return False
        for name, secret in secrets.items():
            if secret is None:
                yield query("remove_secret", user=self._user, name=name)
            else:
                yield from self._put(name, secret)
        return True

    def _put(self, name: str, value: str) -> Operation[None]:
        sealed = self._cipher.seal(value, owner=self._user, name=name)
        yield query("put_secret", user=self._user, name=name, sealed=sealed)

    @reading
    def get(self, name: str) -> Operation[str | None]:
        row = maybe((yield query("get_secret", user=self._user, name=name)), _SecretRow)
        return None if row is None else self._cipher.open(row.sealed, owner=self._user, name=name)

    @reading
    def names(self) -> Operation[Sequence[str]]:
        rows = every((yield query("secret_names", user=self._user)), _Name)
        return [row.name for row in rows]

    @reading
    def stamp(self) -> Operation[bytes]:
        """Another one after each change: whatever is put is sealed anew."""
        rows = every((yield query("sealed_secrets", user=self._user)), _NamedSecret)
        return hashlib.blake2b(msgspec.json.encode(rows), digest_size=16).digest()

    @writing
    def remove(self, name: str) -> Operation[None]:
        yield query("remove_secret", user=self._user, name=name)
