"""OpenTelemetry: a span for each turn, and in it for each request to a model and each tool call.

An extra, `roost[otel]`: nothing of it is imported unless traces are asked for. What was said stands
in none of them, nor does the text of an error.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog

from roost import __version__
from roost.core.happenings import (
    Happening,
    ModelCalled,
    Observers,
    ToolCalled,
    TurnBegan,
    TurnOver,
)
from roost.core.ids import TurnId

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

log = structlog.stdlib.get_logger("roost.traces")

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_CLOSE_SECONDS = 5.0
_EXPORT_SECONDS = 3
_FINE = ("answered", "left", "done", "cancelled")


class Traces:
    """An observer. Spans of what a turn does hang on its own by the context of its task."""

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry import context, trace

        self._context = context
        self._trace = trace
        self._tracer = provider.get_tracer("roost", __version__)
        self._turns: dict[TurnId, Span] = {}

    def happened(self, happening: Happening) -> None:
        match happening:
            case TurnBegan():
                self._began(happening)
            case TurnOver():
                self._over(happening)
            case ModelCalled():
                self._called(happening)
            case ToolCalled():
                self._used(happening)
            case _:
                pass

    def _began(self, began: TurnBegan) -> None:
        # A subagent's turn belongs to its caller's; what comes after that has ended does not.
        inside = self._trace.get_current_span().is_recording()
        span = self._tracer.start_span(
            "turn",
            context=None if inside else self._context.Context(),
            attributes={
                "user.id": began.user,
                "session.id": began.session,
                "roost.turn": began.turn,
            },
        )
        self._turns[began.turn] = span
        # For the rest of this task, which is the turn's own.
        self._context.attach(self._trace.set_span_in_context(span))

    def _over(self, over: TurnOver) -> None:
        span = self._turns.pop(over.turn, None)
        if span is None:
            return
        span.set_attribute("roost.state", over.state or "unfinished")
        if over.state == "failed":
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()

    def _called(self, call: ModelCalled) -> None:
        attributes: dict[str, str | int | float] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": call.provider,
            "gen_ai.request.model": call.model,
        }
        if call.first is not None:
            attributes["roost.first_token_seconds"] = call.first
        if call.usage is not None:
            attributes["gen_ai.usage.input_tokens"] = call.usage.input_tokens
            attributes["gen_ai.usage.output_tokens"] = call.usage.output_tokens
        name = f"chat {call.model}"
        self._record(name, attributes, call.outcome, call.began_at, call.seconds, client=True)

    def _used(self, call: ToolCalled) -> None:
        name = call.name or "unknown"
        attributes: dict[str, str | int | float] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
        }
        self._record(f"execute_tool {name}", attributes, call.state, call.began_at, call.seconds)

    def _record(
        self,
        name: str,
        attributes: dict[str, str | int | float],
        outcome: str,
        began_at: int,
        seconds: float,
        *,
        client: bool = False,
    ) -> None:
        kind = self._trace.SpanKind.CLIENT if client else self._trace.SpanKind.INTERNAL
        attributes["roost.outcome"] = outcome
        span = self._tracer.start_span(name, kind=kind, attributes=attributes, start_time=began_at)
        if outcome not in _FINE:
            span.set_attribute("error.type", outcome)
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(began_at + round(seconds * 1_000_000_000))


@asynccontextmanager
async def traced(environ: Mapping[str, str], observers: Observers) -> AsyncGenerator[None]:
    """Send traces to where the environment says, if it does, for as long as the block lasts."""
    provider = _provider(environ.get(ENDPOINT, ""))
    if provider is None:
        yield
        return
    observers.add(Traces(provider).happened)
    try:
        yield
    finally:
        # In a thread that holds up nobody: whoever should take them may not answer.
        closing = threading.Thread(target=provider.shutdown, name="roost-traces", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, _CLOSE_SECONDS)


def _provider(endpoint: str) -> "TracerProvider | None":
    if not endpoint:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("there are no traces: install roost[otel]", because=f"{ENDPOINT} is set")
        return None
    resource = Resource.create({"service.name": "roost", "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    address = endpoint.rstrip("/") + "/v1/traces"
    exporter = OTLPSpanExporter(endpoint=address, timeout=_EXPORT_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider
