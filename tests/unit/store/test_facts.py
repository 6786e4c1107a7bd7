"""Facts: learned once for each key, found by words and entities, superseded, edited, forgotten."""

from typing import cast

import pytest

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.facts import Entity, Fact, Learned, NewFact
from roost.core.ids import FactId, SessionId, TurnId, new_fact_id
from roost.memory.ports import FactStore
from roost.store.facts import LONGEST, PAGE, Facts
from roost.testing.clock import FakeClock
from tests.store_driver import Driver

pytestmark = pytest.mark.both

SCOPE = "builtin/default/ada"


@pytest.fixture
def facts(ada: Driver) -> Facts:
    return ada.facts


def new(text: str, *entities: str, attribute: str | None = None) -> NewFact:
    return NewFact(id=new_fact_id(), text=text, entities=entities, attribute=attribute)


async def learn(facts: Facts, *additions: NewFact, scope: str = SCOPE) -> None:
    assert await facts.apply(scope, new_fact_id(), Learned(additions=additions))


async def learned(facts: Facts, text: str, *entities: str, attribute: str | None = None) -> FactId:
    fact = new(text, *entities, attribute=attribute)
    await learn(facts, fact)
    return fact.id


async def found(facts: Facts, words: str, *, limit: int = 10) -> list[str]:
    return [each.fact.text for each in await facts.search(SCOPE, words, limit=limit)]


async def listed(facts: Facts) -> list[str]:
    return [fact.text for fact in await facts.page(SCOPE)]


def test_store_is_what_the_built_in_memory_asks_for(facts: Facts) -> None:
    port: FactStore = facts
    assert cast("object", port) is facts


async def test_fact_is_kept_with_its_provenance(
    facts: Facts, session: SessionId, clock: FakeClock
) -> None:
    stated = NewFact(
        id=new_fact_id(),
        text="Ada lives in Turin",
        kind="preference",
        entities=("Ada", "Turin"),
        attribute="home",
        trust=0.7,
        session=session,
        turn=TurnId("trn_1"),
    )
    await learn(facts, stated)
    fact = await facts.get(SCOPE, stated.id)
    assert fact == Fact(
        id=stated.id,
        text="Ada lives in Turin",
        kind="preference",
        entities=("Ada", "Turin"),
        attribute="home",
        trust=0.7,
        session=session,
        turn=TurnId("trn_1"),
        created_at=clock.now(),
        updated_at=clock.now(),
    )
    assert fact.state == "live"


async def test_one_key_is_applied_once(facts: Facts) -> None:
    assert not await facts.applied(SCOPE, "key")
    assert await facts.apply(SCOPE, "key", Learned(additions=(new("One"),)))
    assert not await facts.apply(SCOPE, "key", Learned(additions=(new("Two"),)))
    assert await facts.applied(SCOPE, "key")
    assert not await facts.applied("another", "key")
    assert await listed(facts) == ["One"]


async def test_apply_is_whole_or_not_at_all(facts: Facts) -> None:
    taken = new("One")
    await learn(facts, taken)
    with pytest.raises(InvalidInput, match="taken"):
        await facts.apply(SCOPE, "key", Learned(additions=(new("Two", "Bob"), taken)))
    assert await listed(facts) == ["One"]
    assert not await facts.applied(SCOPE, "key")
    assert await facts.entities(SCOPE, ["Bob"]) == []


async def test_facts_of_a_deleted_session_come_too_late(
    ada: Driver, facts: Facts, session: SessionId
) -> None:
    old = await learned(facts, "Old")
    await ada.sessions.delete(session)
    late = NewFact(id=new_fact_id(), text="Late", session=session, supersedes=(old,))
    await learn(facts, late, new("In time"))
    assert await listed(facts) == ["In time", "Old"]


async def test_search_finds_any_of_the_words_and_ranks_by_them(facts: Facts) -> None:
    for text in ("Ada likes dark tea", "Ada likes trains", "Bob has a garden", "Tea is dark"):
        await learned(facts, text)
    results = await facts.search(SCOPE, "which dark tea do they have in Ulm?", limit=10)
    assert {each.fact.text for each in results} == {"Ada likes dark tea", "Tea is dark"}
    assert all(each.score > 0 for each in results)
    assert [each.score for each in results] == sorted([r.score for r in results], reverse=True)
    assert len(await facts.search(SCOPE, "dark", limit=1)) == 1


