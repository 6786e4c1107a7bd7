"""The OpenViking memory as [memory.options] describes it."""

from collections.abc import Mapping

from roost.core.errors import ConfigError
from roost.core.keys import Key
from roost.memory.base import Scope
from roost.memory.openviking.provider import OpenViking, viking_user

_KNOWN = ("base_url", "api_key", "account", "owner", "user")


def from_options(options: Mapping[str, Key]) -> OpenViking:
    """`user` is the user of OpenViking's whose memory the `owner`'s is, in the profile `default`:
    for someone who shares it with other agents. Everyone else has one that is named after them."""
    given = {name: value.reveal() for name, value in options.items()}
    if unknown := sorted(given.keys() - {*_KNOWN}):
        known = ", ".join(_KNOWN)
        raise ConfigError(f"memory.options.{unknown[0]} is no option of openviking's: {known} are.")
    base_url = given.get("base_url", "")
    if not base_url.startswith(("http://", "https://")):
        raise ConfigError(
            "memory.options.base_url is where the OpenViking server is, such as "
            '"http://127.0.0.1:1933".'
        )
    owner, user = given.get("owner"), given.get("user")
    if (owner is None) != (user is None):
        raise ConfigError("memory.options.owner and memory.options.user go together.")

    def user_of(scope: Scope) -> str:
        is_owners = scope.user == owner and scope.profile == "default"
        return user if user is not None and is_owners else viking_user(scope)

    return OpenViking(
        base_url,
        given.get("api_key"),
        account=given.get("account", "default"),
        user_of=user_of,
    )
