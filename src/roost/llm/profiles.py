"""What differs between vendors and between models: data, not code."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, get_args

import msgspec

from roost.core.settings import VendorName, WireName
from roost.llm.windows import window

EffortKnob = Literal["none", "reasoning_effort", "reasoning", "thinking_budget", "output_effort"]
"""How a request says how hard to think: OpenAI's field, OpenRouter's object, a budget of thinking
tokens, or Anthropic's effort."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How to speak to one model at one vendor. Limits of None are unknown."""

    wire: WireName = "openai-chat"
    context: int | None = None
    output: int | None = None
    effort: EffortKnob = "none"
    effort_off: str | None = "none"
    """What the knob takes for an effort of "off"; None for a model that can't help thinking, which
    is then told nothing."""
    cache: Literal["none", "automatic", "breakpoints"] = "automatic"
    images: bool = True
    files: bool = False
    tools: bool = True
    temperature: bool = True
    schemas: bool = False
    """Can be held to a JSON schema in its answer."""
    output_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    asks_for_usage: bool = True
    reasoning_back: Literal["none", "reasoning_content", "reasoning_details"] = "none"
    call_ids: Literal["any", "nine"] = "any"
    brief: bool = False
    """A tiny model: no tools, and a prompt of a few sentences."""


class Vendor(msgspec.Struct, frozen=True, kw_only=True):
    """Someone who serves models, or a program that does. `base_url` of None is the user's to give.

    `model` is what is asked if nobody says which. `families` are the models whose bare names mean
    this vendor. `price_list` is the vendor's name in genai-prices.
    """

    title: str
    base_url: str | None = None
    base_url_variable: str | None = None
    key_variables: tuple[str, ...] = ()
    key_header: Literal["authorization", "x-api-key", "api-key"] = "authorization"
    """With `authorization`, the key follows the word Bearer."""
    ports: tuple[int, ...] = ()
    own: bool = False
    """Runs on the user's machines: needs no key and costs nothing."""
    model: str | None = None
    families: tuple[str, ...] = ()
    price_list: str | None = None
    profile: Profile = Profile()


def _program(title: str, port: int) -> Vendor:
    """One that serves models on the user's own machine, at the port it usually has."""
    return Vendor(
        title=title,
        base_url=f"http://127.0.0.1:{port}/v1",
        ports=(port,),
        own=True,
        profile=Profile(schemas=True),
    )


VENDORS: Mapping[VendorName, Vendor] = {
    "openai": Vendor(
        title="OpenAI",
        base_url="https://api.openai.com/v1",
        base_url_variable="OPENAI_BASE_URL",
        key_variables=("OPENAI_API_KEY",),
        model="gpt-6.1-terra",
        families=(r"(chat)?gpt-.*", r"o[134](-.*)?", r"codex-.*"),
        price_list="openai",
        profile=Profile(
            wire="openai-responses",
            files=True,
            output_field="max_completion_tokens",
            schemas=True,
        ),
    ),
    "anthropic": Vendor(
        title="Anthropic",
        base_url="https://api.anthropic.com/v1",
        base_url_variable="ANTHROPIC_BASE_URL",
        key_variables=("ANTHROPIC_API_KEY",),
        key_header="x-api-key",
        model="claude-sonnet-5-5",
        families=(r"claude-.*",),
        price_list="anthropic",
        profile=Profile(wire="anthropic", cache="breakpoints", files=True, effort_off="disabled"),
    ),
    "openrouter": Vendor(
        title="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        key_variables=("OPENROUTER_API_KEY",),
        model="openrouter/auto",
        price_list="openrouter",
        profile=Profile(effort="reasoning", reasoning_back="reasoning_details"),
    ),
    "google": Vendor(
        title="Google",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        model="gemini-3.8-flash",
        families=(r"gem(ini|ma)-.*",),
        price_list="google",
        profile=Profile(schemas=True),
    ),
    "deepseek": Vendor(
        title="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        key_variables=("DEEPSEEK_API_KEY",),
        model="deepseek-chat",
        families=(r"deepseek-.*",),
        price_list="deepseek",
        profile=Profile(images=False, reasoning_back="reasoning_content"),
    ),
    "groq": Vendor(
        title="Groq",
        base_url="https://api.groq.com/openai/v1",
        key_variables=("GROQ_API_KEY",),
        model="openai/gpt-oss-120b",
        price_list="groq",
        profile=Profile(images=False, output_field="max_completion_tokens"),
    ),
    "mistral": Vendor(
        title="Mistral",
        base_url="https://api.mistral.ai/v1",
        key_variables=("MISTRAL_API_KEY",),
        model="mistral-medium-latest",
        families=(r"(mi(ni)?stral|magistral|codestral|devstral)-.*",),
        price_list="mistral",
        profile=Profile(call_ids="nine", asks_for_usage=False, schemas=True),
    ),
    "xai": Vendor(
        title="xAI",
        base_url="https://api.x.ai/v1",
        key_variables=("XAI_API_KEY",),
        model="grok-4.7",
        families=(r"grok-.*",),
        price_list="x-ai",
        profile=Profile(schemas=True),
    ),
    "together": Vendor(
        title="Together",
        base_url="https://api.together.xyz/v1",
        key_variables=("TOGETHER_API_KEY",),
        model="openai/gpt-oss-120b",
        price_list="together",
    ),
    "azure": Vendor(
        title="Azure OpenAI",
        base_url_variable="AZURE_OPENAI_ENDPOINT",
        key_variables=("AZURE_OPENAI_API_KEY",),
        key_header="api-key",
        price_list="azure",
        profile=Profile(output_field="max_completion_tokens", schemas=True),
    ),
    "ollama": _program("Ollama", 11434),
    "lmstudio": _program("LM Studio", 1234),
    "llamacpp": _program("llama.cpp server", 8080),
    "vllm": _program("vLLM", 8000),
    "compatible": Vendor(title="OpenAI-compatible server"),
    "local": Vendor(
        title="The built-in model",
        own=True,
        model="smollm2-135m-instruct",
        profile=Profile(context=2048, output=512, images=False, tools=False, brief=True),
    ),
}