@pytest.mark.parametrize("words", ["", "  ", "?!", '"', "*", "-- (", "AND OR NOT"])
async def test_any_text_can_be_searched_for(facts: Facts, words: str) -> None:
    await learned(facts, "Something else")
    assert await found(facts, words) == []


async def test_search_takes_a_long_text(facts: Facts) -> None:
    await learned(facts, "Ada likes tea")
    assert await found(facts, "tea " + " ".join(f"word{n}" for n in range(5000))) != []


async def test_search_finds_text_without_spaces_and_without_accents(facts: Facts) -> None:
    for text in ("東京に住んでいる", "Lives near Köln"):
        await learned(facts, text)
    assert await found(facts, "私は東京が好きです") == ["東京に住んでいる"]
    assert await found(facts, "koln") == ["Lives near Köln"]


async def test_search_finds_by_the_names_of_entities_also_later_ones(facts: Facts) -> None:
    await learned(facts, "She moved to the coast", "Robert Miller", "New York")
    names = (Entity("robert miller", ("Bobby", "the big one")), Entity("New York", ("NYC",)))
    await facts.apply(SCOPE, "names", Learned(entities=names))
    for words in ("Miller", "bobby?", "Is the big one there?", "NYC"):
        assert await found(facts, words) == ["She moved to the coast"], words


async def test_pages_go_back_from_the_newest(facts: Facts) -> None:
    for n in range(5):
        await learned(facts, f"Fact {n}")
    first = await facts.page(SCOPE, limit=2)
    assert [fact.text for fact in first] == ["Fact 4", "Fact 3"]
    await learned(facts, "Fact 5")
    rest = await facts.page(SCOPE, before=first[-1].id)
    assert [fact.text for fact in rest] == ["Fact 2", "Fact 1", "Fact 0"]


async def test_page_of_one_kind(facts: Facts) -> None:
    told = NewFact(id=new_fact_id(), text="Answer in Italian", kind="instruction")
    await learn(facts, told, new("Ada likes tea"))
    page = await facts.page(SCOPE, kind="instruction")
    assert [fact.id for fact in page] == [told.id]
    assert await facts.page(SCOPE, kind="instruction", before=told.id) == []
    assert await facts.page(SCOPE, kind="event") == []


async def test_superseded_fact_stays_readable_and_is_not_found(facts: Facts) -> None:
    old = await learned(facts, "Ada lives in Turin", "Ada", attribute="home")
    moved = NewFact(id=new_fact_id(), text="Ada lives in Ulm", entities=("Ada",), supersedes=(old,))
    await learn(facts, moved)
    fact = await facts.get(SCOPE, old)
    assert (fact.state, fact.superseded_by, fact.text) == (
        "superseded",
        moved.id,
        "Ada lives in Turin",
    )
    assert await listed(facts) == await found(facts, "lives") == ["Ada lives in Ulm"]
    assert [fact.id for fact in await facts.about(SCOPE, "Ada", limit=5)] == [moved.id]
    with pytest.raises(Conflict, match="superseded"):
        await facts.edit(SCOPE, old, "Another")


async def test_confirmed_fact_gains_trust_and_counts_as_updated(
    facts: Facts, clock: FakeClock
) -> None:
    id = await learned(facts, "Ada likes tea")
    clock.advance(60)
    await facts.apply(SCOPE, "key", Learned(confirmed=(id, FactId("fct_unknown"))))
    fact = await facts.get(SCOPE, id)
    assert fact.trust == pytest.approx(0.6)  # pyright: ignore[reportUnknownMemberType]
    assert fact.updated_at == clock.now() == fact.created_at + 60_000


async def test_feedback_moves_trust_within_its_bounds(facts: Facts) -> None:
    id = await learned(facts, "Ada likes tea")
    assert (await facts.feedback(SCOPE, id, 0.25)).trust == 0.75
    assert (await facts.feedback(SCOPE, id, 0.5)).trust == 1.0
    assert (await facts.feedback(SCOPE, id, -2)).trust == 0.0


