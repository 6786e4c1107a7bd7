"""What differs between vendors and between models: data, not code."""

from typing import Literal

import msgspec

WireName = Literal["openai-chat", "openai-responses", "anthropic"]
EffortKnob = Literal["none", "reasoning_effort", "reasoning", "thinking_budget", "output_effort"]
"""How a request says how hard to think: OpenAI's field, OpenRouter's object, a budget of thinking
tokens, or Anthropic's effort."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How to speak to one model at one vendor. Limits of None are unknown."""

    wire: WireName = "openai-chat"
    context: int | None = None
    output: int | None = None
    effort: EffortKnob = "none"
    cache: Literal["none", "automatic", "breakpoints"] = "automatic"
    images: bool = True
    files: bool = False
    tools: bool = True
    temperature: bool = True
    output_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    asks_for_usage: bool = True
    reasoning_back: Literal["none", "reasoning_content", "reasoning_details"] = "none"
    call_ids: Literal["any", "nine"] = "any"
    brief: bool = False
    """A tiny model: no tools, and a prompt of a few sentences."""
