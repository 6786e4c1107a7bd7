"""A user's facts: what the built-in memory keeps, found by words and by what they are about."""

from collections.abc import Iterable, Sequence
from itertools import combinations, islice

import msgspec

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.facts import (
    CONFIRMATION,
    Contradiction,
    Entity,
    Fact,
    FactKind,
    Found,
    Learned,
    NewFact,
)
from roost.core.ids import FactId, SessionId, UserId
from roost.store.entities import described, drop_bare, known_by, known_in, meet
from roost.store.fact_rows import FactRow, FoundRow, fact_of, facts_of, names_of
from roost.store.lexemes import any_term, words_of
from roost.store.operations import (
    Engine,
    Operation,
    Query,
    every,
    maybe,
    one,
    query,
    reading,
    writing,
)
from roost.store.words import any_of, as_terms, indexed, loose_words, scope_word

PAGE = 500
"""The most facts in one answer."""

LONGEST = 4_000
"""Characters of a fact."""

_MOST_ADDITIONS = 500
_MOST_ENTITIES = 50


class Facts:
    """`scope` is where they belong: provider, profile and user as one text."""

    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def applied(self, scope: str, key: str) -> Operation[bool]:
        """Whether `apply` was done for this key."""
        return (yield from self._applied(scope, key))

    def _applied(self, scope: str, key: str) -> Operation[bool]:
        rows = yield query("facts_are_applied", user=self._user, scope=scope, key=key)
        return bool(rows)

    @writing
    def apply(self, scope: str, key: str, learned: Learned) -> Operation[bool]:
        """Write what was learned, once for each key: False if it was written before. Ids that are
        gone are passed over, and so is what comes from a session that was deleted meanwhile."""
        _check(learned)
        if (yield from self._applied(scope, key)):
            return False
        yield query("apply_facts", user=self._user, scope=scope, key=key)
        met: set[int] = set()
        for entity in learned.entities:
            if known := (yield from meet(self._user, scope, entity)):
                met.add(known.id)
        for new in learned.additions:
            if (yield from self._is_wanted(new)):
                yield from self._add(scope, new)
        for id in learned.confirmed:
            yield from self._trust(scope, id, CONFIRMATION)
        yield from drop_bare(sorted(met))
        return True

    def _is_wanted(self, new: NewFact) -> Operation[bool]:
        if new.session is None:
            return True
        return bool((yield query("session_is_there", user=self._user, session=new.session)))

    def _add(self, scope: str, new: NewFact) -> Operation[None]:
        rows = yield query(
            "insert_fact",
            id=new.id,
            user=self._user,
            scope=scope,
            text=new.text,
            kind=new.kind,
            attribute=new.attribute,
            trust=new.trust,
            session=new.session,
            turn=new.turn,
        )
        if not rows:
            raise InvalidInput(f"The fact id {new.id} is taken. Make a new one.")
        names: dict[int, str] = {}
        for name in new.entities:
            if known := (yield from meet(self._user, scope, Entity(name))):
                names[known.id] = known.name
        for ordinal, entity in enumerate(names):
            yield query("name_entity", id=new.id, ordinal=ordinal, entity=entity)
        yield _to_index(scope, one(rows, int), new.text, names.values())
        for old in new.supersedes:
            yield query("supersede_fact", id=old, by=new.id, user=self._user, scope=scope)

    @reading
    def search(self, scope: str, words: str, *, limit: int) -> Operation[Sequence[Found]]:
        """Live facts with any of the words in their text or in a name of their entities, best
        first. Without words, none."""
        _check_limit(limit)
        asked = loose_words(words)
        if not asked:
            return []
        known = yield from known_in(self._user, scope, asked)
        mark = scope_word("p", scope)
        wanted = as_terms([*asked, *[each.name for each in known]])
        rows = yield query(
            "search_facts",
            match=f"scope : {mark} AND words : ({any_of(wanted)})",
            tsquery=any_term(wanted),
            terms=_json(words_of(wanted)),
            user=self._user,
            scope=scope,
            limit=limit,
        )
        return [Found(fact_of(row), row.score) for row in every(rows, FoundRow)]

    @reading
    def page(
        self,
        scope: str,
        *,
        kind: FactKind | None = None,
        before: FactId | None = None,
        limit: int = 50,
    ) -> Operation[Sequence[Fact]]:
        """Live facts, of one kind or of all, newest first, those that come after `before`."""
        _check_limit(limit)
        end = 1 << 62 if before is None else (yield from self._row(scope, before)).seq
        if kind is None:
            rows = yield query(
                "page_of_facts", user=self._user, scope=scope, before=end, limit=limit
            )
        else:
            rows = yield query(
                "page_of_kind", user=self._user, scope=scope, kind=kind, before=end, limit=limit
            )
        return facts_of(rows)

    @reading
    def page_from(
        self, scope: str, session: SessionId, *, before: FactId | None = None, limit: int = 50
    ) -> Operation[Sequence[Fact]]:
        """Live facts that a session taught, newest first, those that come after `before`."""
        _check_limit(limit)
        end = 1 << 62 if before is None else (yield from self._row(scope, before)).seq
        rows = yield query(
            "page_from_session",
            user=self._user,
            scope=scope,
            session=session,
            before=end,
            limit=limit,
        )
        return facts_of(rows)

    @reading
    def get(self, scope: str, id: FactId) -> Operation[Fact]:
        """Also one that was superseded, or forgotten: that has no text any more."""
        return fact_of((yield from self._row(scope, id)))

    def _row(self, scope: str, id: FactId) -> Operation[FactRow]:
        row = maybe((yield query("find_fact", id=id, user=self._user, scope=scope)), FactRow)
        if row is None:
            raise NotFound("memory", id)
        return row

    @writing
    def edit(self, scope: str, id: FactId, text: str) -> Operation[Fact]:
        """Another text, in a person's own words and hence of full trust."""
        _check_text(text)
        row = yield from self._row(scope, id)
        if (state := fact_of(row).state) != "live":
            raise Conflict(f"This memory is {state}. Nothing was changed.")
        if (row.text, row.trust) == (text, 1.0):
            return fact_of(row)
        yield query("edit_fact", id=id, text=text)
        yield query("unindex_facts", seqs=_json([row.seq]))
        yield _to_index(scope, row.seq, text, names_of(row))
        return fact_of((yield from self._row(scope, id)))

    @writing
    def forget(self, scope: str, id: FactId) -> Operation[None]:
        """Erase it, and what it had superseded. A second time changes nothing."""
        yield from self._row(scope, id)
        past = every((yield query("fact_and_its_past", id=id)), _Id)
        yield from _erase([row.id for row in past])

    @writing
    def feedback(self, scope: str, id: FactId, change: float) -> Operation[Fact]:
        """Add to its trust, within 0 and 1. Each call counts: a repeat is one more."""
        yield from self._row(scope, id)
        yield from self._trust(scope, id, change)
        return fact_of((yield from self._row(scope, id)))

    def _trust(self, scope: str, id: FactId, change: float) -> Operation[None]:
        yield query("trust_fact", id=id, change=change, user=self._user, scope=scope)

    @reading
    def entities(self, scope: str, names: Sequence[str]) -> Operation[Sequence[Entity]]:
        """Those that are known by one of these names."""
        return (yield from described((yield from known_by(self._user, scope, names))))

    @reading
    def about(self, scope: str, entity: str, *, limit: int) -> Operation[Sequence[Fact]]:
        """Live facts that name an entity, by any of its names, newest first."""
        return (yield from self._naming(scope, [entity], limit))

    @reading
    def connecting(
        self, scope: str, entities: Sequence[str], *, limit: int
    ) -> Operation[Sequence[Fact]]:
        """Live facts that name all of these entities, newest first."""
        return (yield from self._naming(scope, entities, limit))

    def _naming(self, scope: str, names: Sequence[str], limit: int) -> Operation[Sequence[Fact]]:
        _check_limit(limit)
        ids: dict[int, None] = {}
        for name in names:
            known = yield from known_by(self._user, scope, [name])
            if not known:
                return []
            ids[known[0].id] = None
        if not ids:
            return []
        return facts_of((yield query("facts_naming", entities=_json(list(ids)), limit=limit)))

    @reading
    def contradictions(self, scope: str, *, limit: int) -> Operation[Sequence[Contradiction]]:
        """Pairs of live facts that say something else of the same, where only one can be true; the
        latest first."""
        _check_limit(limit)
        rows = yield query("facts_at_odds", user=self._user, scope=scope, limit=limit)
        pairs = [
            (odds.entity, older, newer)
            for odds in every(rows, _Odds)
            for older, newer in islice(combinations(_ids(odds.facts), 2), limit)
        ][:limit]
        named = _json(sorted({id for _, *pair in pairs for id in pair}))
        facts = {fact.id: fact for fact in facts_of((yield query("facts_by_id", ids=named)))}
        return [
            Contradiction(entity, facts[newer].attribute or "", facts[older], facts[newer])
            for entity, older, newer in pairs
        ]

    @writing
    def withdraw(self, scope: str, session: SessionId) -> Operation[int]:
        """Erase what came from a session; what that had superseded holds again. How many went."""
        rows = yield query("facts_of_session", user=self._user, scope=scope, session=session)
        ids = [row.id for row in every(rows, _Id)]
        # One that is withdrawn may have been superseded by another that is.
        while (yield query("hand_on_superseded", ids=_json(ids))):
            pass
        yield from _erase(ids)
        return len(ids)


