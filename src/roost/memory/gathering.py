"""What a segment comes to: what is new, what was only said again, what no longer holds."""

from collections.abc import Iterable, Sequence

import msgspec

from roost.core.facts import Entity, Fact, Learned, NewFact
from roost.core.ids import FactId, TurnId, new_fact_id
from roost.core.messages import plain_text
from roost.memory.base import Segment
from roost.memory.extraction import Named, Stated
from roost.memory.ranking import said, same

TRUST = 0.5
"""What a model took down from a conversation begins with; a person's own word has 1."""


class Gathering:
    """Facts are kept once: what is known is confirmed rather than repeated, and what took the place
    of something else supersedes it. Only the user confirms: the agent says again what it recalled.
    """

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._additions: dict[FactId, NewFact] = {}
        self._confirmed: dict[FactId, None] = {}
        self._gone: set[FactId] = set()
        self._entities: list[Entity] = []
        self._words: dict[TurnId | None, str] = {}
        """What the user said in each turn."""
        for message in segment.messages:
            if message.role == "user":
                before = self._words.get(message.turn, "")
                self._words[message.turn] = f"{before} {plain_text(message.parts)}"

    @property
    def additions(self) -> tuple[NewFact, ...]:
        return tuple(self._additions.values())

    def meet(self, entity: Named) -> None:
        self._entities.append(Entity(entity.name, entity.aliases))

    def take(self, stated: Stated, known: Sequence[Fact | NewFact]) -> None:
        """Take in what the model states; its numbers count from 1 through `known`."""
        turn = self._segment.turns[stated.turn - 1]
        if stated.repeats:
            self._confirm(known[stated.repeats - 1], turn)
            return
        fact = NewFact(
            id=new_fact_id(),
            text=stated.text.strip(),
            kind=stated.kind,
            entities=tuple(dict.fromkeys(stated.about)),
            attribute=stated.attribute if stated.about else None,
            trust=TRUST,
            session=self._segment.session,
            turn=turn,
        )
        self._additions[fact.id] = fact
        replaced = [known[number - 1] for number in stated.replaces]
        self._supersede(fact, [each.id for each in replaced if each.trust <= fact.trust])
        others = [each for each in (*self.additions, *known) if each.id != fact.id]
        self.compare(fact, others, fact.entities[:1])

    def compare(
        self, fact: NewFact, related: Sequence[Fact | NewFact], names: Iterable[str]
    ) -> None:
        """With what is related to it, of which the model was not shown all. `names` are those of
        what it is about. Of two that can't both be true the newer holds, unless the older is
        trusted more: then both stay, and can be found as a contradiction."""
        current = self._additions.get(fact.id)
        if current is None:
            return
        related = [each for each in related if each.id not in self._gone]
        twins = [each for each in related if same(each.text, fact.text)]
        if twins and not current.supersedes:
            self._drop(fact.id)
            self._confirm(twins[0], fact.turn)
            return
        folded = {name.casefold() for name in names}
        rivals = [each for each in related if _rivals(fact, each, folded)]
        weaker = [each for each in rivals if each.trust <= fact.trust]
        self._supersede(fact, [each.id for each in (*twins, *weaker)])

    def learned(self) -> Learned:
        return Learned(
            additions=self.additions,
            confirmed=tuple([id for id in self._confirmed if id not in self._gone]),
            entities=tuple(self._entities),
        )

    def _confirm(self, fact: Fact | NewFact, turn: TurnId | None) -> None:
        """Once, however often a segment says it; and not by the words that said it first."""
        if fact.id not in self._additions and said(fact.text, self._words.get(turn, "")):
            self._confirmed[fact.id] = None

    def _supersede(self, fact: NewFact, old: Sequence[FactId]) -> None:
        current = self._additions[fact.id]
        gone = [id for id in old if id != fact.id and id not in self._gone]
        stored = list(current.supersedes)
        for id in gone:
            before = self._additions.get(id)
            # One that never reached the store leaves to its successor what it superseded itself.
            stored += [id] if before is None else before.supersedes
            self._drop(id)
            self._gone.add(id)
        self._additions[fact.id] = msgspec.structs.replace(
            current, supersedes=tuple(dict.fromkeys(stored))
        )

    def _drop(self, id: FactId) -> None:
        self._additions.pop(id, None)


def _rivals(fact: NewFact, other: Fact | NewFact, names: set[str]) -> bool:
    """Whether both say the same kind of thing of the same, of which only one can be true."""
    return (
        fact.attribute is not None
        and other.attribute is not None
        and fact.attribute.casefold() == other.attribute.casefold()
        and bool(names)
        and bool(other.entities)
        and other.entities[0].casefold() in names
    )
