"""Asks providers: which models they have, and whether they answer at all."""

import asyncio
import time
from collections.abc import Sequence

import msgspec

from roost.core.errors import ModelError, ModelStalled, NoAnswer, NotFound, RoostError
from roost.core.ids import new_message_id
from roost.core.messages import Message, TextPart
from roost.llm.base import Finished, Request
from roost.llm.clients import Clients, Listed
from roost.llm.prices import Prices
from roost.llm.providers import Provider, Providers

FRESH = 60.0
"""Seconds for which a list is kept: a page asks for it each time that it is opened."""
TEST_SECONDS = 30.0
_TOKENS = 64
"""Enough for a word, also for a model that thinks before it."""


class Offered(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be chosen, by its whole name. What is None is unknown; prices are dollars
    for a million tokens."""

    name: str
    provider: str
    model: str
    context: int | None
    input_price: float | None = None
    output_price: float | None = None


class Trouble(msgspec.Struct, frozen=True):
    """A provider that does not say what it has."""

    provider: str
    detail: str


class Offers(msgspec.Struct, frozen=True):
    models: Sequence[Offered]
    troubles: Sequence[Trouble]


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking a provider for a word. `code` names an error to programs, `detail` says
    to people what is wrong."""

    works: bool
    model: str
    seconds: float
    code: str | None = None
    detail: str | None = None


class Models:
    def __init__(self, providers: Providers, clients: Clients, prices: Prices) -> None:
        self._providers = providers
        self._clients = clients
        self._prices = prices
        self._found: Offers | None = None
        self._found_at = 0.0
        self._changes = 0
        self._asking = asyncio.Lock()

    def forget(self) -> None:
        """Providers have changed: what was listed may not be there."""
        self._found = None
        self._changes += 1

    async def offered(self) -> Offers:
        """What can be chosen, by each provider's own word, and what is set up besides."""
        async with self._asking:
            if self._found is None or time.monotonic() > self._found_at + FRESH:
                changes, began = self._changes, time.monotonic()
                found = await self._asked_now()
                # What was asked before a change may be kept for nobody else.
                self._found = found if changes == self._changes else None
                self._found_at = began
                return found
            return self._found

    async def _asked_now(self) -> Offers:
        asked = [each for each in self._providers if self._may_be_asked(each)]
        answers = await asyncio.gather(*[self._served(each) for each in asked])
        return Offers(
            [model for models, _ in answers for model in models],
            [trouble for _, trouble in answers if trouble is not None],
        )

    async def test(self, name: str, model: str | None) -> Tried:
        """Ask for one word, once: no retries, and nobody else in its place."""
        if (provider := self._providers.find(name)) is None:
            raise NotFound("provider", name)
        began = time.monotonic()
        asked = model or provider.model or ""
        error: RoostError | None = None
        try:
            await self._ask(name, asked)
        except NoAnswer:
            pass  # it thought for as long as it was let: it is there
        except RoostError as failed:
            error = failed
        return Tried(
            works=error is None,
            model=asked,
            seconds=round(time.monotonic() - began, 3),
            code=None if error is None else error.code,
            detail=None if error is None else str(error),
        )

    async def _ask(self, name: str, model: str) -> None:
        target = self._providers.resolve(f"{name}/{model}")
        request = Request(
            model=target.model,
            messages=(Message(new_message_id(), "user", (TextPart("Say hello."),)),),
            max_output_tokens=_TOKENS,
        )
        try:
            client = self._clients.one(target)
            async with asyncio.timeout(TEST_SECONDS), client.stream(request) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        return
        except TimeoutError as error:
            raise ModelStalled(provider=name, seconds=round(TEST_SECONDS)) from error

    def _may_be_asked(self, provider: Provider) -> bool:
        keyless = not provider.traits.key_variables
        return keyless or self._providers.key(provider.name) is not None

    async def _served(self, provider: Provider) -> tuple[list[Offered], Trouble | None]:
        """That a port is silent is no news, unless someone said that models are there."""
        trouble = None
        listed: Sequence[Listed] = ()
        try:
            listed = await self._clients.models(provider)
        except ModelError as error:
            if self._providers.origin(provider.name) != "usual":
                trouble = Trouble(provider.name, str(error))
        contexts = {each.model: each.context for each in listed}
        set_up = (*provider.models, *([provider.model] if trouble and provider.model else ()))
        known = {model: provider.profile(model).context for model in set_up}
        found = [
            await self._offered(provider, model, context)
            for model, context in {**known, **contexts}.items()
        ]
        return found, trouble

    async def _offered(self, provider: Provider, model: str, context: int | None) -> Offered:
        price = await self._prices.price(provider, model)
        return Offered(
            name=f"{provider.name}/{model}",
            provider=provider.name,
            model=model,
            context=context,
            input_price=None if price is None else float(price.input),
            output_price=None if price is None else float(price.output),
        )
