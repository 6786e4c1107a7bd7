"""What a user has settled for themselves. Name, time zone and language are at `/api/me`."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from roost.core.settings import ToolsetName
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import Phrase
from roost.runtime.preferences import LARGEST, Preferences

_Appearance = Annotated[Mapping[str, msgspec.Raw], msgspec.Meta(max_length=200)]


class SettingsView(msgspec.Struct, frozen=True, kw_only=True):
    """What sessions of yours begin with; null is the server's default. `appearance` is what the
    surfaces keep there."""

    model: str | None
    toolset: str | None
    appearance: Mapping[str, msgspec.Raw]


class ChangeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays; null is the server's default."""

    model: Phrase | msgspec.UnsetType | None = msgspec.UNSET
    toolset: ToolsetName | msgspec.UnsetType | None = msgspec.UNSET
    appearance: _Appearance | msgspec.UnsetType = msgspec.UNSET


async def read(call: Call) -> SettingsView:
    """Read your settings."""
    return _view(await call.account.preferences.get())


async def changed(call: Call, body: ChangeSettings) -> SettingsView:
    """Change your settings."""
    call.check_model(body.model)
    given = msgspec.structs.asdict(body)
    changes = {name: each for name, each in given.items() if each is not msgspec.UNSET}
    return _view(await call.account.preferences.change(changes))


def _view(preferences: Preferences) -> SettingsView:
    return SettingsView(
        model=preferences.model,
        toolset=preferences.toolset,
        appearance=preferences.appearance,
    )


ENDPOINTS = (
    endpoint("GET", "/api/settings", read, scope="read"),
    endpoint("PATCH", "/api/settings", changed, scope="chat", limit=4 * LARGEST),
)
