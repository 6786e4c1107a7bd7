"""What the built-in memory needs of the rest of Roost: a place for facts, and a model to ask."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from roost.core.facts import (
    Contradiction,
    Entity,
    Fact,
    FactKind,
    Found,
    Learned,
    Meant,
    Unmeant,
)
from roost.core.ids import FactId, SessionId, UserId
from roost.memory.base import Scope


class FactStore(Protocol):
    """One user's facts. Each method is one transaction; `scope` is the text of a `Scope`. An id
    that is not the user's, or unknown, is `NotFound`."""

    async def applied(self, scope: str, key: str) -> bool:
        """Whether `apply` was done for this key: then no model needs to be asked again."""
        ...

    async def apply(self, scope: str, key: str, learned: Learned) -> bool:
        """Write what a segment came to, whole or not at all, once for each key. False if it was
        written before. Ids that are gone meanwhile are passed over."""
        ...

    async def search(self, scope: str, words: str, *, limit: int) -> Sequence[Found]:
        """Live facts with any of the words in their text or entities' names, best first. Text that
        has no words in it finds nothing."""
        ...

    async def page(
        self,
        scope: str,
        *,
        kind: FactKind | None = None,
        before: FactId | None = None,
        limit: int = 50,
    ) -> Sequence[Fact]:
        """Live facts, of one kind or of all, newest first, those that come after `before`."""
        ...

    async def page_from(
        self, scope: str, session: SessionId, *, before: FactId | None = None, limit: int = 50
    ) -> Sequence[Fact]:
        """Live facts that a session taught, newest first, those that come after `before`."""
        ...

    async def get(self, scope: str, id: FactId) -> Fact:
        """Also one that was superseded or forgotten."""
        ...

    async def edit(self, scope: str, id: FactId, text: str) -> Fact:
        """Another text in a person's own words, hence of full trust."""
        ...

    async def forget(self, scope: str, id: FactId) -> None:
        """A second time changes nothing."""
        ...

    async def feedback(self, scope: str, id: FactId, change: float) -> Fact:
        """Add to its trust, within 0 and 1."""
        ...

    async def entities(self, scope: str, names: Sequence[str]) -> Sequence[Entity]:
        """Those that are known by one of these names."""
        ...

    async def about(self, scope: str, entity: str, *, limit: int) -> Sequence[Fact]:
        """Live facts that name an entity, by any of its names, newest first."""
        ...

    async def connecting(
        self, scope: str, entities: Sequence[str], *, limit: int
    ) -> Sequence[Fact]:
        """Live facts that name all of these entities, newest first."""
        ...

    async def contradictions(self, scope: str, *, limit: int) -> Sequence[Contradiction]: ...

    async def withdraw(self, scope: str, session: SessionId) -> int:
        """Forget what came from a session; says how many."""
        ...


class VectorStore(Protocol):
    """What one user's live facts mean, by the model that put it so; any other fact has no vector.
    Numbers grow: `before` is where a page ends that comes before this one."""

    async def missing(
        self, scope: str, model: str, *, before: int = ..., limit: int
    ) -> Sequence[Unmeant]:
        """Live facts without one, newest first."""
        ...

    async def put(
        self, scope: str, model: str, vectors: Sequence[tuple[Unmeant, bytes]]
    ) -> Sequence[int]:
        """Keep these; which of them were. One whose fact has changed meanwhile is not."""
        ...

    async def page(
        self, scope: str, model: str, *, before: int = ..., limit: int
    ) -> Sequence[Meant]: ...

    async def facts(self, scope: str, seqs: Sequence[int]) -> Mapping[int, Fact]:
        """Those of these that are live, by number."""
        ...


class Meanings(Protocol):
    """Finds facts by what they mean rather than by their words."""

    async def nearest(self, scope: Scope, words: str, *, limit: int) -> Sequence[Found]:
        """Live facts, the nearest first; none if that can't be told in time."""
        ...

    def changed(self, scope: Scope) -> None:
        """There are facts whose meaning is not known yet. Returns at once."""
        ...

    async def close(self) -> None: ...


class Inquiry(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a small model, and on whose behalf. `schema` is the JSON schema that the answer
    is to follow, for models that can be held to one; `system` says it in words."""

    user: UserId
    session: SessionId
    system: str
    text: str
    schema: bytes


class Asker(Protocol):
    async def __call__(self, inquiry: Inquiry) -> str:
        """The model's answer. Raises a `RoostError` if there is none."""
        ...
