"""Facts in a plain dictionary: what the store's own must do, said in few lines."""

from collections.abc import Iterator, Sequence

import msgspec

from roost.core.clock import Clock
from roost.core.errors import NotFound
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
from roost.core.ids import FactId, SessionId


class FakeFacts:
    """One user's."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._facts: dict[str, dict[FactId, Fact]] = {}
        self._names: dict[str, list[list[str]]] = {}
        self._applied: set[tuple[str, str]] = set()

    async def applied(self, scope: str, key: str) -> bool:
        return (scope, key) in self._applied

    async def apply(self, scope: str, key: str, learned: Learned) -> bool:
        if (scope, key) in self._applied:
            return False
        self._applied.add((scope, key))
        for entity in learned.entities:
            self._meet(scope, entity)
        for id in learned.confirmed:
            if id in self._of(scope):
                await self.feedback(scope, id, CONFIRMATION)
                self._change(scope, id, updated_at=self._clock.now())
        for new in learned.additions:
            self._add(scope, new)
        return True

    async def search(self, scope: str, words: str, *, limit: int) -> Sequence[Found]:
        asked = set(words.casefold().split())
        found: list[Found] = []
        for fact in self._live(scope):
            text = f"{fact.text} {' '.join(fact.entities)}".casefold()
            if score := len(asked & set(text.replace(".", "").split())):
                found.append(Found(fact, float(score)))
        return sorted(found, key=lambda each: -each.score)[:limit]

    async def page(
        self,
        scope: str,
        *,
        kind: FactKind | None = None,
        before: FactId | None = None,
        limit: int = 50,
    ) -> Sequence[Fact]:
        facts = [fact for fact in self._live(scope) if kind in (None, fact.kind)]
        return _after(facts, before)[:limit]

    async def page_from(
        self, scope: str, session: SessionId, *, before: FactId | None = None, limit: int = 50
    ) -> Sequence[Fact]:
        facts = [fact for fact in self._live(scope) if fact.session == session]
        return _after(facts, before)[:limit]

    async def get(self, scope: str, id: FactId) -> Fact:
        try:
            return self._of(scope)[id]
        except KeyError:
            raise NotFound("fact", id) from None

    async def edit(self, scope: str, id: FactId, text: str) -> Fact:
        await self.get(scope, id)
        return self._change(scope, id, text=text, trust=1.0, updated_at=self._clock.now())

    async def forget(self, scope: str, id: FactId) -> None:
        if (await self.get(scope, id)).forgotten_at is None:
            self._change(scope, id, forgotten_at=self._clock.now())

    async def feedback(self, scope: str, id: FactId, change: float) -> Fact:
        trust = (await self.get(scope, id)).trust + change
        return self._change(scope, id, trust=min(1.0, max(0.0, trust)))

    async def entities(self, scope: str, names: Sequence[str]) -> Sequence[Entity]:
        found = [known for known in self._known(scope) if _shared(known, names)]
        return [Entity(known[0], tuple(known[1:])) for known in found]

    async def about(self, scope: str, entity: str, *, limit: int) -> Sequence[Fact]:
        return await self.connecting(scope, [entity], limit=limit)

    async def connecting(
        self, scope: str, entities: Sequence[str], *, limit: int
    ) -> Sequence[Fact]:
        names = {self._canonical(scope, name) for name in entities}
        return [fact for fact in self._live(scope) if names <= set(fact.entities)][:limit]

    async def contradictions(self, scope: str, *, limit: int) -> Sequence[Contradiction]:
        live = [fact for fact in reversed(list(self._live(scope))) if fact.attribute]
        return [
            Contradiction(older.entities[0], older.attribute or "", older, newer)
            for number, older in enumerate(live)
            for newer in live[number + 1 :]
            if older.entities[0] == newer.entities[0] and older.attribute == newer.attribute
        ][:limit]

    async def withdraw(self, scope: str, session: SessionId) -> int:
        gone = [fact.id for fact in self._live(scope) if fact.session == session]
        for id in gone:
            await self.forget(scope, id)
        return len(gone)

    def _of(self, scope: str) -> dict[FactId, Fact]:
        return self._facts.setdefault(scope, {})

    def _known(self, scope: str) -> list[list[str]]:
        return self._names.setdefault(scope, [])

    def _live(self, scope: str) -> Iterator[Fact]:
        """Newest first."""
        facts = reversed(list(self._of(scope).values()))
        return (fact for fact in facts if fact.state == "live")

    def _change(self, scope: str, id: FactId, **values: object) -> Fact:
        changed = msgspec.structs.replace(self._of(scope)[id], **values)
        self._of(scope)[id] = changed
        return changed

    def _add(self, scope: str, new: NewFact) -> None:
        for name in new.entities:
            self._meet(scope, Entity(name))
        names = dict.fromkeys([self._canonical(scope, name) for name in new.entities])
        now = self._clock.now()
        self._of(scope)[new.id] = Fact(
            id=new.id,
            text=new.text,
            kind=new.kind,
            entities=tuple(names),
            attribute=new.attribute,
            trust=new.trust,
            session=new.session,
            turn=new.turn,
            created_at=now,
            updated_at=now,
        )
        for old in new.supersedes:
            if old in self._of(scope):
                self._change(scope, old, superseded_by=new.id)

    def _meet(self, scope: str, entity: Entity) -> None:
        names = (entity.name, *entity.aliases)
        known = next((each for each in self._known(scope) if _shared(each, names)), None)
        if known is None:
            self._known(scope).append(known := [])
        held = {name.casefold() for name in known}
        known += [name for name in names if name.casefold() not in held]

    def _canonical(self, scope: str, name: str) -> str:
        found = [known[0] for known in self._known(scope) if _shared(known, [name])]
        return found[0] if found else name


def _shared(known: Sequence[str], names: Sequence[str]) -> bool:
    return bool({name.casefold() for name in known} & {name.casefold() for name in names})


def _after(facts: list[Fact], before: FactId | None) -> list[Fact]:
    start = 0 if before is None else [fact.id for fact in facts].index(before) + 1
    return facts[start:]
