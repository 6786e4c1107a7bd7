"""By what a request shows whom it comes from: sign-ins of browsers, tokens of programs."""

import hashlib
import re
import secrets
from collections.abc import Iterable
from typing import Literal

import msgspec

from roost.core.errors import InvalidInput, NotAllowed, NotForTokens
from roost.core.ids import ApiTokenId, SignInId, UserId, new_api_token_id
from roost.core.keys import Key
from roost.core.users import User

_LONGEST_NAME = 64

Scope = Literal["read", "chat", "admin", "metrics"]
"""`read` is to see one's own sessions, files and memory; `chat` is to talk, approve and change
them, and includes `read`; `admin` is to see to users, providers and settings; `metrics` is to read
figures about all of Roost and nothing else, and is included in `admin`. The last two are of use to
admins only."""

SCOPES: tuple[Scope, ...] = ("read", "chat", "admin", "metrics")
FOR_ADMINS: frozenset[Scope] = frozenset({"admin", "metrics"})
Need = Scope | Literal["account"]
"""What a request takes. `account` is to see to one's own name, password, sign-ins and tokens: a
program that may talk for someone can't shut them out, or leave tokens behind when its own is gone.
"""
Via = Literal["browser", "token", "cli"]
"""`cli` is whoever can read the data folder: the `roost` command beside its server."""

_INCLUDED: dict[Scope, Scope] = {"read": "chat", "metrics": "admin"}
_BYTES = 32
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_TOKEN_CHARACTERS = 52
_COOKIE = re.compile(r"[A-Za-z0-9_-]{43}")
TOKEN = re.compile(rf"roost_[{_ALPHABET}]{{26}}_[{_ALPHABET}]{{{_TOKEN_CHARACTERS}}}")
"""What a token looks like, for whoever searches logs and repositories for leaked ones. Between the
underscores stands its id."""


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a request comes from, and what it may do. `id` is that of the sign-in or the token;
    `until` is when a token ends, if it does."""

    user: User
    scopes: frozenset[Scope]
    via: Via
    id: SignInId | ApiTokenId
    until: int | None = None

    def may(self, scope: Need) -> bool:
        """By the role of now: a token that was made by an admin is no admin's after a demotion. Who
        has the data folder may see to everything in it."""
        if scope == "account":
            return self.via != "token" or self.may("admin")
        if scope in FOR_ADMINS and self.user.role != "admin" and self.via != "cli":
            return False
        return scope in self.scopes or _INCLUDED.get(scope) in self.scopes

    def need(self, scope: Need) -> None:
        if not self.may(scope):
            raise NotForTokens if scope == "account" else NotAllowed(scope=scope)


class SignIn(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that is signed in. `seen_at` is right to about a minute."""

    id: SignInId
    user: UserId
    agent: str | None
    created_at: int
    seen_at: int | None
    expires_at: int


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser gets: `secret` goes into its cookie and is not kept here."""

    id: SignInId
    user: User
    secret: Key


class ApiToken(msgspec.Struct, frozen=True, kw_only=True):
    id: ApiTokenId
    user: UserId
    name: str
    scopes: frozenset[Scope]
    created_at: int
    used_at: int | None = None
    expires_at: int | None = None


class NewApiToken(msgspec.Struct, frozen=True, kw_only=True):
    """`secret` is all of it, to be shown this once: only its hash is kept."""

    token: ApiToken
    secret: Key


def new_secret() -> Key:
    """For a cookie or a link: 256 bits of chance."""
    return Key(secrets.token_urlsafe(_BYTES))


def new_token() -> tuple[ApiTokenId, Key]:
    id = new_api_token_id()
    # 256 bits and a little more, in letters that a double click selects as one word.
    chance = "".join([secrets.choice(_ALPHABET) for _ in range(_TOKEN_CHARACTERS)])
    return id, Key(f"roost_{id.removeprefix('tok_')}_{chance}")


def hash_of(secret: str) -> bytes:
    """What is kept of a secret, and what it is found by. It is chance and long, so that one round
    of a fast hash is enough, and finding it tells by its time nothing about others."""
    return hashlib.blake2b(secret.encode(), digest_size=32, person=b"roost secret").digest()


def could_be_secret(text: str) -> bool:
    return _COOKIE.fullmatch(text) is not None


def could_be_token(text: str) -> bool:
    return TOKEN.fullmatch(text) is not None


def token_id(text: str) -> ApiTokenId:
    """A token's id, from that or from the token itself as it was found somewhere."""
    if could_be_token(text):
        return ApiTokenId("tok_" + text.split("_")[1])
    return ApiTokenId(text)


def clean_token_name(name: str) -> str:
    """A name as it is kept, or InvalidInput."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"A token's name is a text of 1 to {_LONGEST_NAME} characters.")
    return name


def clean_scopes(scopes: Iterable[str]) -> frozenset[Scope]:
    """The scopes that someone wants, or InvalidInput."""
    wanted = frozenset(scopes)
    known = known_scopes(wanted)
    if not known or len(known) < len(wanted):
        raise InvalidInput(f"A token's scopes are one or more of {', '.join(SCOPES)}.")
    return known


def known_scopes(scopes: Iterable[str]) -> frozenset[Scope]:
    """Those that this Roost knows: a newer one may have given out others."""
    found = frozenset(scopes)
    return frozenset([scope for scope in SCOPES if scope in found])
