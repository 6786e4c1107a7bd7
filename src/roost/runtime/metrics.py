"""Counts what happens, for Prometheus: taken where things end, never per token."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.process_collector import ProcessCollector

from roost.core.happenings import Happening, ModelCalled, Spent, ToolCalled, TurnOver
from roost.core.usage import NANO

MOST_NAMES = 200
"""Models and tools that are told apart. Anyone may name a model that nobody has, and another one
each time: what is beyond goes under `other`."""
OTHER = "other"
MADE_UP = "unknown"
CONTENT_TYPE = CONTENT_TYPE_LATEST

_SOON = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LONG = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


class Metrics:
    """In a registry of its own: two Roosts in one process do not meet there."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._models: set[tuple[str, str]] = set()
        self._tools: set[str] = set()
        counter = partial(Counter, registry=registry)
        histogram = partial(Histogram, registry=registry)
        model = ["provider", "model"]
        self._turns = counter("roost_turns", "Turns by how they ended.", ["state"])
        self._turn_seconds = histogram(
            "roost_turn_seconds", "How long turns took, from claim to end.", buckets=_LONG
        )
        self._calls = counter(
            "roost_model_calls", "Requests to models by how they ended.", [*model, "outcome"]
        )
        self._first = histogram(
            "roost_model_first_token_seconds", "Until a model said something.", model, buckets=_SOON
        )
        self._call_seconds = histogram(
            "roost_model_call_seconds", "Until a model's answer was whole.", model, buckets=_LONG
        )
        self._tokens = counter(
            "roost_tokens",
            "Tokens by kind: input includes cached and cache_write, output includes reasoning.",
            [*model, "kind"],
        )
        self._cost = counter("roost_cost_dollars", "What answers cost, where that is known.", model)
        self._tool_calls = counter(
            "roost_tool_calls", "Tool calls by how they ended.", ["tool", "state"]
        )
        self._tool_seconds = histogram(
            "roost_tool_seconds", "How long tools ran.", ["tool"], buckets=_SOON
        )

    def happened(self, happening: Happening) -> None:
        match happening:
            case TurnOver(state=str(state), seconds=seconds):
                self._turns.labels(state).inc()
                self._turn_seconds.observe(seconds)
            case ModelCalled():
                self._called(happening)
            case Spent():
                self._spent(happening)
            case ToolCalled():
                name = self._tool(happening.name)
                self._tool_calls.labels(name, happening.state).inc()
                self._tool_seconds.labels(name).observe(happening.seconds)
            case _:
                pass

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def _called(self, call: ModelCalled) -> None:
        model = self._model(call.provider, call.model)
        self._calls.labels(*model, call.outcome).inc()
        if call.first is not None:
            self._first.labels(*model).observe(call.first)
        if call.outcome == "answered":
            self._call_seconds.labels(*model).observe(call.seconds)

    def _spent(self, spent: Spent) -> None:
        usage = spent.usage
        model = self._model(usage.provider, usage.model)
        for kind, tokens in (
            ("input", usage.input_tokens),
            ("cached", usage.cached_tokens),
            ("cache_write", usage.cache_write_tokens),
            ("output", usage.output_tokens),
            ("reasoning", usage.reasoning_tokens),
        ):
            self._tokens.labels(*model, kind).inc(tokens)
        self._cost.labels(*model).inc((usage.cost or 0) / NANO)

    def _model(self, provider: str, model: str) -> tuple[str, str]:
        if (provider, model) not in self._models:
            if len(self._models) >= MOST_NAMES:
                return OTHER, OTHER
            self._models.add((provider, model))
        return provider, model

    def _tool(self, name: str | None) -> str:
        if name is None:
            return MADE_UP
        if name not in self._tools:
            if len(self._tools) >= MOST_NAMES:
                return OTHER
            self._tools.add(name)
        return name
