"""A write that succeeded and whose answer was lost: asking again is harmless."""

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from roost.core.approvals import Question
from roost.core.compaction import Compaction, Replacement
from roost.core.errors import Conflict, NotFound, StoreUnavailable
from roost.core.events import Deltas, TextDelta
from roost.core.facts import Learned, NewFact
from roost.core.ids import (
    ApiTokenId,
    ApprovalId,
    FactId,
    MessageId,
    SessionId,
    SignInId,
    ToolCallId,
    TurnId,
    UserId,
)
from roost.core.messages import Draft, TextPart, ToolCallPart
from roost.core.sessions import NewSession
from roost.core.turns import NewTurn, OutboxEntry, Step, TurnEnd
from roost.core.usage import Usage
from roost.core.users import Caps, User
from roost.store.leases import Lease, session_lease
from roost.store.sign_ins import NewSignIn
from roost.store.sqlite.store import SqliteStore
from roost.store.work import Checkpoint
from roost.testing import faults
from tests.faults.recount import recount
from tests.faults.scene import (
    ATTACHMENT,
    LIVE,
    SCOPE,
    TALK,
    USER,
    draft,
    lease_of,
    new_turn,
    opened,
    populate,
    rows_of,
)

Write = Callable[[SqliteStore, Lease], Awaitable[object]]

LIVE_TURN = TurnId("trn_live")
DONE_TURN = TurnId("trn_done")
CALL = ToolCallId("cal_2")
FOX = FactId("fct_fox")
STEP = Step(
    messages=(Draft(MessageId("msg_step"), "assistant", (ToolCallPart(CALL, "look", "{}"),)),),
    usage=(Usage("p", "m", output_tokens=3),),
)
END = TurnEnd(
    state="completed",
    messages=(draft("end"),),
    usage=(Usage("p", "m", output_tokens=3),),
    outbox=(OutboxEntry("out_2", "telegram:dm:1", "{}"),),
    memory_scope="builtin",
)
END_KEPT = TurnEnd(state="cancelled", release=False)
QUESTION = Question(
    id=ApprovalId("apr_2"), call=CALL, kind="approval", arguments=b"hash", body="{}"
)
COMPACTION = Compaction(
    epoch=2,
    replaced=(MessageId("msg_asked"),),
    replacements=(Replacement(MessageId("msg_asked"), draft("short", "note")),),
    trigger="test",
)


def checkpoint(lease: Lease) -> Checkpoint:
    return Checkpoint(LIVE_TURN, 1, lease.token, Deltas(3, 3, (TextDelta("!"),)))


REPEATABLE: dict[str, Write] = {
    "create a user": lambda s, _: s.users.create(User(id=UserId("u"), name="bo", role="member")),
    "make an owner": lambda s, _: s.users.owner(User(id=UserId("u"), name="o", role="admin")),
    "set a role": lambda s, _: s.users.change(USER, role="admin"),
    "set a password": lambda s, _: s.users.set_password(USER, "hash"),
    "replace a password": lambda s, _: s.users.replace_password(USER, None, "hash"),
    "cap a user": lambda s, _: s.users.set_caps(USER, Caps(day_tokens=1)),
    "make a link": lambda s, _: s.of(USER).sign_ins.add_link(SignInId("sgn_l"), b"l", 60),
    "make a first link": lambda s, _: s.sign_ins.first_link(USER, SignInId("sgn_l"), b"l", 60),
    "revoke sign-ins": lambda s, _: s.of(USER).sign_ins.revoke_all(keep=SignInId("sgn_2")),
    "make a token": lambda s, _: s.of(USER).tokens.add(
        ApiTokenId("tok_2"), b"t", name="x", scopes=["read"]
    ),
    "create a session": lambda s, _: s.of(USER).sessions.create(
        NewSession(id=SessionId("ses_new"), origin="cli")
    ),
    "submit a turn": lambda s, _: s.of(USER).queue.submit(TALK, new_turn("new")),
    "submit a turn with a key": lambda s, _: s.of(USER).queue.submit(
        TALK, new_turn("new", key="x")
    ),
    "claim a lease": lambda s, _: s.leases.claim("compaction", "host:1:task:other"),
    "claim work": lambda s, _: s.leases.claim(session_lease(TALK), "host:1:task:other"),
    "renew a lease": lambda s, lease: s.leases.renew(lease),
    "release a lease": lambda s, lease: s.leases.release(lease),
    "write deltas": lambda s, lease: s.work.tick([checkpoint(lease)], [lease]),
    "append a step": lambda s, lease: s.of(USER).turns.append(LIVE, lease.token, LIVE_TURN, STEP),
    "retry a step": lambda s, lease: s.of(USER).turns.retry_step(
        LIVE, lease.token, LIVE_TURN, after=1
    ),
    "end a turn": lambda s, lease: s.of(USER).turns.end(LIVE, lease.token, LIVE_TURN, END),
    "pin a message": lambda s, _: s.of(USER).history.pin(TALK, MessageId("msg_asked"), True),
    "cut memory's segments": lambda s, _: s.memory.cut(USER, TALK),
    "edit a fact": lambda s, _: s.of(USER).facts.edit(SCOPE, FOX, "Ann saw two foxes"),
    "forget a fact": lambda s, _: s.of(USER).facts.forget(SCOPE, FOX),
    "put a blob": lambda s, _: s.of(USER).blobs.put_bytes(ATTACHMENT * 2, "text/plain"),
    "put a setting": lambda s, _: s.settings.put("theme", '"light"'),
    "reset a route": lambda s, _: s.of(USER).sessions.reset(
        "cli", None, None, NewSession(id=SessionId("ses_new"), origin="cli")
    ),
    "point a route": lambda s, _: s.of(USER).sessions.point("cli", TALK),
}


