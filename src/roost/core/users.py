"""The people a Roost serves."""

import re
import unicodedata
from typing import Literal

import msgspec

from roost.core.errors import InvalidInput
from roost.core.ids import UserId

UserRole = Literal["admin", "member"]

_LONGEST_NAME = 64
_LOCALE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
_LARGEST = 2**53
"""Numbers beyond this are not the same in every JSON reader."""


class User(msgspec.Struct, frozen=True, kw_only=True):
    id: UserId
    name: str
    role: UserRole
    time_zone: str = "UTC"
    locale: str = "en"
    created_at: int = 0
    disabled_at: int | None = None
    has_password: bool = False


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What may be changed about a user by themselves; None leaves it as it is."""

    name: str | None = None
    time_zone: str | None = None
    locale: str | None = None


class Caps(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one user may take in a day (UTC), where the server's own limit is not smaller. The cost
    is in dollars."""

    day_tokens: int | None = None
    day_cost: float | None = None

    def __post_init__(self) -> None:
        for value in (self.day_tokens, self.day_cost):
            # Written so that what is not a number is refused too.
            if value is not None and not 0 <= value <= _LARGEST:
                raise InvalidInput("A cap is a number, not below 0.")


def clean_name(name: str) -> str:
    """A name as it is kept, or InvalidInput."""
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"A user's name is a text of 1 to {_LONGEST_NAME} characters.")
    return name


def folded(name: str) -> str:
    """As names are compared: Ada and ada are one."""
    return unicodedata.normalize("NFKC", " ".join(name.split())).casefold()


def check_locale(locale: str) -> None:
    if not _LOCALE.fullmatch(locale):
        raise InvalidInput("A locale is a language tag, such as en or de-CH.")