OPENAI_LIKE: tuple[VendorName, ...] = ("openai", "azure")


class Rule(msgspec.Struct, frozen=True):
    """What differs for the models whose bare name (after the last slash, in lower case) matches the
    whole pattern, at these vendors or at all of them. Later rules win."""

    models: str
    changes: Mapping[str, object]
    vendors: tuple[VendorName, ...] = ()


_THINKING_GPT = r"(o[134]|gpt-[5-9])([.-].*)?"
_CLAUDE_4_5 = r"claude-[a-z]+-(4[.-][5-9]|[5-9]).*|claude-mythos.*"
_CLAUDE_4_6 = r"claude-[a-z]+-(4[.-][6-9]|[5-9]).*|claude-mythos.*"
_CLAUDE_4_7 = r"claude-[a-z]+-(4[.-][7-9]|[5-9]).*|claude-mythos.*"

RULES: tuple[Rule, ...] = (
    # OpenAI. The models that think set their own temperature.
    Rule(_THINKING_GPT, {"temperature": False, "output": 128_000, "files": True}),
    Rule(_THINKING_GPT, {"effort": "reasoning_effort"}, OPENAI_LIKE),
    Rule(r"o[134](-.*)?", {"output": 100_000, "effort_off": "low"}),
    Rule(r"o1-mini.*", {"output": 65_536, "effort": "none", "images": False}),
    Rule(r"o1-preview.*", {"output": 32_768, "effort": "none", "images": False}),
    Rule(r"o3-mini.*", {"images": False}),
    Rule(r"gpt-5(-.*)?", {"effort_off": "minimal"}, OPENAI_LIKE),
    Rule(r"gpt-[\d.]+-pro.*", {"effort_off": None}, OPENAI_LIKE),
    Rule(
        r"gpt-[\d.]+-chat.*",
        {"effort": "none", "temperature": True, "output": 16_384},
        OPENAI_LIKE,
    ),
    Rule(r"gpt-4\.1.*", {"output": 32_768}),
    Rule(r"(chat)?gpt-4o.*", {"output": 16_384}),
    Rule(r"gpt-4-turbo.*", {"output": 4_096}),
    Rule(r"gpt-(4|4-0.*|3\.5.*)", {"output": 4_096, "images": False, "files": False}),
    Rule(r"gpt-(4|4-.*|3\.5.*)|chatgpt-.*|o1-(mini|preview).*", {"schemas": False}, OPENAI_LIKE),
    Rule(r"gpt-oss-.*", {"images": False, "files": False, "context": 131_072}),
    Rule(r"gpt-oss-.*", {"schemas": True}, ("groq",)),
    Rule(r"gpt-oss-.*", {"effort": "reasoning_effort", "effort_off": "low"}, ("groq", "ollama")),
    # Anthropic. A budget of thinking first, then an effort; at last no temperature.
    Rule(r"claude-.*", {"output": 4_096}),
    Rule(r"claude-3[.-]5.*", {"output": 8_192}),
    Rule(r"claude-(opus-4|4-opus).*", {"output": 32_000}),
    Rule(r"claude-(3[.-]7|sonnet-4|4-sonnet|haiku-4|opus-4[.-]5).*", {"output": 64_000}),
    Rule(r"claude-([a-z]+-[5-9]|opus-4[.-][6-9]|mythos).*", {"output": 128_000}),
    Rule(r"claude-.*", {"cache": "breakpoints", "files": True}, ("openrouter",)),
    Rule(r"claude-(3[.-]7|[a-z]+-4|4-[a-z]+).*", {"effort": "thinking_budget"}, ("anthropic",)),
    Rule(_CLAUDE_4_5, {"schemas": True}, ("anthropic",)),
    Rule(_CLAUDE_4_6, {"effort": "output_effort"}, ("anthropic",)),
    Rule(_CLAUDE_4_7, {"temperature": False}),
    Rule(r"claude-sonnet-5[.-]5.*", {"effort_off": "between_tools"}, ("anthropic",)),
    Rule(r"claude-(fable|mythos|opus-5[.-]5).*", {"effort_off": None}, ("anthropic",)),
    # Google
    Rule(r"gemini-.*", {"context": 1_048_576, "output": 8_192}),
    Rule(r"gemini-(2\.5|[3-9]).*", {"output": 65_536}),
    Rule(r"gemini-(2\.5|[3-9]).*", {"effort": "reasoning_effort"}, ("google",)),
    Rule(r"gemini-(2\.5-pro|[3-9]).*", {"effort_off": "low"}, ("google",)),
    Rule(r".*-(tts|live|image).*", {"context": None, "tools": False}, ("google",)),
    Rule(r"gemma-.*", {"tools": False, "output": 8_192}, ("google",)),
    # The rest
    Rule(r"deepseek-reasoner.*", {"temperature": False, "output": 65_536}, ("deepseek",)),
    Rule(r"deepseek-chat.*", {"output": 8_192}, ("deepseek",)),
    Rule(r"llama-4-.*", {"images": True, "output": 8_192}, ("groq",)),
    Rule(r"llama-3\.(3-70b-versatile|1-8b-instant)", {"context": 131_072}, ("groq",)),
    Rule(r"qwen3.*", {"effort": "reasoning_effort"}, ("ollama",)),
    Rule(
        r"(mistral-(large|medium|small)|magistral|devstral|pixtral|ministral).*",
        {"context": 131_072},
        ("mistral",),
    ),
    Rule(r"(codestral|ministral-3b|open-mistral).*", {"images": False}, ("mistral",)),
    Rule(r"grok-(code|3).*", {"images": False}, ("xai",)),
)

