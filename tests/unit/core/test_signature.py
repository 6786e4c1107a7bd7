"""The signature itself; what it promises is in tests/contract/test_signature.py."""

import re

from roost.core.signature import AgentConfig, signature

CONFIG = AgentConfig(provider="p", model="m", protocol="chat", base_url="http://localhost")


def test_signature_is_short_hexadecimal() -> None:
    assert re.fullmatch("[0-9a-f]{40}", signature(CONFIG, "secret", key=b"k"))


def test_left_out_fields_are_the_same_as_their_defaults() -> None:
    spelled = AgentConfig(
        provider="p",
        model="m",
        protocol="chat",
        base_url="http://localhost",
        toolset="chat",
        instructions="",
    )
    assert signature(CONFIG, "", key=b"k") == signature(spelled, "", key=b"k")


def test_signature_stays_the_same_from_version_to_version() -> None:
    """Changing it would rebuild every agent and its prompt at an upgrade: do so knowingly."""
    assert signature(CONFIG, "secret", key=b"k") == "36dacf8d28fbeb6f0318faa2a2eb142badc28bf7"
