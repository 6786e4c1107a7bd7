"""What is known of vendors and models."""

import re
from typing import get_args

import msgspec
import pytest

from roost.core.settings import VendorName
from roost.llm.profiles import RULES, VENDORS, Profile, profile_for


def test_every_vendor_is_known_and_every_known_one_is_a_vendor() -> None:
    assert tuple(VENDORS) == get_args(VendorName)


def test_rules_change_what_profiles_have_to_values_they_can_have() -> None:
    fields = {field.name for field in msgspec.structs.fields(Profile)}
    for rule in RULES:
        assert rule.changes.keys() <= fields
        assert rule.vendors == tuple(each for each in rule.vendors if each in VENDORS)
        msgspec.convert(dict(rule.changes), Profile, strict=True)


def test_every_rule_speaks_of_some_model() -> None:
    names = [
        *("gpt-5", "gpt-5.6-sol", "gpt-5.2-pro", "gpt-5.3-chat-latest", "gpt-4.1-mini", "gpt-4o"),
        *("gpt-4-turbo", "gpt-4", "gpt-oss-20b", "o1", "o1-mini", "o1-preview", "o3-mini"),
        *("claude-3-5-haiku", "claude-3-7-sonnet", "claude-opus-4-1", "claude-sonnet-4-6"),
        *("claude-opus-4-8", "claude-sonnet-5-5", "claude-fable-5", "gemini-2.0-flash"),
        *("gemini-2.5-pro", "gemini-3.8-flash", "gemini-2.5-pro-tts", "gemma-3-27b-it"),
        *("deepseek-chat", "deepseek-reasoner", "llama-4-scout", "llama-3.1-8b-instant"),
        *("qwen3:8b", "codestral-latest", "mistral-medium-latest", "grok-3"),
    ]
    for rule in RULES:
        assert any(re.fullmatch(rule.models, name) for name in names), rule.models


@pytest.mark.parametrize(
    ("vendor", "model", "expected"),
    [
        ("openai", "gpt-4.1", {"effort": "none", "temperature": True, "output": 32_768}),
        ("openai", "gpt-5", {"effort": "reasoning_effort", "effort_off": "minimal"}),
        ("openai", "gpt-5.6-sol", {"effort_off": "none", "temperature": False}),
        ("openai", "o3-mini", {"images": False, "effort_off": "low", "context": 200_000}),
        ("azure", "gpt-5.4-mini", {"wire": "openai-chat", "context": 400_000}),
        ("anthropic", "claude-haiku-4-5", {"effort": "thinking_budget", "output": 64_000}),
        ("anthropic", "claude-opus-4-20250514", {"output": 32_000, "context": 200_000}),
        ("anthropic", "claude-opus-4-5-20251101", {"output": 64_000, "temperature": True}),
        ("anthropic", "claude-sonnet-4-5", {"schemas": True}),
        ("anthropic", "claude-opus-4-1", {"schemas": False}),
        ("openai", "gpt-6.1-terra", {"schemas": True}),
        ("openai", "gpt-4-turbo", {"schemas": False}),
        ("azure", "gpt-4.1", {"schemas": True}),
        ("groq", "openai/gpt-oss-120b", {"schemas": True}),
        ("groq", "llama-3.3-70b-versatile", {"schemas": False}),
        ("ollama", "qwen3", {"schemas": True}),
        ("anthropic", "claude-sonnet-4-6", {"effort": "output_effort", "temperature": True}),
        ("anthropic", "claude-opus-4-7", {"effort": "output_effort", "temperature": False}),
        ("anthropic", "claude-sonnet-5-5", {"effort_off": "between_tools", "output": 128_000}),
        ("anthropic", "claude-fable-5-2", {"effort_off": None, "context": None}),
        (
            "openrouter",
            "anthropic/claude-opus-4.6",
            {"cache": "breakpoints", "effort": "reasoning"},
        ),
        ("openrouter", "openai/gpt-5.4:nitro", {"context": 1_050_000, "temperature": False}),
        ("google", "gemini-2.5-pro", {"context": 1_048_576, "effort_off": "low"}),
        ("groq", "openai/gpt-oss-120b", {"effort": "reasoning_effort", "context": 131_072}),
        ("mistral", "mistral-large-2512", {"call_ids": "nine", "context": 262_144}),
        ("deepseek", "deepseek-chat", {"reasoning_back": "reasoning_content", "images": False}),
        ("ollama", "llama3.2", {"context": None, "effort": "none"}),
        ("local", "anything", {"context": 2048, "tools": False, "images": False, "brief": True}),
    ],
)
def test_profile_says_how_to_speak_to_a_model(
    vendor: VendorName, model: str, expected: dict[str, object]
) -> None:
    profile = msgspec.structs.asdict(profile_for(vendor, model))
    assert {name: profile[name] for name in expected} == expected


def test_servers_of_ones_own_need_no_key_and_the_others_do() -> None:
    for name, vendor in VENDORS.items():
        assert bool(vendor.key_variables) != (vendor.own or name == "compatible"), name


def test_model_to_ask_by_default_is_one_that_is_known() -> None:
    for name, vendor in VENDORS.items():
        if vendor.model is not None and name != "openrouter":
            assert profile_for(name, vendor.model).context is not None, name
