"""A store with something of everything in it, the same every time, and ways to look at its rows."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from roost.core.clock import Clock
from roost.core.compaction import Compaction, Replacement
from roost.core.events import Deltas, TextDelta
from roost.core.facts import Learned, NewFact
from roost.core.ids import BlobId, FactId, MessageId, SessionId, Token, ToolCallId, TurnId, UserId
from roost.core.messages import Draft, FilePart, TextPart, ToolCallPart, ToolResultPart
from roost.core.sessions import NewSession
from roost.core.turns import NewTurn, OutboxEntry, Step, TurnEnd
from roost.core.usage import Usage
from roost.core.users import User
from roost.store.folder import DATABASE
from roost.store.leases import Lease, session_lease
from roost.store.operations import Row
from roost.store.sqlite.connect import connect_reader
from roost.store.sqlite.store import SqliteStore, open_store
from roost.store.store import UserStore
from roost.store.work import Checkpoint
from roost.testing.clock import FakeClock

USER = UserId("usr_ann")
TALK = SessionId("ses_talk")
LIVE = SessionId("ses_live")
TEXT = "the quick brown fox"
ATTACHMENT = b"what is attached"
SCOPE = "builtin/default/usr_ann"
LEARNED = Learned(
    additions=(
        NewFact(
            id=FactId("fct_fox"),
            text="Ann saw a fox",
            entities=("Ann", "fox"),
            session=TALK,
            turn=TurnId("trn_done"),
        ),
    )
)


def draft(name: str, role: str = "assistant", text: str = TEXT) -> Draft:
    return Draft(MessageId(f"msg_{name}"), role, (TextPart(text),))  # pyright: ignore[reportArgumentType]


def new_turn(name: str, *, key: str | None = None) -> NewTurn:
    return NewTurn(id=TurnId(f"trn_{name}"), parts=(TextPart(TEXT),), key=key)


@asynccontextmanager
async def opened(folder: Path, clock: Clock | None = None) -> AsyncGenerator[SqliteStore]:
    store = open_store(folder, clock=clock or FakeClock(), version="0")
    try:
        yield store
    finally:
        await store.close()


async def lease_of(store: SqliteStore, session: SessionId) -> Lease:
    lease = await store.leases.claim(session_lease(session), "host:1:task:nonce")
    assert lease is not None
    return lease


async def populate(store: SqliteStore) -> None:
    """`TALK` has a finished turn with a tool call, a compaction and its undoing, and a fact that
    came of it; `LIVE` has a turn that streams under a lease, and another in its queue."""
    await store.users.create(User(id=USER, name="ann", role="admin"))
    await store.settings.put("theme", '"dark"')
    await store.secrets.put("provider", "sk-secret")
    me = store.of(USER)
    for session in (TALK, LIVE):
        await me.sessions.create(NewSession(id=session, origin="web", title=f"About {session}"))
    await me.sessions.point("web", TALK)
    lease = await lease_of(store, TALK)
    await finished_turn(me, lease.token)
    await compacted(me, (await lease_of(store, TALK)).token)
    await me.facts.apply(SCOPE, "key", LEARNED)
    await streaming_turn(store, me)


async def finished_turn(me: UserStore, token: Token) -> None:
    blob = await me.blobs.put_bytes(ATTACHMENT, "text/plain")
    turn = TurnId("trn_done")
    parts = (TextPart(TEXT), FilePart(BlobId(blob.id), "text/plain", "a.txt", blob.size))
    await me.queue.submit(TALK, NewTurn(id=turn, parts=parts, key="k"))
    await me.turns.start(TALK, token, turn, Draft(MessageId("msg_asked"), "user", parts))
    call = ToolCallId("cal_1")
    asks = Draft(MessageId("msg_calls"), "assistant", (ToolCallPart(call, "look", '{"at": 1}'),))
    used = Usage("p", "m", input_tokens=10, output_tokens=4, cost=7)
    await me.turns.append(TALK, token, turn, Step(messages=(asks,), usage=(used,)))
    await me.turns.set_tool_call(TALK, token, turn, call, "running")
    await me.turns.set_tool_call(TALK, token, turn, call, "done", (TextPart("found"),))
    told = Draft(MessageId("msg_result"), "tool", (ToolResultPart(call, (TextPart("found"),)),))
    await me.turns.append(TALK, token, turn, Step(messages=(told,)))
    end = TurnEnd(
        state="completed",
        messages=(draft("answer"),),
        usage=(Usage("p", "m", output_tokens=2),),
        outbox=(OutboxEntry("out_1", "telegram:dm:1", "{}"),),
        memory_scope="builtin",
    )
    await me.turns.end(TALK, token, turn, end)


async def compacted(me: UserStore, token: Token) -> None:
    compaction = Compaction(
        epoch=0,
        replaced=(MessageId("msg_calls"), MessageId("msg_result")),
        replacements=(Replacement(MessageId("msg_calls"), draft("summary", "note", "in short")),),
        trigger="test",
    )
    await me.history.compact(TALK, token, compaction)
    await me.history.restore(TALK, token)


async def streaming_turn(store: SqliteStore, me: UserStore) -> None:
    lease = await lease_of(store, LIVE)
    turn = new_turn("live")
    await me.queue.submit(LIVE, turn)
    await me.queue.submit(LIVE, new_turn("waits", key="later"))
    await me.turns.start(LIVE, lease.token, turn.id, draft("live", "user"))
    deltas = Deltas(1, 2, (TextDelta("so "), TextDelta("far")))
    await store.work.tick([Checkpoint(turn.id, 1, lease.token, deltas)], [lease])


_REACHABLE = (
    "WHERE id >= (SELECT min(r.first_delta) FROM streams r"
    " JOIN sessions s ON s.id = r.session_id AND s.attempt = r.attempt)"
)
_REACHABLE_BEFORE_9 = "WHERE id >= (SELECT min(first_delta) FROM streams)"


def rows_of(folder: Path) -> dict[str, list[Row]]:
    """Every row of a store, but for what follows in its own time: the search index, and the
    sweeping of deltas that nobody reaches any more."""
    connection = connect_reader(folder / DATABASE)
    try:
        tables = connection.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'search*'"
            " AND name NOT GLOB 'sqlite_*' ORDER BY name"
        )
        found: dict[str, list[Row]] = {}
        ((counts,),) = connection.rows(
            "SELECT count(*) FROM pragma_table_info('sessions') WHERE name = 'attempt'"
        )
        reachable = _REACHABLE if counts else _REACHABLE_BEFORE_9
        for (table,) in tables:
            which = reachable if table == "deltas" else ""
            rows = connection.rows(f"SELECT * FROM {table} {which}")
            found[str(table)] = sorted(rows, key=repr)
        return found
    finally:
        connection.close()
