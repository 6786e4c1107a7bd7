"""The memory that comes with Roost: facts in its own store, taken down by a small model."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from roost.core.clock import Clock
from roost.core.errors import (
    ConfigError,
    Conflict,
    InvalidInput,
    MemoryFailed,
    MemoryUnusable,
    ModelError,
    NotFound,
)
from roost.core.facts import Contradiction, Fact, FactKind, Found, Learned, NewFact
from roost.core.ids import FactId, SessionId, UserId
from roost.core.keys import Key
from roost.core.settings import duration
from roost.memory.base import Memory, Scope, Segment
from roost.memory.extraction import SCHEMA, SYSTEM, AnswerUnusable, extract, question
from roost.memory.gathering import Gathering
from roost.memory.ports import Asker, FactStore, Inquiry, Meanings
from roost.memory.ranking import merged, ranked, same, telling
from roost.memory.transcript import Excerpt, excerpts

NAME = "builtin"
USER = "user"
"""What facts call the person they belong to."""

TOLD = 0.9
"""The trust of what someone asked to be remembered."""

INSTRUCTIONS = 50
"""How many of the newest instructions are looked through at each turn."""
DOUBTED = 0.3
"""Below this an instruction is not followed any more."""

HELPFUL, UNHELPFUL = 0.1, -0.2
"""What feedback changes in trust: a wrong memory does more harm than a right one does good."""

LONGEST = 500
_KNOWN = 40
_RELATED = 100
_MET = 10
_AHEAD = 4
_MOST_FOUND = 500
"""As many as a store of facts gives in one answer."""
_MOST_WORK = 64


class _Work(NamedTuple):
    """What a segment came to so far, and what of it is still to be read."""

    gathering: Gathering
    left: list[Excerpt]


class Builtin:
    """Also a store of facts in its own right: what is known about something, what connects several,
    what can't all be true. `half_life` is the age at which a fact counts half; without it facts
    don't fade. `meanings` finds facts by what they mean; without it they are found by their words.
    """

    def __init__(
        self,
        facts: Callable[[UserId], FactStore],
        ask: Asker,
        *,
        clock: Clock,
        half_life: timedelta | None = None,
        meanings: Meanings | None = None,
    ) -> None:
        self._facts = facts
        self._meanings = meanings
        self._ask = ask
        self._clock = clock
        self._half_life = half_life
        self._settling: dict[str, asyncio.Lock] = {}
        self._work: dict[str, _Work] = {}

    # As a provider.

    async def recall(self, scope: Scope, words: str, *, limit: int) -> Sequence[Memory]:
        """What the agent was told to do from now on matters to every turn; the rest, if its words
        are met. Nothing is written."""
        facts = self._facts(scope.user)
        told = await facts.page(str(scope), kind="instruction", limit=INSTRUCTIONS)
        # The most trusted first, and of those the newest; what is doubted is no rule.
        standing = sorted([each for each in told if each.trust >= DOUBTED], key=_by_trust)
        standing = standing[: max(1, limit // 2)]
        found = await self.search(scope, words, limit=limit)
        chosen = {fact.id: fact for fact in (*standing, *found)}
        return [_memory(fact) for fact in list(chosen.values())[:limit]]

    async def commit(self, segment: Segment) -> None:
        facts, scope = self._facts(segment.scope.user), str(segment.scope)
        if await facts.applied(scope, segment.key):
            return
        work = self._begin(segment)
        while work.left:
            await self._read(segment, work.left[0], work.gathering)
            del work.left[0]
        # Models may be asked for several sessions at a time; what they found is compared with what
        # is known one after the other, or two would add the same.
        async with self._settling.setdefault(scope, asyncio.Lock()):
            for fact in work.gathering.additions:
                await _compare(facts, scope, fact, work.gathering)
            await facts.apply(scope, segment.key, work.gathering.learned())
        self._work.pop(segment.key, None)
        self._changed(segment.scope)

    async def forget(self, scope: Scope, id: str) -> None:
        try:
            await self._facts(scope.user).forget(str(scope), FactId(id))
        except NotFound:
            return

    async def withdraw(self, scope: Scope, session: SessionId) -> None:
        await self._facts(scope.user).withdraw(str(scope), session)
        self._changed(scope)  # what those facts had superseded holds again

    async def health(self) -> str | None:
        """Its facts are where the sessions are: if those can be had, so can these."""
        return None

    async def close(self) -> None:
        if self._meanings is not None:
            await self._meanings.close()

    def _changed(self, scope: Scope) -> None:
        if self._meanings is not None:
            self._meanings.changed(scope)

    # As a store of facts.

    async def search(self, scope: Scope, words: str, *, limit: int) -> Sequence[Fact]:
        """By words, and by meaning if that can be had in time: neither finds all."""
        if self._meanings is None or not telling(words):
            return await self._worded(scope, words, limit=limit)
        near, worded = await asyncio.gather(
            self._meanings.nearest(scope, words, limit=_ahead(limit)),
            self._worded(scope, words, limit=_ahead(limit)),
        )
        return merged(worded, self._ranked(near))[:limit]

    async def _worded(self, scope: Scope, words: str, *, limit: int) -> Sequence[Fact]:
        facts, asked = self._facts(scope.user), telling(words)
        if not asked:
            return []
        return self._ranked(await facts.search(str(scope), asked, limit=_ahead(limit)))[:limit]

    def _ranked(self, found: Sequence[Found]) -> Sequence[Fact]:
        return ranked(found, now=self._clock.now(), half_life=self._half_life)

    async def page(
        self, scope: Scope, *, kind: FactKind | None, before: FactId | None, limit: int
    ) -> Sequence[Fact]:
        """Live facts, newest first, those that come after `before`."""
        facts = self._facts(scope.user)
        return await facts.page(str(scope), kind=kind, before=before, limit=limit)

    async def page_from(
        self, scope: Scope, session: SessionId, *, before: FactId | None, limit: int
    ) -> Sequence[Fact]:
        """As `page`, of what one session taught."""
        facts = self._facts(scope.user)
        return await facts.page_from(str(scope), session, before=before, limit=limit)

    async def get(self, scope: Scope, id: str) -> Fact:
        """Also one that no longer holds. Raises `NotFound`."""
        return await self._facts(scope.user).get(str(scope), FactId(id))

    async def remember(self, scope: Scope, fact: NewFact, *, key: str) -> Fact:
        """Keep what someone asked to be kept; the same key again keeps it once. What is known in
        the same words is confirmed instead."""
        if not 1 <= len(fact.text.strip()) <= LONGEST:
            raise InvalidInput(f"A memory is a text of 1 to {LONGEST} characters.")
        facts, where = self._facts(scope.user), str(scope)
        async with self._settling.setdefault(where, asyncio.Lock()):
            found = [each.fact for each in await _met(facts, where, fact.text)]
            twin = next((each for each in found if same(each.text, fact.text)), None)
            if twin is not None and not fact.supersedes:
                # Up to what it would begin with: an agent that notes it again and again proves
                # nothing.
                confirmed = (twin.id,) if twin.trust < TOLD else ()
                await facts.apply(where, key, Learned(confirmed=confirmed))
                return await facts.get(where, twin.id)
            if not await facts.apply(where, key, Learned(additions=(fact,))):
                raise Conflict("This was remembered before, and was changed or forgotten since.")
            self._changed(scope)
            return await facts.get(where, fact.id)

    async def edit(self, scope: Scope, id: str, text: str) -> Fact:
        """Another text, in a person's own words."""
        if not 1 <= len(text.strip()) <= LONGEST:
            raise InvalidInput(f"A memory is a text of 1 to {LONGEST} characters.")
        edited = await self._facts(scope.user).edit(str(scope), FactId(id), text.strip())
        self._changed(scope)
        return edited

    async def feedback(self, scope: Scope, id: str, *, helpful: bool) -> Fact:
        change = HELPFUL if helpful else UNHELPFUL
        return await self._facts(scope.user).feedback(str(scope), FactId(id), change)

    async def about(self, scope: Scope, entity: str, *, limit: int) -> Sequence[Fact]:
        """Everything that is known about something, by any of its names."""
        return await self._facts(scope.user).about(str(scope), entity, limit=limit)

    async def connecting(
        self, scope: Scope, entities: Sequence[str], *, limit: int
    ) -> Sequence[Fact]:
        """What is known about all of these together."""
        return await self._facts(scope.user).connecting(str(scope), entities, limit=limit)

    async def contradictions(self, scope: Scope, *, limit: int) -> Sequence[Contradiction]:
        return await self._facts(scope.user).contradictions(str(scope), limit=limit)

    # Learning from a segment.

    def _begin(self, segment: Segment) -> _Work:
        """A try that failed goes on where it was: a long segment may take longer than any one try
        is given."""
        if segment.key not in self._work:
            if len(self._work) >= _MOST_WORK:
                del self._work[next(iter(self._work))]
            self._work[segment.key] = _Work(Gathering(segment), excerpts(segment))
        return self._work[segment.key]

    async def _read(self, segment: Segment, excerpt: Excerpt, gathering: Gathering) -> None:
        """Ask the model about one excerpt, with what is known and what the ones before gave."""
        known = [*gathering.additions, *await self._known(segment.scope, excerpt)]
        inquiry = Inquiry(
            user=segment.scope.user,
            session=segment.session,
            system=SYSTEM,
            text=question(excerpt, known),
            schema=SCHEMA,
        )
        try:
            found = await extract(self._ask, inquiry, turns=len(segment.turns), known=len(known))
        except ModelError as error:
            raise MemoryFailed(str(error).rstrip("."), provider=NAME) from error
        except AnswerUnusable as error:
            raise MemoryUnusable(str(error), provider=NAME) from error
        for entity in found.entities:
            gathering.meet(entity)
        for stated in found.facts:
            gathering.take(stated, known)

    async def _known(self, scope: Scope, excerpt: Excerpt) -> Sequence[Fact]:
        """What the model should see: facts about the user, whom no excerpt calls by name, and those
        that have its words."""
        own = await self.about(scope, USER, limit=_KNOWN // 2)
        known = {fact.id: fact for fact in own}
        for line in excerpt:
            known |= {fact.id: fact for fact in await self._worded(scope, line.text, limit=5)}
        return list(known.values())[:_KNOWN]


def half_life(options: Mapping[str, Key]) -> timedelta | None:
    """What [memory.options] says of how fast facts fade. Without a word of it, they don't."""
    given = options.get("half_life")
    if given is None:
        return None
    try:
        return duration(given.reveal())
    except ValueError:
        raise ConfigError('memory.options.half_life is a duration such as "90d".') from None


async def _compare(facts: FactStore, scope: str, fact: NewFact, gathering: Gathering) -> None:
    related = [found.fact for found in await _met(facts, scope, fact.text)]
    names = [*fact.entities[:1]]
    for entity in await facts.entities(scope, names):
        names += [entity.name, *entity.aliases]
    if names:
        related += await facts.about(scope, names[0], limit=_RELATED)
    gathering.compare(fact, related, names)


async def _met(facts: FactStore, scope: str, text: str) -> Sequence[Found]:
    asked = telling(text)
    return await facts.search(scope, asked, limit=_MET) if asked else []


def _by_trust(fact: Fact) -> float:
    return -fact.trust


def _memory(fact: Fact) -> Memory:
    return Memory(
        id=fact.id,
        text=fact.text,
        session=fact.session,
        turn=fact.turn,
        created_at=fact.created_at,
    )


def _ahead(limit: int) -> int:
    """More than are wanted: what is near is ranked by more than how near it is."""
    return min(limit * _AHEAD, _MOST_FOUND)
