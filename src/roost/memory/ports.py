"""What the built-in memory needs of the rest of Roost: a place for facts, and a model to ask."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from roost.core.facts import Contradiction, Entity, Fact, FactKind, Found, Learned
from roost.core.ids import FactId, SessionId, UserId


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
