"""`roost ask`: one question, one answer, as it comes."""

import sys
import unicodedata
from collections.abc import AsyncIterator, Mapping

import uvloop
from rich.console import Console

from roost.cli import terminal
from roost.core.config import Config
from roost.core.errors import InvalidInput
from roost.core.events import TextDelta
from roost.core.ids import new_message_id
from roost.core.keys import Key
from roost.core.messages import Message, TextPart, check_text
from roost.core.usage import NANO, Usage
from roost.llm.base import FellBack, Finished, Request, Retrying, StreamEvent
from roost.llm.prices import Prices
from roost.llm.providers import LOCAL, Target
from roost.wiring import known_models

SYSTEM = "You are Roost, a helpful assistant. Answer briefly and to the point."

TINY = (
    "This is the built-in model. It is tiny: it shows that everything works, and knows little. "
    "For a real one, set OPENAI_API_KEY, ANTHROPIC_API_KEY or another provider's key, or start "
    "Ollama; docs/models.md tells more."
)


def ask(
    config: Config,
    keys: Mapping[str, Key],
    environ: Mapping[str, str],
    question: str | None,
    model: str | None,
) -> None:
    text = _question(question)
    with terminal.while_read():
        uvloop.run(_ask(config, keys, environ, text, model))


def _question(given: str | None) -> str:
    text = given if given is not None else "" if sys.stdin.isatty() else sys.stdin.read()
    if not text.strip():
        raise InvalidInput('Ask something: `roost ask "..."`')
    check_text(text, "question")
    return text


async def _ask(
    config: Config,
    keys: Mapping[str, Key],
    environ: Mapping[str, str],
    question: str,
    model: str | None,
) -> None:
    notes = terminal.err()
    async with known_models(config, keys, environ) as (providers, clients):
        target = providers.resolve(model)
        if target.provider.vendor == LOCAL and not target.model.endswith(".gguf"):
            notes.print(TINY, style="dim")
        request = Request(
            model=target.model,
            system=SYSTEM,
            messages=(Message(new_message_id(), "user", (TextPart(question),)),),
            # A tiny model may never come to an end; whoever else answers has limits of its own.
            max_output_tokens=target.profile.output if target.profile.brief else None,
        )
        async with clients.of(target).stream(request) as events:
            finished = await _shown(events, notes)
        if finished.reason == "length":
            notes.print("The answer was cut off at the model's limit.", style="dim")
        if (usage := finished.usage) is not None:
            answered = providers.resolve(f"{usage.provider}/{usage.model}")
            await _sum_up(usage, answered, Prices(config.models.prices), notes)


async def _shown(events: AsyncIterator[StreamEvent], notes: Console) -> Finished:
    """Print the answer, with the end of its line also where it breaks off."""
    text = ""
    try:
        async for event in events:
            _show(event, notes)
            if isinstance(event, TextDelta):
                text = event.text or text
            elif isinstance(event, Finished):
                return event
    finally:
        if text and not text.endswith("\n"):
            _write("\n")
    raise AssertionError("a stream that was not cut ends with Finished")


def harmless(text: str) -> str:
    """What a model says is shown, and must not steer the terminal it is shown on."""
    return "".join([c for c in text if c in "\n\t" or unicodedata.category(c) != "Cc"])


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _show(event: StreamEvent, notes: Console) -> None:
    match event:
        case TextDelta():
            _write(harmless(event.text) if sys.stdout.isatty() else event.text)
        case Retrying():
            notes.print(f"{event.reason} Trying again in {event.delay:.0f} s.", style="dim")
        case FellBack():
            notes.print(
                f"{event.reason} {event.provider}/{event.model} answers instead.", style="dim"
            )
        case _:
            pass


async def _sum_up(usage: Usage, target: Target, prices: Prices, notes: Console) -> None:
    cost = await prices.cost(usage, target.provider)
    price = "price unknown" if cost is None else "free" if cost == 0 else f"${cost / NANO:.4f}"
    notes.print(
        f"{target}: {usage.input_tokens} tokens in, {usage.output_tokens} out, {price}",
        style="dim",
    )
