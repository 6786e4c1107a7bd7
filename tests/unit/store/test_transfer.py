"""Export and import: the same session comes back, once, and a damaged document changes nothing."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest
from msgspec.structs import asdict, replace

from roost.core.errors import Conflict, Fenced, InvalidInput, NotFound, RoostError
from roost.core.ids import BlobId, SessionId, new_message_id, new_tool_call_id
from roost.core.messages import (
    Draft,
    FilePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from roost.core.turns import Step, TurnEnd
from roost.core.usage import Usage
from roost.store.folder import BLOBS
from roost.store.sessions import SessionPatch
from roost.testing.clock import FakeClock
from tests.store_driver import (
    CONFIG,
    PROMPT,
    Driver,
    eventually,
    new_session,
    new_turn,
)
from tests.unit.store.tables import lose_bytes, lose_row

pytestmark = pytest.mark.both

T = TypeVar("T")
P = ParamSpec("P")

ODD = UnknownPart(b'{"kind":"hologram", "z":[1,  2.50,"\\u00e9\xc3\xa9"],"a":null}')


@pytest.fixture
async def rich(ada: Driver, session: SessionId) -> SessionId:
    """A session with one of everything: past epochs, tools, attachments, usage, a parent."""
    await ada.sessions.update(session, SessionPatch(title="Owls \U0001f989", pinned=True))
    lease = await ada.claim(session)
    await ada.sessions.configure(session, lease.token, CONFIG, PROMPT)
    await ada.store.leases.release(lease)
    blob = await ada.blobs.put_bytes(b"\x00\xffowl", "image/png")
    run = await ada.run(session, "Show me 日本語")
    call = ToolCallPart(new_tool_call_id(), "draw", '{"what": "owl"}')
    shown = FilePart(blob.id, blob.media_type, "owl.png", blob.size)
    drafts = (
        Draft(new_message_id(), "assistant", (TextPart("Look"), ODD, call)),
        Draft(new_message_id(), "tool", (ToolResultPart(call.call, (shown,)),)),
    )
    usage = (Usage("p", "m", input_tokens=9, output_tokens=3, cost=5), Usage("p", "n"))
    await ada.turns.append(session, run.token, run.turn, Step(messages=drafts, usage=usage))
    for state in ("running", "done"):
        await ada.turns.set_tool_call(session, run.token, run.turn, call.call, state)
    await ada.end(run, "There")
    await ada.talk(session, "To be undone")
    lease = await ada.claim(session)
    await ada.history.undo(session, lease.token, (await ada.turns.of(session))[-1].id)
    await ada.store.leases.release(lease)
    await ada.compact(session)
    for what in ("title", "compaction", "memory"):
        await ada.usage.add(session, f"{what}:{session}", (Usage("p", "small", cost=1),))
    await ada.talk(session, "Go on", "Gladly")
    return session


async def purged(ada: Driver, session: SessionId, clock: FakeClock) -> None:
    """Wait until nothing is left of a deleted session."""
    clock.advance(61)

    async def is_gone() -> bool:
        await ada.settings.put("nudge", "1")
        return await ada.store.work.owner(session) is None

    await eventually(is_gone)


async def delete_for_good(ada: Driver, session: SessionId, clock: FakeClock) -> None:
    document = await ada.transfer.export(session)
    await ada.sessions.delete(session)
    with pytest.raises(Conflict, match="just deleted"):
        await ada.transfer.load(document)
    await purged(ada, session, clock)
    assert (await ada.transfer.load(document)).created


async def test_export_delete_import_gives_the_same_session(
    ada: Driver, rich: SessionId, clock: FakeClock
) -> None:
    before, messages = await ada.sessions.get(rich), await ada.live(rich)
    turns, epochs = await ada.turns.of(rich), await ada.history.epochs(rich)
    calls = [await ada.turns.tool_calls(turn.id) for turn in turns]
    document = json.loads(await ada.transfer.export(rich))
    await delete_for_good(ada, rich, clock)

    after = await ada.sessions.get(rich)
    assert after == replace(
        before,
        revision=before.revision + 1,
        config=None,
        signature=None,
        token=after.token,
        answered=after.answered,
    )
    assert await ada.live(rich) == messages
    assert await ada.turns.of(rich) == turns
    assert await ada.history.epochs(rich) == epochs
    assert [await ada.turns.tool_calls(turn.id) for turn in turns] == calls
    again = json.loads(await ada.transfer.export(rich))
    for each in (document, again):
        del each["session"]["revision"], each["session"]["config"]
    assert again == document


async def test_unknown_parts_survive_byte_for_byte(
    ada: Driver, rich: SessionId, clock: FakeClock
) -> None:
    await delete_for_good(ada, rich, clock)
    (gone,) = [m for m in (await ada.history.replaced(rich, 2)).messages if m.role == "assistant"][
        :1
    ]
    assert gone.parts[1] == ODD


async def test_imported_session_lives_on(ada: Driver, rich: SessionId, clock: FakeClock) -> None:
    await delete_for_good(ada, rich, clock)
    assert (await ada.history.since(rich, (await ada.sessions.get(rich)).revision - 1)).complete
    assert await ada.found("hologram") == []
    assert len(await ada.found("日本語")) == 1
    await ada.talk(rich, "Still there?", "Yes")
    assert (await ada.texts(rich))[-1] == "Yes"
    blob = (await ada.blobs.of_session(rich))[0].id
    assert await ada.blobs.read_bytes(blob) == b"\x00\xffowl"


async def test_importing_twice_changes_nothing(ada: Driver, rich: SessionId) -> None:
    document = await ada.transfer.export(rich)
    before = await ada.everything(rich)
    imported = await ada.transfer.load(document)
    assert not imported.created
    assert imported.session.id == rich
    await ada.talk(rich, "Said later", "Yes")
    assert not (await ada.transfer.load(document)).created
    assert before[0].id == rich
    assert (await ada.texts(rich))[-1] == "Yes"


async def test_another_user_gets_a_session_of_their_own(
    ada: Driver, bob: Driver, rich: SessionId
) -> None:
    document = await ada.transfer.export(rich)
    before = await ada.everything(rich)
    imported = await bob.transfer.load(document)
    assert imported.created
    assert imported.session.id != rich
    assert imported.session.user == bob.user.id
    assert await bob.texts(imported.session.id) == await ada.texts(rich)
    assert imported.session.counters == before[0].counters
    again = await bob.transfer.load(document)
    assert (again.created, again.session.id) == (False, imported.session.id)
    assert len(await bob.sessions.page()) == 1
    assert await ada.everything(rich) == before
    await bob.talk(imported.session.id)
    blob = (await bob.blobs.of_session(imported.session.id))[0].id
    assert await bob.blobs.read_bytes(blob) == b"\x00\xffowl"


async def test_what_another_used_in_a_session_that_is_gone_is_not_counted_for_who_imports_it(
    ada: Driver, bob: Driver, session: SessionId, clock: FakeClock
) -> None:
    await ada.talk(session)
    document = await ada.transfer.export(session)
    await ada.sessions.suggest_title(session, "Owls", (Usage("p", "hers", input_tokens=7),))
    await ada.sessions.delete(session)
    await purged(ada, session, clock)
    imported = (await bob.transfer.load(document)).session
    assert imported.id != session
    assert imported.counters.input_tokens == 0
    used = (Usage("p", "hers", input_tokens=1000),)
    await bob.sessions.suggest_title(imported.id, "Rooks", used)
    exported = json.loads(await bob.transfer.export(imported.id))
    assert [each["input_tokens"] for each in exported["usage"]] == [1000]
    assert ((await ada.usage.today()).tokens, (await bob.usage.today()).tokens) == (7, 1000)
    again = await bob.transfer.load(document)
    assert (again.created, again.session.id) == (False, imported.id)


async def test_copy_of_anothers_session_is_found_again_when_the_other_is_gone(
    ada: Driver, bob: Driver, session: SessionId, clock: FakeClock
) -> None:
    await ada.talk(session)
    document = await ada.transfer.export(session)
    imported = await bob.transfer.load(document)
    await ada.sessions.delete(session)
    await purged(ada, session, clock)
    again = await bob.transfer.load(document)
    assert (again.created, again.session.id) == (False, imported.session.id)


async def test_import_that_differs_from_what_is_here_is_refused(
    ada: Driver, session: SessionId
) -> None:
    await ada.talk(session)
    document = await ada.transfer.export(session)
    altered = json.loads(document)
    altered["messages"][0]["id"] = new_message_id()
    before = await ada.everything(session)
    with pytest.raises(Conflict, match="differs"):
        await ada.transfer.load(json.dumps(altered).encode())
    assert await ada.everything(session) == before


async def test_what_was_under_way_has_stopped_after_an_import(ada: Driver, bob: Driver) -> None:
    run = await ada.run()
    call = await ada.call_tool(run)
    await ada.turns.set_tool_call(run.session, run.token, run.turn, call.call, "running")
    await ada.submit(run.session, "Queued")
    imported = await bob.transfer.load(await ada.transfer.export(run.session))
    states = [turn.state for turn in await bob.turns.of(imported.session.id)]
    assert states == ["interrupted", "removed"]
    first = (await bob.turns.of(imported.session.id))[0]
    (found,) = await bob.turns.tool_calls(first.id)
    assert found.state == "unknown"
    assert imported.session.state == "idle"


async def test_large_attachment_comes_along(ada: Driver, bob: Driver) -> None:
    session = await ada.session()
    data = bytes(range(251)) * 10_000  # of no round length
    blob = await ada.blobs.put_bytes(data, "text/plain")
    attached = FilePart(blob.id, blob.media_type, "x.txt", blob.size)
    await ada.queue.submit(session, replace(new_turn(), parts=(attached,)))
    await bob.transfer.load(await ada.transfer.export(session))
    assert await bob.blobs.read_bytes(blob.id) == data


async def test_attachment_of_a_queued_message_comes_along(ada: Driver, bob: Driver) -> None:
    session = await ada.session()
    blob = await ada.blobs.put_bytes(b"x", "text/plain")
    attached = FilePart(blob.id, blob.media_type, "x.txt", 1)
    await ada.queue.submit(session, replace(new_turn(), parts=(attached,)))
    imported = await bob.transfer.load(await ada.transfer.export(session))
    assert [each.id for each in await bob.blobs.of_session(imported.session.id)] == [blob.id]


@pytest.mark.parametrize("lose", [lose_bytes, lose_row])
async def test_session_with_a_lost_attachment_is_exported_and_imported_without_it(
    ada: Driver,
    bob: Driver,
    folder: Path,
    lose: Callable[[Path, BlobId], Awaitable[None]],
) -> None:
    session = await ada.session()
    kept, lost = [await ada.blobs.put_bytes(data, "text/plain") for data in (b"kept", b"lost")]
    parts = tuple([FilePart(each.id, each.media_type, "x.txt", each.size) for each in (kept, lost)])
    await ada.queue.submit(session, replace(new_turn(), parts=parts))
    await lose(folder, lost.id)
    document = await ada.transfer.export(session)
    assert json.loads(document)["missing"] == [lost.id]
    imported = await bob.transfer.load(document)
    assert [each.id for each in await bob.blobs.of_session(imported.session.id)] == [kept.id]
    assert (await bob.turns.of(imported.session.id))[0].parts == parts


@pytest.mark.sqlite("there the bytes are in a file that anyone may cut off")
async def test_attachment_whose_bytes_are_others_is_as_good_as_lost(
    ada: Driver, bob: Driver, folder: Path
) -> None:
    session = await ada.session()
    blob = await ada.blobs.put_bytes(b"whole", "text/plain")
    attached = FilePart(blob.id, blob.media_type, "x.txt", blob.size)
    await ada.queue.submit(session, replace(new_turn(), parts=(attached,)))
    (folder / BLOBS / blob.id[:2] / blob.id).write_bytes(b"who")
    document = await ada.transfer.export(session)
    assert json.loads(document)["missing"] == [blob.id]
    assert (await bob.transfer.load(document)).created


async def test_lost_attachment_is_named_by_an_import_where_it_is_stored(
    ada: Driver, bob: Driver, folder: Path
) -> None:
    session = await ada.session()
    blob = await ada.blobs.put_bytes(b"lost", "text/plain")
    attached = FilePart(blob.id, blob.media_type, "x.txt", blob.size)
    await ada.queue.submit(session, replace(new_turn(), parts=(attached,)))
    await lose_bytes(folder, blob.id)
    document = await ada.transfer.export(session)
    await bob.blobs.put_bytes(b"lost", "text/plain")
    imported = await bob.transfer.load(document)
    assert [each.id for each in await bob.blobs.of_session(imported.session.id)] == [blob.id]


async def test_import_does_not_choose_a_configuration(ada: Driver, bob: Driver) -> None:
    session = await ada.session()
    lease = await ada.claim(session)
    await ada.sessions.configure(session, lease.token, CONFIG, PROMPT)
    document = await ada.transfer.export(session)
    assert PROMPT.system.encode() not in document
    imported = await bob.transfer.load(document)
    assert (imported.session.config, imported.session.signature) == (None, None)
    assert await bob.sessions.prompt(imported.session.id) is None


async def test_branch_whose_source_is_not_here_has_no_parent(ada: Driver, bob: Driver) -> None:
    source = await ada.session()
    await ada.talk(source)
    branch = await ada.branches.branch(source, new_session())
    imported = await bob.transfer.load(await ada.transfer.export(branch.id))
    assert imported.session.parent is None


def damage(document: Any, path: str, value: object) -> bytes:  # noqa: ANN401 (JSON)
    *steps, last = path.split(".")
    place = document
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    place[int(last) if last.isdigit() else last] = value
    return json.dumps(document).encode()


DAMAGE: list[tuple[str, object]] = [
    ("format", "other"),
    ("session", None),
    ("session.id", 7),
    ("session.head", 1),
    ("session.head", "x"),
    ("session.epoch", 2**70),
    ("messages.0.role", "god"),
    ("messages.0.parts", "words"),
    ("messages.0.parts", {}),
    ("messages.0.position", None),
    ("messages.0.position", 2**70),
    ("messages.0.gone", None),
    ("turns.0.state", "dreaming"),
    ("turns.0.parts", 7),
    ("turns.0.options", []),
    ("turns.0.options", 7),
    ("tool_calls.0.state", "dreaming"),
    ("epochs.0.kind", "magic"),
    ("epochs.0.epoch", 2),
    ("session.epoch", 0),
    ("messages.0.born", 3),
    ("messages.0.gone", 3),
    ("turns.0.undone", 3),
    ("epochs.0.epoch", 3),
    ("session.revision", 1),
    ("messages.0.revision", 1000),
    ("epochs.0.revision", 1000),
    ("usage.0.calls", "many"),
    ("blobs.0.data", "!!"),
    ("blobs.0.data", base64.b64encode(b"other").decode()),
    ("blobs.0.id", "../../etc/passwd"),
]


@pytest.mark.parametrize(("path", "value"), DAMAGE)
async def test_damaged_document_is_refused_and_nothing_changed(
    ada: Driver, bob: Driver, rich: SessionId, path: str, value: object
) -> None:
    document = json.loads(await ada.transfer.export(rich))
    with pytest.raises(RoostError):
        await bob.transfer.load(damage(document, path, value))
    assert await bob.sessions.page() == []


@pytest.mark.parametrize("what", ["epoch", "revision"])
async def test_history_past_the_counters_of_its_session_is_refused_in_words(
    ada: Driver, bob: Driver, rich: SessionId, what: str
) -> None:
    """It could never be rewritten: its next epoch is here already."""
    document = json.loads(await ada.transfer.export(rich))
    with pytest.raises(InvalidInput, match=f"This export has {what}s past its own end"):
        await bob.transfer.load(damage(document, f"session.{what}", 1))


@pytest.mark.parametrize(
    "detail",
    [5, None, [], "x", {"restores": "x"}, {"restores": 2**70}, {"tokens_before": -1}, {"model": 1}],
)
async def test_detail_of_a_rewrite_that_could_not_be_shown_is_refused(
    ada: Driver, bob: Driver, rich: SessionId, detail: object
) -> None:
    document = json.loads(await ada.transfer.export(rich))
    with pytest.raises(InvalidInput, match="not an export"):
        await bob.transfer.load(damage(document, "epochs.0.detail", detail))
    newer = damage(document, "epochs.0.detail", {"trigger": "moon", "phase": [3]})
    assert (await bob.transfer.load(newer)).created


ID_PATHS = [
    "session.id",
    "session.parent",
    "messages.0.id",
    "messages.0.turn",
    "messages.2.parts.2.call",
    "messages.3.parts.0.call",
    "messages.3.parts.0.content.0.blob",
    "turns.0.id",
    "turns.0.message",
    "tool_calls.0.id",
    "tool_calls.0.turn",
    "usage.0.source",
    "blobs.0.id",
]


def at(document: Any, path: str) -> Any:  # noqa: ANN401 (JSON)
    for step in path.split("."):
        document = document[int(step)] if step.isdigit() else document[step]
    return document


@pytest.mark.parametrize("path", ID_PATHS)
async def test_id_that_is_not_like_ours_is_refused(
    ada: Driver, bob: Driver, rich: SessionId, path: str
) -> None:
    exported = await ada.transfer.export(rich)
    good = at(json.loads(exported), path) or rich
    for wrong in ("../../../etc/x", "", f"{good}\n", f"{good}/../x", f"{good} ", good.upper()):
        value = {"session": wrong, "kind": "branch"} if path == "session.parent" else wrong
        with pytest.raises(InvalidInput, match=r"not an export .* - at|for an id"):
            await bob.transfer.load(damage(json.loads(exported), path, value))
    assert await bob.sessions.page() == []


async def test_forged_number_is_refused_wherever_it_stands(
    ada: Driver, bob: Driver, rich: SessionId
) -> None:
    exported = json.loads(await ada.transfer.export(rich))
    tried = 0
    for name in ("session", "messages", "turns", "tool_calls", "epochs", "usage"):
        prefix, first = (
            (name, exported[name]) if name == "session" else (f"{name}.0", exported[name][0])
        )
        for field, value in first.items():
            if type(value) is not int or field == "place":
                continue
            late = 4_102_444_800_001 if field == "at" or field.endswith("_at") else 10**15
            for wrong in (-1, late):
                text = damage(json.loads(json.dumps(exported)), f"{prefix}.{field}", wrong)
                with pytest.raises(InvalidInput, match=f"{field}`"):
                    await bob.transfer.load(text)
                tried += 1
    assert tried > 60
    assert await bob.sessions.page() == []


async def test_usage_that_adds_up_to_too_much_is_refused(
    ada: Driver, bob: Driver, rich: SessionId
) -> None:
    exported = await ada.transfer.export(rich)
    counters = set(json.loads(exported)["usage"][0]) - {"source", "provider", "model", "at"}
    assert len(counters) == 8
    for counter in counters:
        document = json.loads(exported)
        for used in document["usage"]:
            used[counter] = 10**15 - 1
        with pytest.raises(InvalidInput, match="more than can be counted"):
            await bob.transfer.load(json.dumps(document).encode())
    assert await bob.sessions.page() == []


async def test_turn_that_went_on_another_day_has_usage_on_both(
    ada: Driver, bob: Driver, rich: SessionId
) -> None:
    document = json.loads(await ada.transfer.export(rich))
    first = document["usage"][0]
    document["usage"].append({**first, "at": first["at"] + 86_400_000})
    assert (await bob.transfer.load(json.dumps(document).encode())).created


async def test_turn_put_first_in_the_queue_comes_along(ada: Driver, bob: Driver) -> None:
    session = await ada.session()
    await ada.talk(session)
    document = damage(json.loads(await ada.transfer.export(session)), "turns.0.place", -3)
    assert (await bob.transfer.load(document)).created


async def test_export_does_not_tell_the_address_of_the_model(ada: Driver, bob: Driver) -> None:
    session = await ada.session()
    lease = await ada.claim(session)
    config = replace(CONFIG, base_url="https://me:secret@host", instructions="Be brief.")
    await ada.sessions.configure(session, lease.token, config, PROMPT)
    document = await ada.transfer.export(session)
    assert b"secret" not in document
    shown = {"provider": "p", "model": "m", "toolset": "chat", "instructions": "Be brief."}
    assert json.loads(document)["session"]["config"] == shown
    older = {**shown, "protocol": "chat", "base_url": "https://me:secret@host"}
    text = damage(json.loads(document), "session.config", older)
    assert (await bob.transfer.load(text)).session.config is None


DEEP = b"[" * 100_000 + b"]" * 100_000


async def test_deep_document_is_refused(ada: Driver, bob: Driver, rich: SessionId) -> None:
    exported = await ada.transfer.export(rich)
    for depth in (101, 900, 100_000):
        deep = b"[" * depth + b"]" * depth
        part = b'{"kind":"hologram","z":' + deep + b"}"
        texts = [
            exported.replace(b'"detail":{}', b'"detail":{"z":' + deep + b"}", 1),
            exported.replace(b'"options":{}', b'"options":{"z":' + deep + b"}", 1),
            exported.replace(b'"parts":[', b'"parts":[' + part + b",", 1),
        ]
        assert exported not in texts
        for text in texts:
            with pytest.raises(InvalidInput, match="deep"):
                await bob.transfer.load(text)
    assert await bob.sessions.page() == []


@pytest.mark.parametrize("text", [b'{"x":' + DEEP + b"}", DEEP, DEEP[:100_000]])
async def test_deep_text_that_is_no_export_is_refused(ada: Driver, text: bytes) -> None:
    with pytest.raises(InvalidInput, match="not an export"):
        await ada.transfer.load(text)


async def test_brackets_in_words_are_not_depth(ada: Driver, bob: Driver) -> None:
    session = await ada.session()
    words = '\\"[{' * 1000
    await ada.talk(session, words)
    imported = await bob.transfer.load(await ada.transfer.export(session))
    assert (await bob.texts(imported.session.id))[0] == words


@pytest.mark.parametrize("name", ["messages", "turns", "tool_calls", "epochs", "usage"])
async def test_document_that_names_a_thing_twice_is_refused(
    ada: Driver, bob: Driver, rich: SessionId, name: str
) -> None:
    document = json.loads(await ada.transfer.export(rich))
    document[name].append(document[name][0])
    with pytest.raises(InvalidInput, match="damaged"):
        await bob.transfer.load(json.dumps(document).encode())
    assert await bob.sessions.page() == []


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"\xff\xfe", b"null", b'{"format":"x"}'])
async def test_what_is_no_export_is_refused(ada: Driver, text: bytes) -> None:
    with pytest.raises(InvalidInput, match="not an export"):
        await ada.transfer.load(text)


async def test_cut_off_document_is_refused(ada: Driver, bob: Driver, rich: SessionId) -> None:
    document = await ada.transfer.export(rich)
    for end in range(0, len(document) - 1, len(document) // 50):
        with pytest.raises(InvalidInput):
            await bob.transfer.load(document[:end])
    assert await bob.sessions.page() == []


async def test_bytes_that_are_no_text_are_refused(
    ada: Driver, bob: Driver, rich: SessionId
) -> None:
    document = await ada.transfer.export(rich)
    with pytest.raises(InvalidInput, match="not an export"):
        await bob.transfer.load(document.replace(b"hologram", b"holo\xffgram"))
    assert await bob.sessions.page() == []


async def test_document_of_a_newer_roost_is_refused_as_that(
    ada: Driver, bob: Driver, rich: SessionId
) -> None:
    document = json.loads(await ada.transfer.export(rich))
    newer = damage(document, "version", 2)
    changed = damage(document, "messages.0.role", "a role of the future")
    for text in (newer, changed, b'{"format":"roost-session","version":9,"conversation":{}}'):
        with pytest.raises(InvalidInput, match="newer Roost"):
            await bob.transfer.load(text)
    assert await bob.sessions.page() == []


async def test_forged_document_can_not_take_over_anothers_rows(
    ada: Driver, bob: Driver, rich: SessionId
) -> None:
    before = await ada.everything(rich)
    forged = json.loads(await ada.transfer.export(rich))
    with pytest.raises(RoostError):
        await bob.transfer.load(damage(forged, "session.id", new_session().id))
    assert await ada.everything(rich) == before
    assert await bob.sessions.page() == []


@pytest.mark.parametrize("name", ["messages", "turns"])
async def test_id_of_another_session_is_refused_in_words(
    ada: Driver, session: SessionId, name: str
) -> None:
    await ada.talk(session)
    document = json.loads(await ada.transfer.export(session))
    document["session"]["id"] = new_session().id
    for other in {"messages", "turns"} - {name}:
        document[other] = []
    taken = "|".join([each["id"] for each in document[name]])
    before = await ada.everything(session)
    with pytest.raises(InvalidInput, match=f"({taken}) in this export is taken by another"):
        await ada.transfer.load(json.dumps(document).encode())
    assert await ada.everything(session) == before
    assert len(await ada.sessions.page()) == 1


@pytest.mark.parametrize("source", ["{turn}", "title:{session}", "{session}/1"])
async def test_what_another_session_uses_can_not_be_counted_for_who_imports(
    ada: Driver, bob: Driver, source: str
) -> None:
    run = await ada.run()
    document = json.loads(await bob.transfer.export(await bob.session()))
    document["session"]["id"] = new_session().id
    used = asdict(Usage("p", "m")) | {"unpriced": 0, "cost": 0, "at": 0}
    used["source"] = source.format(turn=run.turn, session=run.session)
    before = await bob.sessions.page()
    document["usage"] = [used]
    with pytest.raises(InvalidInput, match=r"The id (trn|ses)_\w+ in this export is taken"):
        await bob.transfer.load(json.dumps(document).encode())
    assert await bob.sessions.page() == before


async def test_what_turns_used_that_an_older_export_does_not_have_comes_along(
    ada: Driver, bob: Driver, rich: SessionId, clock: FakeClock
) -> None:
    older = await ada.transfer.export(rich)
    run = await ada.run(rich)
    end = TurnEnd(state="completed", usage=(Usage("p", "m", input_tokens=7),))
    await ada.turns.end(rich, run.token, run.turn, end)
    await ada.sessions.delete(rich)
    await purged(ada, rich, clock)
    await ada.transfer.load(older)
    document = await ada.transfer.export(rich)
    sources = {used["source"] for used in json.loads(document)["usage"]}
    assert run.turn in sources - {turn["id"] for turn in json.loads(document)["turns"]}
    copy = (await bob.transfer.load(document)).session
    again = (await ada.transfer.load(await bob.transfer.export(copy.id))).session
    assert len({rich, copy.id, again.id}) == 3
    assert again.counters == copy.counters == (await ada.sessions.get(rich)).counters


class Threads(ThreadPoolExecutor):
    """The event loop's threads, and the names of what ran there."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: set[str] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        self._note(fn)
        return super().submit(fn, *args, **kwargs)

    def _note(self, call: object) -> None:
        if isinstance(call, partial):  # as asyncio.to_thread hands it over
            self.ran.add(call.args[0].__name__)


async def test_long_work_on_a_document_is_not_done_on_the_event_loop(
    ada: Driver, bob: Driver, rich: SessionId
) -> None:
    threads = Threads()
    asyncio.get_running_loop().set_default_executor(threads)
    await bob.transfer.load(await ada.transfer.export(rich))
    assert threads.ran >= {"_coded", "encode", "unpack"}


async def test_export_of_an_unknown_session_is_not_found(ada: Driver) -> None:
    with pytest.raises(NotFound):
        await ada.transfer.export(SessionId("ses_unknown"))


async def test_markdown_shows_the_live_history(ada: Driver, rich: SessionId) -> None:
    shown = await ada.transfer.markdown(rich)
    assert shown.startswith("# Owls \U0001f989\n")
    assert "In short: words." in shown
    assert "Gladly" in shown
    assert "To be undone" not in shown


async def test_writer_of_before_a_purge_is_fenced_after_a_new_import(
    ada: Driver, clock: FakeClock
) -> None:
    run = await ada.run()
    document = await ada.transfer.export(run.session)
    await ada.sessions.delete(run.session)
    await purged(ada, run.session, clock)
    await ada.transfer.load(document)
    await ada.claim(run.session)
    with pytest.raises(Fenced):
        await ada.resume(run)
