"""Messages on their way in: durable before they are accepted, one turn per key, in order."""

import asyncio
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from roost.core.errors import Conflict, InvalidInput, KeyReused
from roost.core.ids import BlobId, SessionId, new_turn_id
from roost.core.messages import FilePart, TextPart
from roost.core.turns import NewTurn, Step, TurnOptions
from roost.testing.clock import FakeClock
from roost.testing.faults import failing
from tests.store_driver import Driver, draft, new_turn, opened, text

pytestmark = pytest.mark.both


@pytest.mark.contract("D1")
@pytest.mark.sqlite("a crash leaves files as they were")
async def test_accepted_message_and_its_attachment_survive_a_crash(
    ada: Driver, session: SessionId, folder: Path, tmp_path: Path, clock: FakeClock
) -> None:
    blob = await ada.blobs.put_bytes(b"%PDF", "application/pdf")
    parts = (TextPart("Read this"), FilePart(blob.id, blob.media_type, "owls.pdf", blob.size))
    accepted = await ada.queue.submit(session, NewTurn(id=new_turn_id(), parts=parts, key="k"))
    shutil.copytree(folder, tmp_path / "crashed")  # the files as a crash at this moment leaves them

    async with opened(tmp_path / "crashed", clock) as store:
        again = Driver(store, ada.user)
        assert await again.queue.of(session) == [accepted]
        assert await again.blobs.read_bytes(blob.id) == b"%PDF"


@pytest.mark.contract("D1")
async def test_message_with_a_missing_attachment_is_not_accepted(
    ada: Driver, session: SessionId
) -> None:
    missing = FilePart(BlobId("0" * 64), "text/plain", "x.txt", 1)
    before = await ada.everything(session)
    with pytest.raises(InvalidInput):
        await ada.queue.submit(session, NewTurn(id=new_turn_id(), parts=(missing,)))
    assert await ada.everything(session) == before


@pytest.mark.contract("D1")
async def test_message_is_in_the_history_before_the_first_attempt_begins(ada: Driver) -> None:
    run = await ada.run(words="Hello")
    changes = await ada.history.since(run.session, 0)
    kinds = [type(event).__name__ for record in changes.recorded for event in record.events]
    assert kinds == ["SessionUpdated", "TurnUpdated", "TurnUpdated", "MessageAdded", "AttemptBegan"]
    assert await ada.texts(run.session) == ["Hello"]


@pytest.mark.contract("D1")
async def test_same_key_is_one_turn_however_often_it_is_sent(
    ada: Driver, session: SessionId
) -> None:
    sent = [new_turn("Hello", key="k") for _ in range(16)]
    turns = await asyncio.gather(*[ada.queue.submit(session, new) for new in sent])
    assert len({turn.id for turn in turns}) == 1
    assert await ada.queue.of(session) == turns[:1]


@pytest.mark.contract("D1")
async def test_repeat_after_an_answer_that_got_lost_is_one_turn(
    ada: Driver, session: SessionId
) -> None:
    new = new_turn("Hello")
    with failing("store.commit.after"), pytest.raises(Exception, match="safe to try again"):
        await ada.queue.submit(session, new)
    turn = await ada.queue.submit(session, new)
    assert await ada.queue.of(session) == [turn]


@pytest.mark.contract("D1")
async def test_repeat_is_known_after_the_turn_has_ended(ada: Driver, session: SessionId) -> None:
    new = new_turn("Hello", key="k")
    turn = await ada.queue.submit(session, new)
    run = await ada.start(turn.id, await ada.claim(session))
    await ada.end(run, "Good day")
    again = await ada.queue.submit(session, replace(new, id=new_turn_id()))
    assert (again.id, again.state) == (turn.id, "completed")


@pytest.mark.contract("D1")
async def test_same_key_with_another_body_is_refused(ada: Driver, session: SessionId) -> None:
    first = new_turn("Hello", key="k")
    await ada.queue.submit(session, first)
    before = await ada.everything(session)
    for other in (
        replace(first, id=new_turn_id(), parts=text("Goodbye")),
        replace(first, id=new_turn_id(), steer=True),
        replace(first, id=new_turn_id(), route="cli"),
        replace(first, id=new_turn_id(), options=TurnOptions(effort="high")),
        replace(first, id=new_turn_id(), ephemeral=True),
        replace(first, parts=text("Goodbye")),
    ):
        with pytest.raises(KeyReused):
            await ada.queue.submit(session, other)
    assert await ada.everything(session) == before


@pytest.mark.contract("D1")
async def test_keys_of_two_sessions_are_independent(ada: Driver) -> None:
    one, two = await ada.session(), await ada.session()
    first = await ada.queue.submit(one, new_turn("Hello", key="k"))
    second = await ada.queue.submit(two, new_turn("Goodbye", key="k"))
    assert (first.session, second.session) == (one, two)


@pytest.mark.contract("D8")
async def test_message_sent_during_a_turn_waits_its_turn(ada: Driver) -> None:
    run = await ada.run(words="One")
    two, three = [await ada.submit(run.session, words) for words in ("Two", "Three")]
    assert [turn.id for turn in await ada.queue.of(run.session)] == [two, three]
    for early in (two, three):
        with pytest.raises(Conflict):
            await ada.start(early, run.lease)
    assert await ada.texts(run.session) == ["One"]

    await ada.end(run, "First answer")
    lease = await ada.claim(run.session)
    with pytest.raises(Conflict):
        await ada.start(three, lease)
    await ada.end(await ada.start(two, lease), "Second answer")
    await ada.start(three, await ada.claim(run.session))
    assert await ada.texts(run.session) == ["One", "First answer", "Two", "Second answer", "Three"]


@pytest.mark.contract("D8")
async def test_queued_message_can_be_edited_and_removed_until_it_starts(ada: Driver) -> None:
    run = await ada.run(words="One")
    two, three = [await ada.submit(run.session, words) for words in ("Two", "Three")]
    edited = await ada.queue.edit(two, text("Zwei"))
    assert (edited.id, edited.parts, edited.state) == (two, text("Zwei"), "queued")
    await ada.queue.remove(three)
    assert await ada.queue.of(run.session) == [edited]
    assert (await ada.turns.get(three)).state == "removed"

    await ada.end(run)
    await ada.start(two, await ada.claim(run.session))
    before = await ada.everything(run.session)
    for gone in (two, three, run.turn):
        with pytest.raises(Conflict):
            await ada.queue.edit(gone, text("Too late"))
        with pytest.raises(Conflict):
            await ada.queue.remove(gone)
    assert await ada.everything(run.session) == before


@pytest.mark.contract("D8")
async def test_steer_becomes_part_of_the_running_turn(ada: Driver) -> None:
    run = await ada.run(words="One")
    steer = await ada.queue.submit(run.session, new_turn("Faster", steer=True))
    step = Step(messages=(draft("On it"), draft("Faster", "user")), steers=(steer.id,))
    await ada.turns.append(run.session, run.token, run.turn, step)
    assert await ada.texts(run.session) == ["One", "On it", "Faster"]
    assert (await ada.turns.get(steer.id)).state == "merged"
    assert await ada.queue.of(run.session) == []
    with pytest.raises(Conflict):
        await ada.queue.edit(steer.id, text("Slower"))


@pytest.mark.contract("D8")
async def test_sessions_run_beside_one_another(ada: Driver) -> None:
    runs = [await ada.run(words=f"Question {n}") for n in range(5)]
    await asyncio.gather(*[ada.end(run, "Done") for run in reversed(runs)])
    states = [(await ada.turns.get(run.turn)).state for run in runs]
    assert states == ["completed"] * 5