async def scene(folder: Path, twin: Path | None = None) -> None:
    async with opened(folder) as store:
        await populate(store)
    if twin is not None:
        shutil.copytree(folder, twin)


async def once(folder: Path, write: Write, prepare: Write | None = None) -> object:
    async with opened(folder) as store:
        lease = await lease_of(store, LIVE)
        if prepare is not None:
            await prepare(store, lease)
        return await write(store, lease)


async def answer_lost(folder: Path, write: Write, prepare: Write | None = None) -> object:
    """The write succeeds, its answer is lost, and it is asked for again."""
    async with opened(folder) as store:
        lease = await lease_of(store, LIVE)
        if prepare is not None:
            await prepare(store, lease)
        with faults.failing("store.commit.after"), pytest.raises(StoreUnavailable) as lost:
            await write(store, lease)
        assert "safe to try again" in str(lost.value)
        return await write(store, lease)


async def assert_the_same(tmp_path: Path, write: Write, prepare: Write | None = None) -> None:
    await scene(tmp_path / "lost", twin=tmp_path / "plain")
    expected = await once(tmp_path / "plain", write, prepare)
    assert await answer_lost(tmp_path / "lost", write, prepare) == expected
    assert rows_of(tmp_path / "lost") == rows_of(tmp_path / "plain")
    assert recount(tmp_path / "lost") == []


@pytest.mark.parametrize("name", REPEATABLE)
async def test_repeat_gives_the_first_result_and_doubles_nothing(tmp_path: Path, name: str) -> None:
    await assert_the_same(tmp_path, REPEATABLE[name])


async def test_repeated_tool_call_states_are_one(tmp_path: Path) -> None:
    async def run(store: SqliteStore, lease: Lease) -> object:
        turns = store.of(USER).turns
        return await turns.set_tool_call(LIVE, lease.token, LIVE_TURN, CALL, "running")

    await assert_the_same(tmp_path, run, append)


async def test_browser_that_asks_again_uses_its_link_once(tmp_path: Path) -> None:
    async def link(store: SqliteStore, _: Lease) -> object:
        return await store.of(USER).sign_ins.add_link(SignInId("sgn_l"), b"l", 60)

    async def redeem(store: SqliteStore, _: Lease) -> object:
        new = NewSignIn(SignInId("sgn_b"), b"b", "Firefox", 60)
        return await store.sign_ins.redeem(b"l", new)

    await assert_the_same(tmp_path, redeem, link)


async def append(store: SqliteStore, lease: Lease) -> object:
    return await store.of(USER).turns.append(LIVE, lease.token, LIVE_TURN, STEP)


async def park(store: SqliteStore, lease: Lease) -> object:
    return await store.of(USER).turns.park(LIVE, lease.token, LIVE_TURN, (QUESTION,), ttl=60)


async def answer(store: SqliteStore, _: Lease) -> object:
    approvals = store.of(USER).approvals
    return await approvals.answer(QUESTION.id, "approved", answer="{}", by="ann", on="web")


async def test_repeated_park_is_one(tmp_path: Path) -> None:
    await assert_the_same(tmp_path, park, append)


async def test_repeated_answer_is_one(tmp_path: Path) -> None:
    async def parked(store: SqliteStore, lease: Lease) -> object:
        await append(store, lease)
        return await park(store, lease)

    await assert_the_same(tmp_path, answer, parked)