def index_facts() -> Operation[None]:
    """Index all facts, where there is no index: after a repair."""
    for row in every((yield query("facts_to_index")), FactRow):
        yield _to_index(row.scope, row.seq, row.text, names_of(row))


def _erase(ids: Sequence[FactId]) -> Operation[None]:
    """Rows stay, to say that they are forgotten; texts, and names that nothing else has, go."""
    named = _json(ids)
    seqs = every((yield query("erase_facts", ids=named)), _Seq)
    yield query("unindex_facts", seqs=_json([row.seq for row in seqs]))
    entities = every((yield query("entities_of_facts", ids=named)), _Seq)
    yield query("unname_entities", ids=named)
    yield from drop_bare([row.seq for row in entities])


class _Id(msgspec.Struct, frozen=True, array_like=True):
    id: FactId


class _Seq(msgspec.Struct, frozen=True, array_like=True):
    seq: int


class _Odds(msgspec.Struct, frozen=True, array_like=True):
    entity: str
    facts: str


def _ids(json: str) -> list[FactId]:
    return msgspec.json.decode(json, type=list[FactId])


def _to_index(scope: str, seq: int, text: str, names: Iterable[str]) -> Query:
    words = indexed("\n".join([text, *names]))
    return query("index_fact", seq=seq, mark=scope_word("p", scope), words=words)


def _json(values: Sequence[str | int]) -> str:
    return msgspec.json.encode(values).decode()


def _check(learned: Learned) -> None:
    if len(learned.additions) > _MOST_ADDITIONS:
        raise InvalidInput(f"At most {_MOST_ADDITIONS} memories are kept at once.")
    for new in learned.additions:
        _check_text(new.text)
        if len(new.entities) > _MOST_ENTITIES:
            raise InvalidInput(f"A memory names at most {_MOST_ENTITIES} entities.")


def _check_text(text: str) -> None:
    if not 1 <= len(text.strip()) <= LONGEST:
        raise InvalidInput(f"A memory is a text of 1 to {LONGEST} characters.")


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= PAGE:
        raise InvalidInput(f"Ask for 1 to {PAGE} memories, not {limit}.")