_VARIANT = re.compile(r":(free|extended|thinking|online|nitro|floor|exacto|beta)$")
"""OpenRouter's variants of a model, which are the model itself in most that matters here."""


def vendor_named(name: str) -> VendorName | None:
    return next((vendor for vendor in get_args(VendorName) if vendor == name), None)


@lru_cache(maxsize=1024)
def profile_for(vendor: VendorName, model: str) -> Profile:
    """How to speak to this model there. One that nobody has heard of gets what its vendor says."""
    served_by = VENDORS[vendor]
    name = _VARIANT.sub("", model.lower())
    bare = name.rpartition("/")[2]
    changes: dict[str, object] = {}
    for rule in RULES:
        at_vendor = not rule.vendors or vendor in rule.vendors
        if at_vendor and re.fullmatch(rule.models, bare):
            changes |= rule.changes
    if (length := _listed(served_by, model.lower(), name, bare)) is not None:
        changes["context"] = length
    if served_by.own:
        # The server decides: it may have been started with less, and is asked for it elsewhere.
        changes.pop("context", None)
    return msgspec.structs.replace(served_by.profile, **changes)


def _listed(vendor: Vendor, *names: str) -> int | None:
    if vendor.price_list is None:
        return None
    # At Azure a deployment is usually named after the model it deploys.
    lists = [vendor.price_list, "openai"] if vendor.price_list == "azure" else [vendor.price_list]
    found = [window(each, name) for each in lists for name in names]
    return next((length for length in found if length is not None), None)
