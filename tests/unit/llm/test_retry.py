"""Retries and fallbacks: when, how long, and that they are never silent."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from roost.core.errors import (
    ContentRefused,
    ContextTooLong,
    KeyRefused,
    ModelError,
    ModelOverloaded,
    ModelStalled,
    ModelUnknown,
    ModelUnreachable,
    NoAnswer,
    NoCredit,
    RateLimited,
    ReplyMalformed,
    RequestRefused,
    StreamCut,
)
from roost.core.events import TextDelta
from roost.core.messages import TextPart
from roost.core.usage import Usage
from roost.llm.base import FellBack, Finished, LLMClient, Request, Retrying, StreamEvent
from roost.llm.retry import Candidate, Patience, PatientClient

HELLO = TextDelta("hello")
DONE = Finished((TextPart("hello"),), "stop", Usage("nest", "heron"))
REQUEST = Request(model="heron", messages=())

UNREACHABLE = ModelUnreachable("refused", provider="nest")
OVERLOADED = ModelOverloaded("529", provider="nest")
STALLED = ModelStalled(provider="nest", seconds=60)
CUT = StreamCut("closed", provider="nest")


def limited(retry_after: float | None) -> RateLimited:
    return RateLimited("429", provider="nest", retry_after=retry_after)


class Scripted:
    """Answers each request with the next line of its script: events, maybe an error at the end."""

    def __init__(self, *script: Sequence[StreamEvent | ModelError]) -> None:
        self.script = list(script)
        self.asked: list[str] = []
        self.open = 0
        self.closed = 0

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        self.asked.append(request.model)
        self.open += 1
        try:
            yield self._events(self.script.pop(0))
        finally:
            self.open -= 1

    async def _events(
        self, line: Sequence[StreamEvent | ModelError]
    ) -> AsyncGenerator[StreamEvent]:
        for event in line:
            if isinstance(event, ModelError):
                raise event
            yield event

    async def close(self) -> None:
        self.closed += 1


class Time:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def patient(
    time: Time, *clients: LLMClient, chance: float = 1.0, patience: Patience | None = None
) -> PatientClient:
    names = ["heron", "egret", "stork"]
    return PatientClient(
        [Candidate("nest", name, client) for name, client in zip(names, clients, strict=False)],
        patience=patience,
        sleep=time.sleep,
        chance=lambda: chance,
        clock=time,
    )


async def events_of(client: LLMClient) -> list[StreamEvent]:
    async with client.stream(REQUEST) as events:
        return [event async for event in events]


async def test_answer_goes_through_as_it_is() -> None:
    time, model = Time(), Scripted([HELLO, DONE])
    assert await events_of(patient(time, model)) == [HELLO, DONE]
    assert (model.asked, time.slept) == (["heron"], [])


@pytest.mark.parametrize("error", [UNREACHABLE, OVERLOADED, STALLED, CUT, limited(None)])
async def test_passing_failure_is_retried_and_told(error: ModelError) -> None:
    time, model = Time(), Scripted([error], [HELLO, DONE])
    assert await events_of(patient(time, model)) == [Retrying(str(error), 0.5), HELLO, DONE]
    assert time.slept == [0.5]


@pytest.mark.parametrize(
    "error",
    [
        KeyRefused("401", provider="nest"),
        NoCredit("402", provider="nest"),
        ModelUnknown("404", provider="nest", model="heron"),
        ContextTooLong("long", model="heron"),
        ContentRefused("no", provider="nest"),
        RequestRefused("400", provider="nest"),
        ReplyMalformed("html", provider="nest"),
        NoAnswer(model="heron"),
    ],
)
async def test_lasting_failure_is_not_retried(error: ModelError) -> None:
    time, model = Time(), Scripted([error], [HELLO, DONE])
    with pytest.raises(type(error)):
        await events_of(patient(time, model))
    assert (len(model.asked), time.slept) == (1, [])


async def test_waits_double_up_to_the_longest() -> None:
    time, model = Time(), Scripted(*[[OVERLOADED]] * 8, [HELLO, DONE])
    await events_of(patient(time, model))
    assert time.slept == [0.5, 1, 2, 4, 8, 16, 16, 16]


async def test_waits_are_drawn_from_nothing_to_the_whole() -> None:
    for chance in (0.0, 0.25):
        time, model = Time(), Scripted(*[[OVERLOADED]] * 3, [HELLO, DONE])
        await events_of(patient(time, model, chance=chance))
        assert time.slept == [0.5 * chance, 1 * chance, 2 * chance]


async def test_server_gets_the_wait_it_asks_for() -> None:
    time, model = Time(), Scripted([limited(7.0)], [limited(0)], [HELLO, DONE])
    await events_of(patient(time, model, chance=0.5))
    assert time.slept == [7.25, 0.25]


async def test_wait_that_is_too_long_is_not_waited() -> None:
    time, model = Time(), Scripted([limited(60)], [HELLO, DONE])
    await events_of(patient(time, model, chance=0))
    assert time.slept == [60]
    time, model = Time(), Scripted([limited(61)], [HELLO, DONE])
    with pytest.raises(RateLimited):
        await events_of(patient(time, model))
    assert time.slept == []


async def test_no_retry_begins_after_the_deadline() -> None:
    time, model = Time(), Scripted(*[[OVERLOADED]] * 9)
    with pytest.raises(ModelOverloaded):
        await events_of(patient(time, model, patience=Patience(deadline=10)))
    assert time.slept == [0.5, 1, 2, 4]
    assert len(model.asked) == 5


async def test_retries_are_counted() -> None:
    time, model = Time(), Scripted(*[[OVERLOADED]] * 9)
    with pytest.raises(ModelOverloaded):
        await events_of(patient(time, model, patience=Patience(retries=2)))
    assert len(model.asked) == 3


async def test_failure_after_the_first_word_goes_through() -> None:
    time, model, other = Time(), Scripted([HELLO, CUT], [HELLO, DONE]), Scripted([HELLO, DONE])
    async with patient(time, model, other).stream(REQUEST) as events:
        assert await anext(events) == HELLO
        with pytest.raises(StreamCut):
            await anext(events)
    assert (time.slept, other.asked) == ([], [])


@pytest.mark.parametrize(
    "error",
    [
        limited(600),
        NoCredit("402", provider="nest"),
        KeyRefused("401", provider="nest"),
        ModelUnknown("404", provider="nest", model="heron"),
    ],
)
async def test_another_model_answers_and_it_is_told(error: ModelError) -> None:
    time, model, other = Time(), Scripted([error]), Scripted([HELLO, DONE])
    events = await events_of(patient(time, model, other))
    assert events == [FellBack("nest", "egret", str(error)), HELLO, DONE]
    assert (model.asked, other.asked) == (["heron"], ["egret"])


async def test_fallbacks_come_after_retries_and_in_order() -> None:
    time = Time()
    models = [Scripted(*[[OVERLOADED]] * 3), Scripted(*[[UNREACHABLE]] * 3), Scripted([DONE])]
    events = await events_of(patient(time, *models, patience=Patience(retries=2)))
    told = [type(event).__name__ for event in events]
    assert told == ["Retrying", "Retrying", "FellBack"] * 2 + ["Finished"]
    assert [event.model for event in events if isinstance(event, FellBack)] == ["egret", "stork"]


@pytest.mark.parametrize(
    "error",
    [
        ContextTooLong("long", model="heron"),
        ContentRefused("no", provider="nest"),
        RequestRefused("400", provider="nest"),
        NoAnswer(model="heron"),
    ],
)
async def test_failure_of_the_request_itself_does_not_fall_back(error: ModelError) -> None:
    time, model, other = Time(), Scripted([error]), Scripted([HELLO, DONE])
    with pytest.raises(type(error)):
        await events_of(patient(time, model, other))
    assert other.asked == []


async def test_fallback_is_asked_once_even_after_the_deadline() -> None:
    time, model, other = Time(), Scripted(*[[OVERLOADED]] * 9), Scripted([OVERLOADED], [DONE])
    with pytest.raises(ModelOverloaded):
        await events_of(patient(time, model, other, chance=0.999, patience=Patience(deadline=0.1)))
    assert (len(model.asked), len(other.asked)) == (1, 1)


async def test_deadline_is_one_for_all_models() -> None:
    time, models = Time(), [Scripted(*[[OVERLOADED]] * 9), Scripted(*[[OVERLOADED]] * 9)]
    with pytest.raises(ModelOverloaded):
        await events_of(patient(time, *models, patience=Patience(deadline=10)))
    assert time.slept == [0.5, 1, 2, 4, 0.5, 1]


async def test_error_of_the_last_model_is_the_one_that_is_raised() -> None:
    time = Time()
    with pytest.raises(NoCredit):
        await events_of(
            patient(time, Scripted([limited(600)]), Scripted([NoCredit("402", provider="nest")]))
        )


async def test_leaving_early_closes_the_stream_at_once() -> None:
    model = Scripted([HELLO, HELLO, DONE])
    async with patient(Time(), model).stream(REQUEST) as events:
        assert await anext(events) == HELLO
        assert model.open == 1
    assert model.open == 0


async def test_no_stream_is_open_while_waiting() -> None:
    model = Scripted([OVERLOADED], [HELLO, DONE])
    async with patient(Time(), model).stream(REQUEST) as events:
        assert isinstance(await anext(events), Retrying)
        assert model.open == 0


async def test_cancelling_ends_a_wait_at_once() -> None:
    waiting = asyncio.Event()
    model = Scripted([limited(50)], [HELLO, DONE])

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.sleep(seconds)

    client = PatientClient([Candidate("nest", "heron", model)], sleep=sleep)
    task = asyncio.create_task(events_of(client))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert (len(model.asked), model.open) == (1, 0)


async def test_closing_closes_every_client_once() -> None:
    one, two = Scripted(), Scripted()
    await patient(Time(), one, two, one).close()
    assert (one.closed, two.closed) == (1, 1)


def test_someone_must_be_there_to_be_asked() -> None:
    with pytest.raises(ValueError, match="no model"):
        PatientClient([])
