"""The people a Roost serves."""

from typing import Literal

import msgspec

from roost.core.ids import UserId

UserRole = Literal["admin", "member"]


class User(msgspec.Struct, frozen=True, kw_only=True):
    id: UserId
    name: str
    role: UserRole
    time_zone: str = "UTC"
    locale: str = "en"
    created_at: int = 0
    disabled_at: int | None = None
