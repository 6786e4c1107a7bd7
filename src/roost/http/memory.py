"""Long-term memory: what is on its way there, and what Roost remembers of whoever asks."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from roost.core.errors import InvalidInput
from roost.core.facts import Contradiction, Fact, FactKind
from roost.core.ids import FACT_ID, FactId, SessionId
from roost.http.calls import Call
from roost.http.endpoint import Header, endpoint
from roost.http.fields import GivenSession, Phrase
from roost.memory.builtin import LONGEST
from roost.runtime.segments import Committed, Failed, Report
from roost.store.memory import GivenUp

GivenFact = Annotated[FactId, msgspec.Meta(pattern=FACT_ID)]
_Memory = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]
_Limit = Annotated[int, msgspec.Meta(ge=1, le=100)]
_LONGEST_KEY = 200


class MemoryView(msgspec.Struct, frozen=True, kw_only=True):
    """Who remembers (`none` is nobody), and what is on its way there: `marked` turns that no commit
    has yet, `pending` commits, `failing` ones among them, `resting` ones that failed too often, and
    `unforgotten` deleted sessions that could not be forgotten yet. What is `open` can be looked at
    and changed here; otherwise it is with the provider."""

    provider: str
    profile: str
    open: bool
    marked: int
    pending: int
    failing: int
    error: str | None
    due_at: int | None
    resting: int
    unforgotten: int
    unforgotten_error: str | None


class Retried(msgspec.Struct, frozen=True):
    """How many commits are tried again soon."""

    retried: int


class DroppedTurns(msgspec.Struct, frozen=True):
    session: SessionId
    turns: int


class Dropped(msgspec.Struct, frozen=True):
    """What memory will not have."""

    dropped: Sequence[DroppedTurns]


class SessionMemory(msgspec.Struct, frozen=True):
    """Whether a session has turns that memory has not taken yet."""

    uncommitted: bool


class CommitView(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a commit, and how many turns are in memory by it. One that failed is tried
    again; `detail` says why it did."""

    outcome: Literal["committed", "nothing", "failed"]
    turns: int = 0
    detail: str | None = None


class FactQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By `words`, the best match first; `about` something, by its name; or all, newest first, of
    one `kind`, from one `session` or of any, from the one that comes after `before`."""

    words: Phrase | None = None
    about: Phrase | None = None
    kind: FactKind | None = None
    session: GivenSession | None = None
    before: GivenFact | None = None
    limit: _Limit = 50


class Few(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: _Limit = 50


class FactList(msgspec.Struct, frozen=True):
    facts: Sequence[Fact]


class ContradictionList(msgspec.Struct, frozen=True):
    """Pairs that can't both be true, the latest first."""

    contradictions: Sequence[Contradiction]


