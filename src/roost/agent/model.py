"""The model an agent asks: who answers, what fits, and what an answer used and cost."""

from collections.abc import Iterable

import msgspec

from roost.core.happenings import Observers, Spent
from roost.core.messages import Message
from roost.core.usage import Usage
from roost.llm.base import Finished, LLMClient, Request
from roost.llm.prices import Prices
from roost.llm.providers import Providers, Target
from roost.llm.tokens import Estimator, Size


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """`client` asks the fallbacks too, so an answer may come from another model than `target`."""

    target: Target
    client: LLMClient
    estimator: Estimator
    providers: Providers
    prices: Prices
    observers: Observers = msgspec.field(default_factory=Observers)

    def measure(self, messages: Iterable[Message]) -> Size:
        target = self.target
        return self.estimator.measure(messages, target.model, target.provider.name)

    async def account(
        self, request: Request, finished: Finished, answer: Message, size: Size | None = None
    ) -> Usage:
        """What the call used, estimated where the server did not say, and its price. `size` is that
        of the request's messages, if it is known."""
        usage = finished.usage
        if usage is None:
            return await self.guess(request, answer, size)
        if usage.model == request.model and usage.provider == self.target.provider.name:
            self.estimator.observe(request, usage, size)
        return await self._priced(usage)

    async def _priced(self, usage: Usage) -> Usage:
        # Its own is known here, also after an admin has removed it.
        known = (self.target.provider, *self.providers)
        provider = next((each for each in known if each.name == usage.provider), None)
        cost = None if provider is None else await self.prices.cost(usage, provider)
        priced = msgspec.structs.replace(usage, cost=cost)
        self.observers.tell(Spent(priced))
        return priced

    async def guess(self, request: Request, answer: Message, size: Size | None = None) -> Usage:
        """What a call used that nobody reported."""
        said = Request(model=request.model, messages=(answer,))
        name = self.target.provider.name
        usage = Usage(
            name,
            self.target.model,
            input_tokens=self.estimator.estimate(request, name, size),
            output_tokens=self.estimator.estimate(said, name),
        )
        return await self._priced(usage)
