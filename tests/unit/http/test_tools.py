"""The list of tools over HTTP."""

from pathlib import Path
from typing import Any

import msgspec

from roost.core.config import ApprovalsConfig
from roost.testing.models import ModelServer
from roost.tools.ask_user import ASK_USER
from tests.engine import ECHO, config_for
from tests.unit.http.served import Client, Served, started


async def test_tools_are_listed_with_their_sets(browser: Client) -> None:
    found = await browser.get("/api/tools")
    sets = {each["name"]: each for each in found["toolsets"]}
    assert [name for name, each in sets.items() if each["default"]] == ["full"]
    assert sets["chat"]["about"] == "To talk, look things up and remember."
    assert sets["full"]["tools"] == ["echo"]
    (echo,) = found["tools"]
    assert (echo["name"], echo["decision"], echo["asks"], echo["rules"]) == (
        "echo",
        "allow",
        "",
        [],
    )
    assert echo["description"] == ECHO.schema.description


async def test_rules_of_the_configuration_are_told(folder: Path, server: ModelServer) -> None:
    rules = ApprovalsConfig(deny=("ec*",), ask=("ask_user: *secret*",))
    config = msgspec.structs.replace(config_for(folder, server), approvals=rules)
    served = Served(folder, server, tools=(ECHO, ASK_USER), config=config)
    async with started(served), served.browser() as browser:
        found: list[dict[str, Any]] = (await browser.get("/api/tools"))["tools"]
    assert [(tool["name"], tool["decision"], tool["rules"]) for tool in found] == [
        ("echo", "deny", [{"pattern": None, "decision": "deny"}]),
        ("ask_user", "ask", [{"pattern": "*secret*", "decision": "ask"}]),
    ]
