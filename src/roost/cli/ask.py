"""`roost ask`: one question, one answer, as it comes."""

import sys
from collections.abc import Mapping

import uvloop
from rich.console import Console

from roost.cli import terminal
from roost.core.config import Config
from roost.core.errors import InvalidInput
from roost.core.events import TextDelta
from roost.core.ids import new_message_id
from roost.core.keys import Key
from roost.core.messages import Message, TextPart
from roost.core.usage import NANO, Usage
from roost.llm.base import FellBack, Finished, Request, Retrying, StreamEvent
from roost.llm.prices import Prices
from roost.llm.providers import LOCAL, Target
from roost.wiring import models

SYSTEM = "You are Roost, a helpful assistant. Answer briefly and to the point."

_TINY = (
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
    uvloop.run(_ask(config, keys, environ, text, model))


def _question(given: str | None) -> str:
    text = given if given is not None else "" if sys.stdin.isatty() else sys.stdin.read()
    if not text.strip():
        raise InvalidInput('Ask something: roost ask "..."')
    return text


async def _ask(
    config: Config,
    keys: Mapping[str, Key],
    environ: Mapping[str, str],
    question: str,
    model: str | None,
) -> None:
    notes = terminal.err()
    async with models(config, keys, environ) as (providers, clients):
        target = providers.resolve(model)
        if target.provider.name == LOCAL and target.profile.brief:
            notes.print(_TINY, style="dim")
        request = Request(
            model=target.model,
            system=SYSTEM,
            messages=(Message(new_message_id(), "user", (TextPart(question),)),),
            max_output_tokens=target.profile.output,
        )
        async with clients.of(target).stream(request) as events:
            async for event in events:
                _show(event, notes)
                if isinstance(event, Finished) and event.usage is not None:
                    await _sum_up(event.usage, target, Prices(config.models.prices), notes)


def _show(event: StreamEvent, notes: Console) -> None:
    match event:
        case TextDelta():
            sys.stdout.write(event.text)
            sys.stdout.flush()
        case Retrying():
            notes.print(f"{event.reason} Trying again in {event.delay:.0f} s.", style="dim")
        case FellBack():
            notes.print(
                f"{event.reason} {event.provider}/{event.model} answers instead.", style="dim"
            )
        case Finished():
            sys.stdout.write("\n")
            sys.stdout.flush()
            if event.reason == "length":
                notes.print("The answer was cut off at the model's limit.", style="dim")
        case _:
            pass


async def _sum_up(usage: Usage, target: Target, prices: Prices, notes: Console) -> None:
    cost = await prices.cost(usage, target.provider)
    price = "price unknown" if cost is None else "free" if cost == 0 else f"${cost / NANO:.4f}"
    notes.print(
        f"{target}: {usage.input_tokens} tokens in, {usage.output_tokens} out, {price}",
        style="dim",
    )