class NewMemory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sentence that can be understood by itself. `entities` are what it is about, the first
    above all; `user` is whoever asks. What it `replaces` no longer holds."""

    text: _Memory
    kind: FactKind = "fact"
    entities: Annotated[tuple[Phrase, ...], msgspec.Meta(max_length=10)] = ()
    replaces: Annotated[tuple[GivenFact, ...], msgspec.Meta(max_length=10)] = ()


class EditedMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: _Memory


class Rating(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    helpful: bool


async def status(call: Call) -> MemoryView:
    """Who remembers what you say, and what is on its way there."""
    memory = call.account.memory
    found = await memory.status()
    return MemoryView(
        provider=memory.provider,
        profile=memory.profile,
        open=memory.is_open,
        marked=found.marked,
        pending=found.pending,
        failing=found.failing,
        error=found.error,
        due_at=found.due_at,
        resting=found.resting,
        unforgotten=found.unforgotten,
        unforgotten_error=found.unforgotten_error,
    )


async def retried(call: Call) -> Retried:
    """Try again soon what memory could not take, also what failed too often."""
    return Retried(await call.account.memory.retry())


async def dropped(call: Call) -> Dropped:
    """Let go of what failed too often: memory will not have it. The sessions stay."""
    return Dropped([_dropped(each) for each in await call.account.memory.drop()])


def _dropped(given_up: GivenUp) -> DroppedTurns:
    return DroppedTurns(given_up.session, given_up.turns)


async def of_session(call: Call, session: SessionId) -> SessionMemory:
    """Whether a session has turns that memory has not taken yet."""
    await call.account.session(session)
    return SessionMemory(await call.account.memory.uncommitted(session))


async def committed(call: Call, session: SessionId) -> CommitView:
    """Send what was said in a session to memory now, rather than when it ends or rests."""
    await call.account.session(session)
    return _commit(await call.account.memory.commit(session))


def _commit(report: Report) -> CommitView:
    if isinstance(report, Committed):
        return CommitView(outcome="committed", turns=report.turns)
    if isinstance(report, Failed):
        return CommitView(outcome="failed", turns=report.turns, detail=report.reason)
    return CommitView(outcome="nothing")


async def listed(call: Call, query: FactQuery) -> FactList:
    """List or search what Roost remembers of you."""
    memory = call.account.memory
    if sum([query.words is not None, query.about is not None, query.before is not None]) > 1:
        raise InvalidInput("`words`, `about` and `before` exclude one another. Give one of them.")
    if query.kind is not None and (query.words is not None or query.about is not None):
        raise InvalidInput("`kind` goes with neither `words` nor `about`.")
    if query.session is not None and not (query.words is query.about is query.kind is None):
        raise InvalidInput("`session` goes with none of `words`, `about` and `kind`.")
    if query.words is not None:
        return FactList(await memory.search(query.words, limit=query.limit))
    if query.about is not None:
        return FactList(await memory.about(query.about, limit=query.limit))
    if (session := query.session) is not None:
        found = await memory.page_from(session, before=query.before, limit=query.limit)
        return FactList(found)
    return FactList(await memory.page(kind=query.kind, before=query.before, limit=query.limit))


async def remembered(
    call: Call, body: NewMemory, key: Annotated[str | None, Header("Idempotency-Key")]
) -> Fact:
    """Have something remembered, in your own words. What is known in the same words is confirmed
    instead; sent again with the same `Idempotency-Key`, it is kept once."""
    if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isprintable()):
        raise InvalidInput(f"An Idempotency-Key is a text of 1 to {_LONGEST_KEY} characters.")
    return await call.account.memory.remember(
        body.text, kind=body.kind, entities=body.entities, replaces=body.replaces, key=key
    )


async def found(call: Call, fact: FactId) -> Fact:
    """Read a memory, also one that no longer holds; one that was forgotten has no text."""
    return await call.account.memory.get(fact)


async def edited(call: Call, fact: FactId, body: EditedMemory) -> Fact:
    """Put a memory right. In your own words it has full trust."""
    return await call.account.memory.edit(fact, body.text)


async def rated(call: Call, fact: FactId, body: Rating) -> Fact:
    """Say whether a memory was of use: its trust grows or falls."""
    return await call.account.memory.rate(fact, helpful=body.helpful)


async def forgotten(call: Call, fact: FactId) -> None:
    """Forget something for good, with what it had superseded."""
    await call.account.memory.forget(fact)


async def contradictions(call: Call, query: Few) -> ContradictionList:
    """List memories that can't all be true."""
    return ContradictionList(await call.account.memory.contradictions(limit=query.limit))


_FACT = "/api/memory/facts/{fact}"
_SESSION = "/api/sessions/{session}/memory"

ENDPOINTS = (
    endpoint("GET", "/api/memory", status, scope="read"),
    endpoint("POST", "/api/memory/retry", retried, scope="chat"),
    endpoint("POST", "/api/memory/drop", dropped, scope="chat"),
    endpoint("GET", _SESSION, of_session, scope="read"),
    endpoint("POST", f"{_SESSION}/commit", committed, scope="chat"),
    endpoint("GET", "/api/memory/facts", listed, scope="read"),
    endpoint("POST", "/api/memory/facts", remembered, scope="chat", status=201),
    endpoint("GET", "/api/memory/contradictions", contradictions, scope="read"),
    endpoint("GET", _FACT, found, scope="read"),
    endpoint("PATCH", _FACT, edited, scope="chat"),
    endpoint("DELETE", _FACT, forgotten, scope="chat"),
    endpoint("POST", f"{_FACT}/rate", rated, scope="chat"),
)