async def test_repeated_resume_is_one(tmp_path: Path) -> None:
    async def stopped(store: SqliteStore, lease: Lease) -> object:
        end = TurnEnd(state="interrupted", messages=(draft("half"),), release=False)
        return await store.of(USER).turns.end(LIVE, lease.token, LIVE_TURN, end)

    async def resume(store: SqliteStore, lease: Lease) -> object:
        return await store.of(USER).turns.resume(
            LIVE,
            lease.token,
            LIVE_TURN,
            after=1,
            messages=(draft("broke off", "note"),),
            automatic=True,
        )

    await assert_the_same(tmp_path, resume, stopped)


async def test_repeated_claim_of_work_strands_nobody(tmp_path: Path) -> None:
    """A message in one queue, an answered turn in the other: both are handed over again."""

    async def work(store: SqliteStore, lease: Lease) -> object:
        await store.of(USER).queue.submit(TALK, new_turn("new"))
        await append(store, lease)
        await park(store, lease)
        return await answer(store, lease)

    async def claim(store: SqliteStore, _: Lease) -> object:
        claimed = await store.work.claim_waiting("host:1:claim:nonce")
        assert [each.session.id for each in claimed] == [LIVE, TALK]
        return claimed

    await assert_the_same(tmp_path, claim, work)


async def cut(store: SqliteStore, _: Lease) -> object:
    return await store.memory.cut(USER, TALK)


async def begin(store: SqliteStore, lease: Lease) -> object:
    await cut(store, lease)
    return await begin_cut(store, lease)


async def begin_cut(store: SqliteStore, _: Lease) -> object:
    segment = (await store.memory.pending(USER, TALK))[0]
    return await store.memory.begin(segment.key, after=0)


async def test_repeated_begin_of_a_segment_is_one_try(tmp_path: Path) -> None:
    await assert_the_same(tmp_path, begin_cut, cut)


async def test_repeated_end_of_a_try_is_one(tmp_path: Path) -> None:
    async with opened(tmp_path / "key") as store:
        await populate(store)
        (segment,) = await store.memory.cut(USER, TALK)

    async def committed(store: SqliteStore, _: Lease) -> object:
        return await store.memory.committed(segment.key)

    async def failed(store: SqliteStore, _: Lease) -> object:
        return await store.memory.failed(segment.key, "down", delay=60)

    await assert_the_same(tmp_path / "committed", committed, begin)
    await assert_the_same(tmp_path / "failed", failed, begin)


async def test_repeated_lesson_is_learned_once(tmp_path: Path) -> None:
    owl = NewFact(id=FactId("fct_owl"), text="Ann saw an owl", entities=("Ann",), supersedes=(FOX,))

    async def learn(store: SqliteStore, _: Lease) -> object:
        await store.of(USER).facts.apply(SCOPE, "lesson", Learned(additions=(owl,)))
        return await store.of(USER).facts.page(SCOPE)

    await assert_the_same(tmp_path, learn)


async def test_repeated_withdrawal_of_facts_is_one(tmp_path: Path) -> None:
    async def withdraw(store: SqliteStore, _: Lease) -> object:
        await store.of(USER).facts.withdraw(SCOPE, TALK)
        return await store.of(USER).facts.page(SCOPE)

    await assert_the_same(tmp_path, withdraw)


async def test_repeated_title_is_one(tmp_path: Path) -> None:
    untitled = SessionId("ses_untitled")

    async def create(store: SqliteStore, _: Lease) -> object:
        return await store.of(USER).sessions.create(NewSession(id=untitled, origin="cli"))

    async def suggest(store: SqliteStore, _: Lease) -> object:
        usage = (Usage("p", "m", output_tokens=3),)
        return await store.of(USER).sessions.suggest_title(untitled, "Foxes", usage)

    await assert_the_same(tmp_path, suggest, create)


async def test_repeated_reset_is_one(tmp_path: Path) -> None:
    async def pointed(store: SqliteStore, lease: Lease) -> object:
        await store.of(USER).turns.end(LIVE, lease.token, LIVE_TURN, END_KEPT)
        return await store.of(USER).sessions.point("cli", LIVE)

    async def reset(store: SqliteStore, lease: Lease) -> object:
        new = NewSession(id=SessionId("ses_new"), origin="cli")
        return await store.of(USER).sessions.reset("cli", LIVE, lease.token, new)

    await assert_the_same(tmp_path, reset, pointed)


async def test_repeated_start_is_one(tmp_path: Path) -> None:
    async def end(store: SqliteStore, lease: Lease) -> object:
        kept = TurnEnd(state="failed", reason="test", release=False)
        return await store.of(USER).turns.end(LIVE, lease.token, LIVE_TURN, kept)

    async def start(store: SqliteStore, lease: Lease) -> object:
        turns = store.of(USER).turns
        return await turns.start(LIVE, lease.token, TurnId("trn_waits"), draft("waits", "user"))

    await assert_the_same(tmp_path, start, end)