async def test_edited_fact_is_found_by_its_new_words_only(facts: Facts, clock: FakeClock) -> None:
    id = await learned(facts, "Ada likes tea", "Ada")
    clock.advance(1)
    edited = await facts.edit(SCOPE, id, "Ada prefers coffee")
    assert (edited.text, edited.trust, edited.updated_at) == (
        "Ada prefers coffee",
        1.0,
        clock.now(),
    )
    clock.advance(1)
    assert await facts.edit(SCOPE, id, "Ada prefers coffee") == edited
    assert await found(facts, "tea") == []
    assert await found(facts, "coffee") == await found(facts, "ada") == ["Ada prefers coffee"]


async def test_forgotten_fact_leaves_nothing_but_that_it_was_there(
    facts: Facts, clock: FakeClock
) -> None:
    kept = await learned(facts, "Ada likes tea", "Ada")
    id = await learned(facts, "Ada sees Dr Miller", "Ada", "Dr Miller", attribute="doctor")
    await facts.forget(SCOPE, id)
    fact = await facts.get(SCOPE, id)
    assert (fact.state, fact.text, fact.entities, fact.attribute) == ("forgotten", "", (), None)
    assert fact.forgotten_at == clock.now()
    assert await found(facts, "Miller") == []
    assert [fact.id for fact in await facts.page(SCOPE)] == [kept]
    assert await facts.entities(SCOPE, ["Dr Miller", "Ada"]) == [Entity("Ada")]
    clock.advance(1)
    await facts.forget(SCOPE, id)
    assert await facts.get(SCOPE, id) == fact
    with pytest.raises(Conflict, match="forgotten"):
        await facts.edit(SCOPE, id, "Back")


async def test_forgetting_a_fact_forgets_what_it_had_superseded(facts: Facts) -> None:
    first = await learned(facts, "Ada lives in Turin")
    second = NewFact(id=new_fact_id(), text="Ada lives in Ulm", supersedes=(first,))
    await learn(facts, second)
    third = NewFact(id=new_fact_id(), text="Ada lives in Bonn", supersedes=(second.id,))
    await learn(facts, third)
    await facts.forget(SCOPE, third.id)
    for id in (first, second.id, third.id):
        assert (await facts.get(SCOPE, id)).text == ""


async def test_entities_are_known_by_any_name_whatever_its_case(facts: Facts) -> None:
    met = Learned(
        entities=(Entity("Robert", ("Bob",)), Entity("Nobody", ("No one",))),
        additions=(new("Likes tea", "BOB", "robert"), new("Has a cat", " Rob  Roy ")),
    )
    await facts.apply(SCOPE, "key", met)
    await facts.apply(SCOPE, "later", Learned(entities=(Entity("bob", ("Bobby", "rob roy")),)))
    names = ["bobby", "Robert", "rob roy", "nobody", "unknown"]
    assert await facts.entities(SCOPE, names) == [
        Entity("Robert", ("Bob", "Bobby")),
        Entity("Rob Roy"),
    ]
    (about,) = await facts.about(SCOPE, "Bobby", limit=5)
    assert (about.text, about.entities) == ("Likes tea", ("Robert",))


async def test_blank_names_are_passed_over(facts: Facts) -> None:
    blank = Learned(
        entities=(Entity(" ", ("\x00",)), Entity("Ada", (" ",))),
        additions=(new("Ada likes tea", " ", "Ada", "\x00"),),
    )
    await facts.apply(SCOPE, "key", blank)
    assert (await facts.page(SCOPE))[0].entities == ("Ada",)
    assert await facts.entities(SCOPE, [" ", "", "ada"]) == [Entity("Ada")]


async def test_connecting_facts_name_all_of_the_entities(facts: Facts) -> None:
    await learned(facts, "Ada works with Bob", "Ada", "Bob")
    await learned(facts, "Ada and Bob met in Ulm", "Ada", "Bob", "Ulm")
    await learned(facts, "Bob was born in Ulm", "Bob", "Ulm")
    connected = await facts.connecting(SCOPE, ["bob", "Ada"], limit=5)
    assert [fact.text for fact in connected] == ["Ada and Bob met in Ulm", "Ada works with Bob"]
    assert len(await facts.connecting(SCOPE, ["Ada", "Ulm", "Bob"], limit=5)) == 1
    assert len(await facts.connecting(SCOPE, ["Ada", "Bob"], limit=1)) == 1
    assert await facts.connecting(SCOPE, ["Ada", "Rome"], limit=5) == []
    assert await facts.connecting(SCOPE, [], limit=5) == []
    assert await facts.about(SCOPE, "Rome", limit=5) == []


