"""What a user can do about their long-term memory."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from roost.core.errors import InvalidInput, NotFound
from roost.core.facts import Contradiction, Fact, FactKind, NewFact
from roost.core.ids import FactId, SessionId, UserId, new_fact_id
from roost.core.messages import check_text
from roost.memory.base import Scope
from roost.memory.builtin import TOLD, USER, Builtin
from roost.runtime.parts import Parts
from roost.runtime.segments import Report
from roost.store.memory import GivenUp, MemoryStatus


@contextmanager
def _pages() -> Generator[None]:
    try:
        yield
    except NotFound:
        raise InvalidInput("`before` is no memory of yours. Begin with the newest.") from None


class Remembering:
    def __init__(self, parts: Parts, user: UserId) -> None:
        self._user = user
        self._memory = parts.memory
        self.provider = parts.memories.provider
        self.profile = parts.memories.profile
        self._kept_by = parts.memories.providers.get(self.provider)

    # On its way there.

    async def uncommitted(self, session: SessionId) -> bool:
        """Whether there are turns that memory has not taken yet."""
        return await self._memory.uncommitted(self._user, session)

    async def commit(self, session: SessionId) -> Report:
        """Send what was said to memory now, and say what came of it."""
        return await self._memory.commit(self._user, session)

    async def status(self) -> MemoryStatus:
        """What is on its way to memory, and what keeps it."""
        return await self._memory.status(self._user)

    async def retry(self) -> int:
        """Try again soon what memory could not take, also what failed too often; how much it is."""
        return await self._memory.retry(self._user)

    async def drop(self) -> Sequence[GivenUp]:
        """Let go of what failed too often: memory will not have it."""
        return await self._memory.give_up(self._user)

    # What is there, if Roost itself keeps it.

    @property
    def is_open(self) -> bool:
        """Whether what is remembered can be looked at and changed here."""
        return isinstance(self._kept_by, Builtin)

    async def page(
        self, *, kind: FactKind | None = None, before: FactId | None = None, limit: int = 50
    ) -> Sequence[Fact]:
        """What holds, newest first, what comes after `before`."""
        facts, scope = self._facts()
        with _pages():
            return await facts.page(scope, kind=kind, before=before, limit=limit)

    async def page_from(
        self, session: SessionId, *, before: FactId | None = None, limit: int = 50
    ) -> Sequence[Fact]:
        """What a session taught and still holds, newest first, what comes after `before`."""
        facts, scope = self._facts()
        with _pages():
            return await facts.page_from(scope, session, before=before, limit=limit)

    async def search(self, words: str, *, limit: int = 50) -> Sequence[Fact]:
        """What has something to do with these words, the best first."""
        check_text(words, "search")
        facts, scope = self._facts()
        return await facts.search(scope, words, limit=limit)

    async def about(self, entity: str, *, limit: int = 50) -> Sequence[Fact]:
        """All that is known about something, by any of its names, newest first."""
        check_text(entity, "name")
        facts, scope = self._facts()
        return await facts.about(scope, entity, limit=limit)

    async def contradictions(self, *, limit: int = 50) -> Sequence[Contradiction]:
        facts, scope = self._facts()
        return await facts.contradictions(scope, limit=limit)

    async def get(self, fact: FactId) -> Fact:
        """Also what no longer holds."""
        facts, scope = self._facts()
        return await facts.get(scope, fact)

    async def remember(
        self,
        text: str,
        *,
        kind: FactKind = "fact",
        entities: tuple[str, ...] = (),
        replaces: tuple[FactId, ...] = (),
        key: str | None = None,
    ) -> Fact:
        """Keep something in the user's own words; the same key again keeps it once."""
        check_text((text, entities), "memory")
        facts, scope = self._facts()
        for each in replaces:
            await facts.get(scope, each)
        new = NewFact(
            id=new_fact_id(),
            text=text.strip(),
            kind=kind,
            entities=entities or (USER,),
            trust=TOLD,
            supersedes=replaces,
        )
        return await facts.remember(scope, new, key=f"own:{key or new.id}")

    async def edit(self, fact: FactId, text: str) -> Fact:
        check_text(text, "memory")
        facts, scope = self._facts()
        return await facts.edit(scope, fact, text)

    async def rate(self, fact: FactId, *, helpful: bool) -> Fact:
        """Say whether it turned out to be right: its trust grows or falls."""
        facts, scope = self._facts()
        return await facts.feedback(scope, fact, helpful=helpful)

    async def forget(self, fact: FactId) -> None:
        """For good, with all that it had superseded."""
        facts, scope = self._facts()
        await facts.get(scope, fact)
        await facts.forget(scope, fact)

    def _facts(self) -> tuple[Builtin, Scope]:
        if isinstance(self._kept_by, Builtin):
            return self._kept_by, Scope(self.provider, self.profile, self._user)
        if self._kept_by is None:
            raise InvalidInput("Nothing is remembered here: there is no memory that can learn.")
        said = f"What is remembered is kept by {self.provider}: it can be seen and changed there."
        raise InvalidInput(said)
