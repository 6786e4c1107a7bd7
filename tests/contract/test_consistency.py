"""Many hands on one session: rewrites are seen whole or not at all, and no write is lost."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from roost.core.errors import Conflict, NotFound
from roost.core.ids import SessionId, TurnId
from roost.core.messages import plain_text
from roost.core.turns import Step
from roost.core.usage import Usage
from roost.store.history import History
from roost.store.sessions import SessionPatch
from roost.testing.faults import failing
from tests.store_driver import Driver, Run, draft, new_turn, summary
from tests.threads import in_threads

pytestmark = pytest.mark.both

Rewrite = Callable[[Driver, Run, TurnId], Awaitable[object]]

REWRITES: dict[str, Rewrite] = {
    "undo": lambda ada, run, past: ada.history.undo(run.session, run.token, past),
    "edit": lambda ada, run, past: ada.history.edit(run.session, run.token, past, new_turn("New")),
    "clear": lambda ada, run, past: ada.history.clear(run.session, run.token),
    "restore": lambda ada, run, past: ada.history.restore(run.session, run.token),
    "start another": lambda ada, run, past: start_another(ada, run),
    "resume another": lambda ada, run, past: ada.resume(run._replace(turn=past)),
}


async def start_another(ada: Driver, run: Run) -> None:
    await ada.start((await ada.queue.of(run.session))[0].id, run.lease)


@pytest.mark.contract("D7")
@pytest.mark.parametrize("state", ["running", "waiting"])
@pytest.mark.parametrize("name", REWRITES)
async def test_rewrite_during_a_turn_is_refused_whole(
    ada: Driver, session: SessionId, name: str, state: str
) -> None:
    past = await ada.talk(session)
    await ada.end(half := await ada.run(session), "Half", state="interrupted")
    lease = await ada.claim(session)
    await ada.history.compact(session, lease.token, summary(0, ((await ada.live(session))[1].id,)))
    await ada.store.leases.release(lease)
    run = await ada.run(session)
    await ada.submit(session, "Next")
    await ada.stream(run, "abc")
    if state == "waiting":
        await ada.park(run)
        run = run._replace(lease=await ada.claim(session))
    before = await ada.everything(session)
    with pytest.raises(Conflict):
        await REWRITES[name](ada, run, half.turn if name == "resume another" else past)
    assert await ada.everything(session) == before


@pytest.mark.contract("D7")
async def test_deleting_during_a_turn_shuts_its_writer_out(ada: Driver) -> None:
    run = await ada.run()
    await ada.stream(run, "abc")
    await ada.sessions.delete(run.session)
    assert (await ada.stream(run, "def", first=4)).stored == {}
    for write in (ada.say(run, "More"), ada.end(run, "Done"), ada.submit(run.session)):
        with pytest.raises(NotFound):
            await write
    assert await ada.sessions.page() == []


@pytest.mark.contract("D7")
async def test_end_of_a_turn_is_one_transaction(ada: Driver) -> None:
    run = await ada.run()
    await ada.stream(run, "abc")
    before = await ada.everything(run.session)
    with failing("store.commit.before"), pytest.raises(Exception, match="safe to try again"):
        await ada.end(run, "abc", state="cancelled")
    assert await ada.everything(run.session) == before
    assert await ada.store.leases.holder(run.lease.name) is not None

    await ada.end(run, "abc", state="cancelled")
    assert await ada.store.leases.holder(run.lease.name) is None
    assert await ada.turns.deltas(run.turn) == []
    assert await ada.texts(run.session) == ["Hello", "abc"]


Seen = tuple[int, int, int, list[str]]


def seen(history: History) -> Seen:
    session = history.session
    texts = [plain_text(message.parts) for message in history.messages]
    return session.revision, session.epoch, session.counters.messages, texts


async def rewrite_often(ada: Driver, session: SessionId) -> dict[int, Seen]:
    """Write and rewrite a session; what it was at each revision."""
    states: dict[int, Seen] = {}

    async def did(_: object) -> None:
        now = seen(await ada.history.load(session))
        states[now[0]] = now

    for round in range(12):
        turn = await ada.submit(session, f"Question {round}")
        await did(turn)
        lease = await ada.claim(session)
        run = await ada.start(turn, lease)
        await did(run)
        await did(await ada.say(run, f"Step {round}"))
        await ada.stream(run, "abc", attempt=2)
        await did(await ada.end(run, f"Answer {round}"))
        lease = await ada.claim(session)
        ids = tuple(message.id for message in await ada.live(session))
        epoch = (await ada.sessions.get(session)).epoch
        await did(await ada.history.compact(session, lease.token, summary(epoch, ids[1:])))
        await did(await ada.history.restore(session, lease.token))
        await did(await ada.history.undo(session, lease.token, turn))
        await did(await ada.history.restore(session, lease.token))
        await did(await ada.history.edit(session, lease.token, turn, new_turn("Instead")))
        (edited,) = await ada.queue.of(session)
        await did(await ada.queue.remove(edited.id))
        if round % 4 == 3:
            await did(await ada.history.clear(session, lease.token))
        await ada.store.leases.release(lease)
    return states


@pytest.mark.contract("D7")
async def test_reader_sees_the_state_before_or_after_never_a_mixture(
    ada: Driver, session: SessionId
) -> None:
    states = {1: seen(await ada.history.load(session))}
    observed: list[list[Seen]] = [[], []]
    done = threading.Event()

    async def work(number: int) -> None:
        if number == 2:
            try:
                states.update(await rewrite_often(ada, session))
            finally:
                done.set()
        while not done.is_set():
            observed[number].append(seen(await ada.history.load(session)))

    await in_threads(3, work)
    for readings in observed:
        assert len({revision for revision, *_ in readings}) > 10, "it read while others wrote"
        assert [reading for reading in readings if reading != states[reading[0]]] == []
    assert all(count == len(texts) for _, _, count, texts in states.values())


TASKS, EACH = 3, 15


@pytest.mark.contract("D15")
async def test_concurrent_writes_to_one_session_are_all_kept(ada: Driver) -> None:
    run = await ada.run(words="Begin")
    session = run.session

    async def append(name: str) -> list[str]:
        words = [f"{name} {number}" for number in range(EACH)]
        for each in words:
            usage = (Usage("p", "m", input_tokens=1, cost=2),)
            step = Step(messages=(draft(each),), usage=usage)
            await ada.turns.append(session, run.token, run.turn, step)
        return words

    async def checkpoint() -> None:
        for _ in range(EACH):
            attempt = (await ada.turns.get(run.turn)).attempt
            await ada.stream(run, "x", attempt=attempt)

    async def rename(name: str) -> None:
        for number in range(EACH):
            await ada.sessions.update(session, SessionPatch(title=f"{name} {number}"))

    async def pin() -> None:
        for number in range(EACH):
            await ada.sessions.update(session, SessionPatch(pinned=number % 2 == 0))

    async def submit(name: str) -> list[TurnId]:
        return [await ada.submit(session, f"{name} {number}") for number in range(EACH)]

    async def hammer(thread: int) -> tuple[list[list[str]], list[TurnId]]:
        appends = [append(f"{thread}/{task}") for task in range(TASKS)]
        said, sent, *_ = await asyncio.gather(
            asyncio.gather(*appends),
            submit(f"{thread}"),
            checkpoint(),
            rename(f"Title {thread}"),
            pin(),
        )
        return said, sent

    results = await in_threads(2, hammer)
    found = await ada.sessions.get(session)
    texts = await ada.texts(session)
    said = [words for each, _ in results for words in each]
    assert sorted(texts) == sorted(["Begin", *[one for words in said for one in words]])
    for words in said:  # each writer's own order is kept
        assert [one for one in texts if one in words] == words
    assert {turn.id for turn in await ada.queue.of(session)} == {
        turn for _, sent in results for turn in sent
    }
    assert found.title in {f"Title {thread} {EACH - 1}" for thread in range(2)}
    assert found.pinned

    changes = await ada.history.since(session, 0)
    assert changes.complete
    writes = 2 * (TASKS * EACH + 3 * EACH)
    assert [record.revision for record in changes.recorded] == list(range(1, 3 + writes + 1))
    appended = 2 * TASKS * EACH
    assert found.counters.messages == len(texts) == appended + 1
    assert (found.counters.input_tokens, found.counters.cost) == (appended, 2 * appended)
    assert (found.counters.turns, found.queued) == (1, 2 * EACH)


@pytest.mark.contract("D15")
async def test_no_checkpoint_is_lost_among_other_writes(ada: Driver) -> None:
    run = await ada.run()
    words = "".join(chr(ord("a") + number % 26) for number in range(100))

    async def work(thread: int) -> None:
        for number, letter in enumerate(words, 1):
            if thread == 0:
                tick = await ada.stream(run, letter, first=number)
                assert tick.stored == {run.turn: number}
            else:
                await ada.sessions.update(run.session, SessionPatch(title=f"{thread} {number}"))

    await in_threads(3, work)
    assert await ada.streamed(run.turn) == words
    session = await ada.sessions.get(run.session)
    assert session.revision == 3 + 200


@pytest.mark.contract("D15")
async def test_cancelled_callers_write_is_kept(ada: Driver) -> None:
    run = await ada.run()
    writes = [asyncio.create_task(ada.say(run, f"Step {number}")) for number in range(10)]
    await asyncio.sleep(0)
    for write in writes:
        write.cancel()
    await asyncio.gather(*writes, return_exceptions=True)
    await ada.end(run, "Done")
    assert await ada.texts(run.session) == [
        "Hello",
        *[f"Step {number}" for number in range(10)],
        "Done",
    ]


@pytest.mark.contract("D15")
async def test_one_bad_write_in_a_group_fails_alone(ada: Driver) -> None:
    run = await ada.run()
    bad = run._replace(turn=TurnId("trn_nowhere"))
    results = await asyncio.gather(
        *[ada.say(bad if number % 3 == 0 else run, f"{number}") for number in range(30)],
        return_exceptions=True,
    )
    refused = [isinstance(result, NotFound) for result in results]
    assert refused == [number % 3 == 0 for number in range(30)]
    assert await ada.texts(run.session) == ["Hello", *[f"{n}" for n in range(30) if n % 3]]
    counters = (await ada.sessions.get(run.session)).counters
    assert counters == replace(counters, messages=21)