async def test_contradictions_are_of_one_entity_and_attribute(facts: Facts) -> None:
    older = await learned(facts, "Ada lives in Turin", "Ada", attribute="Home")
    newer = await learned(facts, "Ada lives in Ulm", "Ada", attribute="home")
    await learned(facts, "Bob lives in Ulm", "Bob", "Ada", attribute="home")
    await learned(facts, "Ada is a painter", "Ada", attribute="work")
    await learned(facts, "Ada likes Rome", "Ada")
    (found,) = await facts.contradictions(SCOPE, limit=5)
    assert (found.entity, found.attribute, found.older.id, found.newer.id) == (
        "Ada",
        "home",
        older,
        newer,
    )
    await facts.forget(SCOPE, older)
    assert await facts.contradictions(SCOPE, limit=5) == []


async def test_contradictions_are_bounded(facts: Facts) -> None:
    cities = [new(f"Ada lives in {n}", "Ada", attribute="home") for n in range(20)]
    await learn(facts, *cities)
    assert len(await facts.contradictions(SCOPE, limit=7)) == 7


async def test_withdrawn_session_takes_its_facts_along(
    ada: Driver, facts: Facts, session: SessionId
) -> None:
    other = await ada.session()

    def said(text: str, where: SessionId, *supersedes: FactId) -> NewFact:
        return NewFact(id=new_fact_id(), text=text, session=where, supersedes=supersedes)

    first = said("Ada lives in Turin", other)
    second = said("Ada lives in Ulm", session, first.id)
    third = said("Ada lives in Bonn", session, second.id)
    tea = said("Ada likes tea", other)
    coffee = said("Ada likes coffee", session, tea.id)
    cocoa = said("Ada likes cocoa", other, coffee.id)
    await learn(facts, first, second, third, tea, coffee, cocoa)
    assert await facts.withdraw(SCOPE, session) == 3
    assert await listed(facts) == ["Ada likes cocoa", "Ada lives in Turin"]
    assert (await facts.get(SCOPE, tea.id)).superseded_by == cocoa.id
    assert await found(facts, "Turin Ulm Bonn coffee") == ["Ada lives in Turin"]
    assert await facts.withdraw(SCOPE, session) == 0
    assert await facts.withdraw(SCOPE, SessionId("")) == 0


async def test_scopes_are_worlds_apart(facts: Facts) -> None:
    work = "builtin/work/ada"
    id = await learned(facts, "Ada likes tea", "Ada", attribute="drink")
    await learn(facts, new("Ada likes coffee", "Ada", attribute="drink"), scope=work)
    assert await found(facts, "likes") == ["Ada likes tea"]
    assert [fact.text for fact in await facts.about(work, "ada", limit=5)] == ["Ada likes coffee"]
    assert await facts.contradictions(SCOPE, limit=5) == []
    with pytest.raises(NotFound):
        await facts.get(work, id)
    usurper = NewFact(id=new_fact_id(), text="Mine", supersedes=(id,))
    await facts.apply(work, "key", Learned(additions=(usurper,), confirmed=(id,)))
    assert (await facts.get(SCOPE, id)).state == "live"
    assert (await facts.get(SCOPE, id)).trust == 0.5


async def test_what_is_too_much_is_refused(facts: Facts) -> None:
    id = await learned(facts, "Ada likes tea")
    for text in ("", "  ", "x" * (LONGEST + 1)):
        with pytest.raises(InvalidInput):
            await learn(facts, new(text))
        with pytest.raises(InvalidInput):
            await facts.edit(SCOPE, id, text)
    with pytest.raises(InvalidInput):
        await learn(facts, new("Hello", "x" * 300))
    with pytest.raises(InvalidInput):
        await learn(facts, new("Hello", *[f"E{n}" for n in range(100)]))
    for limit in (0, PAGE + 1):
        with pytest.raises(InvalidInput):
            await facts.page(SCOPE, limit=limit)
        with pytest.raises(InvalidInput):
            await facts.search(SCOPE, "tea", limit=limit)
