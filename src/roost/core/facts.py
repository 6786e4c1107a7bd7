"""Facts: what the built-in memory knows of a user, what it is about, and where it comes from."""

from typing import Literal

import msgspec

from roost.core.ids import FactId, SessionId, TurnId

CONFIRMATION = 0.1
"""The trust that a fact gains each time it is said again."""

FactKind = Literal["fact", "preference", "instruction", "event"]
"""`preference` is what someone likes; `instruction`, what the agent was told to do from now on."""

FactState = Literal["live", "superseded", "forgotten"]


class Entity(msgspec.Struct, frozen=True):
    """A person, a place, a project: `aliases` are other names for the same. Names are compared
    without regard to case."""

    name: str
    aliases: tuple[str, ...] = ()


class NewFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that is about to be written; its id is made by the caller. The first of `entities` is
    what it says something of. `attribute` names what it says, if only one such thing can be true at
    a time ("home town"): two live facts of one entity and attribute contradict one another.
    `supersedes` are facts that no longer hold because of this one."""

    id: FactId
    text: str
    kind: FactKind = "fact"
    entities: tuple[str, ...] = ()
    attribute: str | None = None
    trust: float = 0.5
    session: SessionId | None = None
    turn: TurnId | None = None
    supersedes: tuple[FactId, ...] = ()


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """`entities` are the names as the store has them, that of what it is about first. `trust` is 0
    to 1. `updated_at` is when it was last written, confirmed or edited."""

    id: FactId
    text: str
    kind: FactKind
    entities: tuple[str, ...]
    attribute: str | None
    trust: float
    session: SessionId | None
    turn: TurnId | None
    created_at: int
    updated_at: int
    superseded_by: FactId | None = None
    forgotten_at: int | None = None

    @property
    def state(self) -> FactState:
        if self.forgotten_at is not None:
            return "forgotten"
        return "live" if self.superseded_by is None else "superseded"


class Found(msgspec.Struct, frozen=True):
    """A live fact that a search found; a greater `score` is a better match."""

    fact: Fact
    score: float


class Unmeant(msgspec.Struct, frozen=True, array_like=True):
    """A fact by its number in the store, that has no vector yet."""

    seq: int
    text: str


class Meant(msgspec.Struct, frozen=True, array_like=True):
    """A fact's vector, as it is stored."""

    seq: int
    vector: bytes


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """What a segment came to. `confirmed` are facts that were said again: they gain `CONFIRMATION`
    and count as updated. `entities` brings names together: if one of an entity's names is known
    already, the others become its aliases."""

    additions: tuple[NewFact, ...] = ()
    confirmed: tuple[FactId, ...] = ()
    entities: tuple[Entity, ...] = ()


class Contradiction(msgspec.Struct, frozen=True):
    """Two live facts that can't both be true, the older first."""

    entity: str
    attribute: str
    older: Fact
    newer: Fact
