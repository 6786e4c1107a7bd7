"""What [memory.options] may say about an OpenViking server."""

from collections.abc import Mapping

import pytest

from roost.core.errors import ConfigError
from roost.core.ids import UserId
from roost.core.keys import Key
from roost.memory.base import Scope
from roost.memory.openviking import from_options
from tests.unit.memory.viking import segment
from tests.unit.memory.viking_server import KEY, StandIn


def _keys(**options: str) -> Mapping[str, Key]:
    return {name: Key(value) for name, value in options.items()}


async def test_the_owner_shares_the_memory_of_a_user_of_openvikings() -> None:
    async with StandIn(user_of_key="alice") as server:
        options = _keys(base_url=server.url, api_key=KEY, owner="usr_1", user="alice")
        memory = from_options(options)
        try:
            owner = Scope("openviking", "default", UserId("usr_1"))
            await memory.commit(segment("REMEMBER pet: I have a cat.", scope=owner))
            assert len(await memory.recall(owner, "cat", limit=5)) == 1
            for other in (
                Scope("openviking", "default", UserId("usr_2")),
                Scope("openviking", "work", UserId("usr_1")),
            ):
                assert await memory.recall(other, "cat", limit=5) == []
        finally:
            await memory.close()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (_keys(), "where the OpenViking server is"),
        (_keys(base_url="127.0.0.1:1933"), "where the OpenViking server is"),
        (_keys(base_url="http://a", user="alice"), "go together"),
        (_keys(base_url="http://a", apikey="hush"), r"options\.apikey is no option"),
    ],
)
def test_what_can_not_be_used_is_refused(options: Mapping[str, Key], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        from_options(options)
    assert "hush" not in str(caught.value)
