"""The memory that comes with Roost: what it learns, keeps once, gives up, and recalls."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from roost.core.errors import (
    ConfigError,
    Conflict,
    InvalidInput,
    MemoryFailed,
    ModelUnreachable,
    NotFound,
)
from roost.core.facts import Fact, NewFact
from roost.core.ids import SessionId, UserId, new_fact_id
from roost.core.keys import Key
from roost.core.sessions import NewSession
from roost.core.users import User
from roost.memory.base import Scope
from roost.memory.builtin import TOLD, Builtin, half_life
from roost.memory.ports import Asker, FactStore, Inquiry
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.unit.memory.fake_facts import FakeFacts
from tests.unit.memory.remembering import ADA, SESSION, Model, Stated, segment

DAY = 86_400
EVE = Scope("builtin", "default", UserId("usr_eve"))
OTHER = SessionId("ses_2")


class Memory:
    """A memory, and what stands in it."""

    def __init__(self, of: Callable[[UserId], FactStore], clock: FakeClock) -> None:
        self.of = of
        self.clock = clock
        self.model = Model()
        self.builtin = self.built()

    def built(self, ask: Asker | None = None, half_life: timedelta | None = None) -> Builtin:
        return Builtin(self.of, ask or self.model, clock=self.clock, half_life=half_life)

    async def learn(self, key: str, *facts: Stated, said: str = "I have news.") -> None:
        """Commit a segment in which the model finds these facts."""
        self.model.plan(*facts)
        await self.builtin.commit(segment(key, said))

    async def facts(self, scope: Scope = ADA) -> list[Fact]:
        """Oldest first."""
        return [*reversed(await self.of(scope.user).page(str(scope)))]

    async def texts(self) -> list[str]:
        return [fact.text for fact in await self.facts()]

    async def tell(self, text: str, key: str = "told", **values: object) -> Fact:
        fact = NewFact(id=new_fact_id(), text=text, entities=("user",), trust=TOLD)
        return await self.builtin.remember(ADA, msgspec.structs.replace(fact, **values), key=key)

    async def recalled(self, words: str, limit: int = 10) -> list[str]:
        return [memory.text for memory in await self.builtin.recall(ADA, words, limit=limit)]


@pytest.fixture(params=["plain", "stored"])
async def memory(request: pytest.FixtureRequest, store: Store, clock: FakeClock) -> Memory:
    """Over plain facts that show what is meant, and over the store that has to do the same."""
    if request.param == "plain":
        plain: defaultdict[UserId, FakeFacts] = defaultdict(lambda: FakeFacts(clock))
        return Memory(lambda user: plain[user], clock)
    for user in (ADA.user, EVE.user):
        await store.users.create(User(id=user, name=user, role="member"))
    for session in (SESSION, OTHER):
        await store.of(ADA.user).sessions.create(NewSession(id=session, origin="test"))
    return Memory(lambda user: store.of(user).facts, clock)


# Learning.


async def test_fact_says_which_session_and_turn_it_comes_from(memory: Memory) -> None:
    told = segment("seg_1", "Hello.", "I keep two parrots.")
    memory.model.plan({"text": "The user keeps two parrots.", "turn": 2, "about": ["user"]})
    await memory.builtin.commit(told)
    (fact,) = await memory.facts()
    assert (fact.session, fact.turn) == (told.session, told.turns[1])
    assert (fact.text, fact.entities, fact.trust) == ("The user keeps two parrots.", ("user",), 0.5)


async def test_segment_that_comes_again_asks_no_model_and_changes_nothing(memory: Memory) -> None:
    told = segment("seg_1", "I keep two parrots.")
    memory.model.plan({"text": "The user keeps two parrots."})
    await memory.builtin.commit(told)
    before = await memory.facts()
    await memory.builtin.commit(told)
    assert len(memory.model.asked) == 1
    assert await memory.facts() == before


async def test_segment_without_words_asks_no_model(memory: Memory) -> None:
    await memory.builtin.commit(segment("seg_1", " ", answer=""))
    assert memory.model.asked == []
    assert await memory.of(ADA.user).applied(str(ADA), "seg_1")


async def test_what_is_known_is_confirmed_rather_than_repeated(memory: Memory) -> None:
    await memory.learn("seg_1", {"text": "The user keeps two parrots.", "about": ["user"]})
    memory.clock.advance(DAY)
    again = {"text": "the user keeps two parrots", "about": ["user"]}
    await memory.learn("seg_2", again, said="As I said, I keep two parrots.")
    repeats = {"text": "Two parrots live there.", "repeats": 1}
    await memory.learn("seg_3", repeats, said="My two parrots are hungry.")
    (fact,) = await memory.facts()
    assert round(fact.trust, 3) == 0.7
    assert fact.updated_at == memory.clock.now() == fact.created_at + DAY * 1000


async def test_agent_that_repeats_what_it_recalled_proves_nothing(memory: Memory) -> None:
    known = {"text": "The user keeps two parrots.", "about": ["user"]}
    await memory.learn("seg_1", known)
    for key, found in (("seg_2", known), ("seg_3", {"text": "Two parrots.", "repeats": 1})):
        memory.model.plan(found)
        echo = segment(key, "What shall I cook?", answer="You keep two parrots: no onions!")
        await memory.builtin.commit(echo)
    (fact,) = await memory.facts()
    assert fact.trust == 0.5


async def test_what_the_model_says_is_over_is_superseded(memory: Memory) -> None:
    await memory.learn("seg_1", {"text": "The user works at a bakery.", "about": ["user"]})
    (old,) = await memory.facts()
    new = {"text": "The user works at a school.", "about": ["user"], "replaces": [1]}
    await memory.learn("seg_2", new)
    assert await memory.texts() == ["The user works at a school."]
    old = await memory.builtin.get(ADA, old.id)
    assert old.state == "superseded"
    assert old.superseded_by == (await memory.facts())[0].id


def home(town: str, **values: object) -> Stated:
    return {
        "text": f"Ada lives in {town}.",
        "about": ["Ada", town],
        "attribute": "home town",
        **values,
    }


async def test_newer_of_two_that_exclude_each_other_holds(memory: Memory) -> None:
    await memory.learn("seg_1", home("Paris"))
    await memory.learn("seg_2", home("Berlin"))
    assert await memory.texts() == ["Ada lives in Berlin."]


async def test_entity_is_the_same_by_any_of_its_names(memory: Memory) -> None:
    memory.model.plan(
        home("Paris"), entities=[{"name": "Ada", "aliases": ["Ada Lovelace", "Countess"]}]
    )
    await memory.builtin.commit(segment("seg_1", "Ada lives in Paris."))
    await memory.learn("seg_2", home("Berlin", about=["ada lovelace", "Berlin"]))
    assert await memory.texts() == ["Ada lives in Berlin."]
    (fact,) = await memory.builtin.about(ADA, "countess", limit=10)
    assert fact.entities == ("Ada", "Berlin")


async def test_what_a_person_vouched_for_is_not_superseded_but_contradicted(
    memory: Memory,
) -> None:
    await memory.learn("seg_1", home("Paris"))
    (old,) = await memory.facts()
    await memory.of(ADA.user).edit(str(ADA), old.id, "Ada lives in Paris, for good.")
    await memory.learn("seg_2", home("Berlin"))
    (found,) = await memory.builtin.contradictions(ADA, limit=10)
    assert (found.entity, found.attribute) == ("Ada", "home town")
    assert (found.older.text, found.newer.text) == (
        "Ada lives in Paris, for good.",
        "Ada lives in Berlin.",
    )


async def test_one_segment_can_take_back_its_own_words(memory: Memory) -> None:
    await memory.learn("seg_0", home("Rome"))
    (rome,) = await memory.facts()
    memory.model.plan(home("Paris", replaces=[1]), home("Berlin"), home("Berlin"))
    await memory.builtin.commit(segment("seg_1", "Ada moved to Paris. No, to Berlin."))
    (berlin,) = await memory.facts()
    assert berlin.text == "Ada lives in Berlin."
    assert (await memory.builtin.get(ADA, rome.id)).superseded_by == berlin.id


async def test_same_thing_learned_in_two_sessions_at_once_is_kept_once(memory: Memory) -> None:
    both_asked = asyncio.Barrier(2)

    async def ask(inquiry: Inquiry) -> str:
        await both_asked.wait()
        return '{"facts": [{"text": "The user keeps two parrots.", "turn": 1}]}'

    builtin = memory.built(ask)
    await asyncio.gather(
        builtin.commit(segment("seg_1", "Parrots!")),
        builtin.commit(segment("seg_2", "Parrots!", session=OTHER)),
    )
    assert await memory.texts() == ["The user keeps two parrots."]


async def test_model_that_does_not_answer_is_a_failure_and_nothing_is_kept(memory: Memory) -> None:
    told = segment("seg_1", "I keep two parrots.")
    memory.model.answers.append(ModelUnreachable("refused", provider="nest"))
    with pytest.raises(MemoryFailed, match="builtin failed: nest can't be reached"):
        await memory.builtin.commit(told)
    assert not await memory.of(ADA.user).applied(str(ADA), "seg_1")
    memory.model.plan({"text": "The user keeps two parrots."})
    await memory.builtin.commit(told)
    assert await memory.texts() == ["The user keeps two parrots."]


async def test_long_segment_goes_on_after_a_failure_where_it_was(memory: Memory) -> None:
    told = segment("seg_1", *["long " * 600] * 10)
    memory.model.plan({"text": "Bob sails."})
    memory.model.answers.append(ModelUnreachable("refused", provider="nest"))
    with pytest.raises(MemoryFailed):
        await memory.builtin.commit(told)
    assert await memory.texts() == []
    assert len(memory.model.asked) == 2
    memory.model.plan({"text": "Bob rows."})
    await memory.builtin.commit(told)
    assert memory.model.asked[2] == memory.model.asked[1] != memory.model.asked[0]
    assert await memory.texts() == ["Bob sails.", "Bob rows."]


async def test_model_sees_what_is_known_of_the_user_and_of_what_was_said(memory: Memory) -> None:
    await memory.learn("seg_1", {"text": "The user is a baker.", "about": ["user"]})
    await memory.learn("seg_2", {"text": "Bob sails.", "about": ["Bob"]}, home("Paris"))
    await memory.builtin.commit(segment("seg_3", "How is Bob?"))
    asked = memory.model.asked[-1].text
    assert "1. The user is a baker.\n2. Bob sails.\n\nThe excerpt:" in asked


# Recalling.


async def test_recall_finds_by_words_and_leaves_the_rest(memory: Memory) -> None:
    await memory.learn("seg_1", {"text": "Bob sails."}, {"text": "The user is a baker."})
    assert await memory.recalled("What does Bob do, and what is the matter?") == ["Bob sails."]
    assert await memory.recalled("and what is it") == []
    assert await memory.recalled("") == []


async def test_standing_instructions_are_always_recalled(memory: Memory) -> None:
    await memory.tell("Always answer in French.", kind="instruction")
    await memory.learn("seg_1", {"text": "Bob sails."})
    assert await memory.recalled("Bob") == ["Always answer in French.", "Bob sails."]
    assert await memory.recalled("Bob", limit=1) == ["Always answer in French."]


async def test_trust_decides_between_equal_matches(memory: Memory) -> None:
    await memory.learn("seg_1", {"text": "Bob sails."}, {"text": "Bob rows."})
    sails, rows = await memory.facts()
    await memory.builtin.feedback(ADA, sails.id, helpful=False)
    assert await memory.recalled("Bob") == ["Bob rows.", "Bob sails."]
    for _ in range(4):
        await memory.builtin.feedback(ADA, sails.id, helpful=True)
    assert await memory.recalled("Bob") == ["Bob sails.", "Bob rows."]
    for _ in range(20):
        rows = await memory.builtin.feedback(ADA, rows.id, helpful=False)
    assert rows.trust == 0


@pytest.mark.parametrize("fading", [None, timedelta(days=30)])
async def test_facts_fade_only_if_they_are_to(memory: Memory, fading: timedelta | None) -> None:
    memory.builtin = memory.built(half_life=fading)
    await memory.tell("Bob sails.", key="old")
    memory.clock.advance(365 * DAY)
    await memory.learn("seg_1", {"text": "Bob rows."})
    first = "Bob sails." if fading is None else "Bob rows."
    assert (await memory.recalled("Bob"))[0] == first


def test_half_life_is_an_option() -> None:
    assert half_life({}) is None
    assert half_life({"half_life": Key("90d")}) == timedelta(days=90)
    with pytest.raises(ConfigError, match="such as"):
        half_life({"half_life": Key("long")})


async def test_facts_that_connect_several(memory: Memory) -> None:
    await memory.learn(
        "seg_1",
        {"text": "Bob and Ada sail.", "about": ["Bob", "Ada"]},
        {"text": "Bob rows.", "about": ["Bob"]},
    )
    found = await memory.builtin.connecting(ADA, ["ada", "bob"], limit=10)
    assert [fact.text for fact in found] == ["Bob and Ada sail."]
    assert len(await memory.builtin.about(ADA, "Bob", limit=10)) == 2


# Telling it.


async def test_what_is_told_twice_is_kept_once(memory: Memory) -> None:
    first = await memory.tell("Bob sails.", key="one")
    again = await memory.tell("bob sails", key="two")
    repeated = await memory.tell("Bob sails.", key="one")
    assert first.id == again.id == repeated.id
    assert repeated.trust == TOLD


async def test_a_repeat_does_not_bring_back_what_was_forgotten(memory: Memory) -> None:
    fact = await memory.tell("Bob sails.")
    await memory.builtin.forget(ADA, fact.id)
    with pytest.raises(Conflict):
        await memory.tell("Bob sails.")
    assert await memory.facts() == []


@pytest.mark.parametrize("text", ["", "  ", "x" * 501])
async def test_a_memory_is_a_sentence(memory: Memory, text: str) -> None:
    with pytest.raises(InvalidInput):
        await memory.tell(text)


# Forgetting.


async def test_forgotten_is_not_recalled(memory: Memory) -> None:
    fact = await memory.tell("Bob sails.")
    await memory.builtin.forget(ADA, fact.id)
    await memory.builtin.forget(ADA, fact.id)
    await memory.builtin.forget(ADA, "fct_unknown")
    assert await memory.recalled("Bob") == []


async def test_withdrawing_a_session_forgets_what_came_from_it(memory: Memory) -> None:
    await memory.learn("seg_1", {"text": "Bob sails."})
    memory.model.plan({"text": "Bob rows."})
    await memory.builtin.commit(segment("seg_2", "Bob rows.", session=OTHER))
    await memory.builtin.withdraw(ADA, SESSION)
    assert await memory.texts() == ["Bob rows."]


async def test_another_user_and_another_profile_know_nothing_of_it(memory: Memory) -> None:
    fact = await memory.tell("Bob sails.")
    for other in (EVE, Scope("builtin", "work", ADA.user)):
        assert await memory.builtin.recall(other, "Bob", limit=10) == []
        with pytest.raises(NotFound):
            await memory.builtin.get(other, fact.id)
        await memory.builtin.forget(other, fact.id)
    assert await memory.recalled("Bob") == ["Bob sails."]


async def test_it_is_well(memory: Memory) -> None:
    assert await memory.builtin.health() is None
    await memory.builtin.close()