async def test_repeated_edit_is_one(tmp_path: Path) -> None:
    async def edit(store: SqliteStore, _: Lease) -> object:
        lease = await store.leases.claim(session_lease(TALK), "host:1:task:edit")
        assert lease is not None
        new = NewTurn(id=TurnId("trn_edited"), parts=(TextPart("better"),))
        return await store.of(USER).history.edit(TALK, lease.token, DONE_TURN, new)

    await scene(tmp_path / "lost", twin=tmp_path / "plain")
    expected = await once(tmp_path / "plain", edit)
    async with opened(tmp_path / "lost") as store:
        lease = await lease_of(store, LIVE)
        # The first commit is the claim's.
        with faults.failing("store.commit.after", nth=2), pytest.raises(StoreUnavailable):
            await edit(store, lease)
        assert await edit(store, lease) == expected
        queue = await store.of(USER).queue.of(TALK)
    assert [turn.id for turn in queue] == ["trn_edited"]
    assert recount(tmp_path / "lost") == []


async def test_repeated_compaction_is_one(tmp_path: Path) -> None:
    await scene(tmp_path)
    async with opened(tmp_path) as store:
        history, lease = store.of(USER).history, await lease_of(store, TALK)
        with faults.failing("store.commit.after"), pytest.raises(StoreUnavailable):
            await history.compact(TALK, lease.token, COMPACTION)
        done = rows_of(tmp_path)
        written = await history.compact(TALK, lease.token, COMPACTION)
        assert written.epoch == COMPACTION.epoch + 1
        assert rows_of(tmp_path) == done
    assert recount(tmp_path) == []


async def test_repeated_branch_is_one(tmp_path: Path) -> None:
    await scene(tmp_path)

    async def branch(store: SqliteStore, _: Lease) -> object:
        new = NewSession(id=SessionId("ses_branch"), origin="web")
        return await store.of(USER).branches.branch(TALK, new)

    await answer_lost(tmp_path, branch)
    assert sum("ses_branch" in row for row in rows_of(tmp_path)["sessions"]) == 1
    async with opened(tmp_path) as store:
        assert len((await store.of(USER).history.load(SessionId("ses_branch"))).messages) == 4
    assert recount(tmp_path) == []


@pytest.mark.parametrize(("nth", "created"), [(2, True), (3, False)])
async def test_repeated_import_is_one(tmp_path: Path, nth: int, created: bool) -> None:
    await scene(tmp_path / "from")
    async with opened(tmp_path / "from") as store:
        document = await store.of(USER).transfer.export(TALK)
    async with opened(tmp_path / "to") as store:
        await store.users.create(User(id=USER, name="ann", role="admin"))
        transfer = store.of(USER).transfer
        # The first commit is the attachment's, and with the last the session is there.
        with faults.failing("store.commit.after", nth=nth), pytest.raises(StoreUnavailable):
            await transfer.load(document)
        imported = await transfer.load(document)
        assert imported.created == created
        assert imported.session.counters.messages == 4
    assert recount(tmp_path / "to", logs=False) == []


REFUSED: dict[str, tuple[Write, type[Exception]]] = {
    "undo": (lambda s, lease: s.of(USER).history.undo(TALK, lease.token, DONE_TURN), Conflict),
    "delete": (lambda s, _: s.of(USER).sessions.delete(TALK), NotFound),
    "remove from the queue": (lambda s, _: s.of(USER).queue.remove(TurnId("trn_waits")), Conflict),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_repeat_of_what_can_be_done_only_once_is_refused_and_changes_nothing(
    tmp_path: Path, name: str
) -> None:
    write, refusal = REFUSED[name]
    await scene(tmp_path)
    async with opened(tmp_path) as store:
        lease = await lease_of(store, TALK)
        with faults.failing("store.commit.after"), pytest.raises(StoreUnavailable):
            await write(store, lease)
        done = rows_of(tmp_path)
        with pytest.raises(refusal):
            await write(store, lease)
        assert rows_of(tmp_path) == done
    assert recount(tmp_path) == []


@pytest.mark.parametrize("name", REPEATABLE)
async def test_failed_before_the_commit_nothing_is_written(tmp_path: Path, name: str) -> None:
    write = REPEATABLE[name]
    await scene(tmp_path / "failed", twin=tmp_path / "plain")
    async with opened(tmp_path / "failed") as store:
        lease = await lease_of(store, LIVE)
        before = rows_of(tmp_path / "failed")
        with faults.failing("store.commit.before"), pytest.raises(StoreUnavailable):
            await write(store, lease)
        assert rows_of(tmp_path / "failed") == before
        result = await write(store, lease)
    assert result == await once(tmp_path / "plain", write)
    assert rows_of(tmp_path / "failed") == rows_of(tmp_path / "plain")
