"""What a running server remembers of its owner, and what is on its way there."""

from collections.abc import Sequence

import msgspec

from roost.client.connection import Ask, Connection, Query, path
from roost.core.facts import Contradiction, Fact
from roost.core.ids import FactId, SessionId
from roost.store.memory import GivenUp, MemoryStatus


class _Facts(msgspec.Struct, frozen=True):
    facts: tuple[Fact, ...]


class _Contradictions(msgspec.Struct, frozen=True):
    contradictions: tuple[Contradiction, ...]


class _Retried(msgspec.Struct, frozen=True):
    retried: int


class _DroppedTurns(msgspec.Struct, frozen=True):
    session: SessionId
    turns: int


class _Dropped(msgspec.Struct, frozen=True):
    dropped: tuple[_DroppedTurns, ...]


class Memory:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(self, *, before: FactId | None = None, limit: int = 50) -> Sequence[Fact]:
        return await self._facts({"before": before, "limit": limit})

    async def search(self, words: str, *, limit: int = 50) -> Sequence[Fact]:
        return await self._facts({"words": words, "limit": limit})

    async def about(self, entity: str, *, limit: int = 50) -> Sequence[Fact]:
        return await self._facts({"about": entity, "limit": limit})

    async def contradictions(self, *, limit: int = 50) -> Sequence[Contradiction]:
        asked = Ask("GET", path("memory", "contradictions"), {"limit": limit}, again=True)
        return (await self._connection.ask(asked, _Contradictions)).contradictions

    async def get(self, fact: FactId) -> Fact:
        return await self._connection.ask(Ask("GET", _place(fact), again=True), Fact)

    async def edit(self, fact: FactId, text: str) -> Fact:
        asked = Ask("PATCH", _place(fact), body={"text": text}, again=True)
        return await self._connection.ask(asked, Fact)

    async def forget(self, fact: FactId) -> None:
        await self._connection.fetch(Ask("DELETE", _place(fact), again=True))

    async def status(self) -> MemoryStatus:
        return await self._connection.ask(Ask("GET", path("memory"), again=True), MemoryStatus)

    async def retry(self) -> int:
        asked = Ask("POST", path("memory", "retry"), again=True)
        return (await self._connection.ask(asked, _Retried)).retried

    async def drop(self) -> Sequence[GivenUp]:
        dropped = await self._connection.ask(Ask("POST", path("memory", "drop")), _Dropped)
        return [GivenUp(each.session, each.turns) for each in dropped.dropped]

    async def _facts(self, query: Query) -> Sequence[Fact]:
        asked = Ask("GET", path("memory", "facts"), query, again=True)
        return (await self._connection.ask(asked, _Facts)).facts


def _place(fact: FactId) -> str:
    return path("memory", "facts", fact)
