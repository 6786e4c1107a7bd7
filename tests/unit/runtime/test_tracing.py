"""Traces: a span for each turn, with its model calls and tools in it, and nothing that was said."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from roost.core.happenings import Observer, Observers, TurnBegan, TurnOver
from roost.core.ids import new_session_id, new_turn_id, new_user_id
from roost.runtime.tracing import ENDPOINT, Traces, traced
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, call, fail, say, use
from tests.engine import Engine, eventually, started

SAID = "the owl sleeps at noon"


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


class Recorder:
    """Spans as they end, by the turn they belong to."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.traces = Traces(provider)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    async def turns(self, number: int = 1) -> None:
        """Wait until so many have ended: that is told when it is durable, and not before."""

        async def ended() -> bool:
            return len([span for span in self.spans if span.name == "turn"]) == number

        await eventually(ended)

    def named(self, name: str) -> ReadableSpan:
        (span,) = [span for span in self.spans if span.name == name]
        return span


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def engine(tmp_path: Path, server: ModelServer, recorder: Recorder) -> AsyncGenerator[Engine]:
    async with started(Engine(tmp_path, server, clock=FakeClock())) as engine:
        engine.parts.builder.observers.add(recorder.traces.happened)
        yield engine


def parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def own(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


async def test_turn_has_its_model_calls_and_tools_in_it(
    engine: Engine, server: ModelServer, recorder: Recorder
) -> None:
    tool = call("echo", {"text": SAID})
    server.plan(tool, say(SAID) + use(input_tokens=20, output_tokens=3))
    session = await engine.session()
    turn = await engine.say(session, SAID)
    await recorder.turns()
    assert [span.name for span in recorder.spans] == [
        "chat model",
        "execute_tool echo",
        "chat model",
        "turn",
    ]
    whole = recorder.named("turn")
    assert parent(whole) is None
    assert {parent(span) for span in recorder.spans[:-1]} == {own(whole)}
    assert whole.attributes == {
        "user.id": engine.owner.id,
        "session.id": session,
        "roost.turn": turn.id,
        "roost.state": "completed",
    }
    answer = dict(recorder.spans[2].attributes or {})
    assert answer.pop("roost.first_token_seconds")
    assert answer == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "test",
        "gen_ai.request.model": "model",
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 3,
        "roost.outcome": "answered",
    }
    for span in recorder.spans:
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.start_time <= span.end_time
        assert SAID not in span.to_json()


async def test_failure_is_told_by_its_kind_and_not_by_its_words(
    engine: Engine, server: ModelServer, recorder: Recorder
) -> None:
    server.plan(fail("bad_request", message=SAID))
    await engine.say(await engine.session())
    await recorder.turns()
    asked, whole = recorder.spans
    assert (asked.attributes or {})["error.type"] == "request-refused"
    assert asked.status.status_code is StatusCode.ERROR
    assert whole.status.status_code is StatusCode.ERROR
    assert SAID not in asked.to_json() + whole.to_json()


async def test_turns_side_by_side_are_told_apart(
    engine: Engine, server: ModelServer, recorder: Recorder
) -> None:
    server.otherwise(say("Good day."))
    sessions = [await engine.session() for _ in range(5)]
    await asyncio.gather(*[engine.say(session) for session in sessions])
    await recorder.turns(5)
    turns = {own(span): span for span in recorder.spans if span.name == "turn"}
    calls = [span for span in recorder.spans if span.name != "turn"]
    assert len(turns) == 5
    assert sorted([parent(span) or 0 for span in calls]) == sorted(turns)


async def test_turn_after_another_is_no_part_of_it(recorder: Recorder) -> None:
    async def turn() -> None:
        id = new_turn_id()
        recorder.traces.happened(TurnBegan(new_user_id(), new_session_id(), id))
        recorder.traces.happened(TurnOver(id, "completed", 0.1))
        if len(recorder.spans) < 2:
            await asyncio.create_task(turn())  # as what it began may send a message later

    await asyncio.create_task(turn())
    assert [parent(span) for span in recorder.spans] == [None, None]


async def test_one_that_was_taken_away_ends_too(recorder: Recorder) -> None:
    id = new_turn_id()
    recorder.traces.happened(TurnBegan(new_user_id(), new_session_id(), id))
    recorder.traces.happened(TurnOver(id, None, 0.1))
    recorder.traces.happened(TurnOver(id, None, 0.1))
    assert (recorder.named("turn").attributes or {})["roost.state"] == "unfinished"


@asynccontextmanager
async def collector() -> AsyncGenerator[tuple[str, asyncio.Queue[bytes]]]:
    """Takes traces as a collector does."""
    taken: asyncio.Queue[bytes] = asyncio.Queue()

    async def take(request: web.Request) -> web.Response:
        taken.put_nowait(await request.read())
        return web.Response(content_type="application/x-protobuf")

    app = web.Application()
    app.router.add_post("/v1/traces", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", taken
    finally:
        await runner.cleanup()


async def test_traces_go_where_the_environment_says() -> None:
    observers = Observers()
    async with collector() as (address, taken):
        async with traced({ENDPOINT: address}, observers):
            id = new_turn_id()
            observers.tell(TurnBegan(new_user_id(), new_session_id(), id))
            observers.tell(TurnOver(id, "completed", 0.1))
        async with asyncio.timeout(60):
            assert id.encode() in await taken.get()


async def test_nobody_who_takes_them_holds_up_the_stop() -> None:
    observers = Observers()
    async with asyncio.timeout(60), traced({ENDPOINT: "http://127.0.0.1:9"}, observers):
        id = new_turn_id()
        observers.tell(TurnBegan(new_user_id(), new_session_id(), id))
        observers.tell(TurnOver(id, "completed", 0.1))


async def test_without_an_address_nothing_is_traced() -> None:
    class Nobody(Observers):
        def add(self, observer: Observer) -> None:
            raise AssertionError("nobody should be told")

    async with traced({}, Nobody()):
        pass
