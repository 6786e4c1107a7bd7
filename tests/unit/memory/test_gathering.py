"""What a segment comes to, when its facts meet one another and what is known."""

import msgspec

from roost.core.facts import Entity, Fact
from roost.core.ids import FactId
from roost.memory.extraction import Named, Stated
from roost.memory.gathering import Gathering
from tests.unit.memory.remembering import segment


def known(id: str, text: str, **values: object) -> Fact:
    fact = Fact(
        id=FactId(id),
        text=text,
        kind="fact",
        entities=("Ada",),
        attribute="home",
        trust=0.5,
        session=None,
        turn=None,
        created_at=0,
        updated_at=0,
    )
    return msgspec.structs.replace(fact, **values)


PARIS = known("fct_paris", "Ada lives in Paris.")


def gathered() -> Gathering:
    return Gathering(segment("seg_1", "One.", "Two."))


def lives_in(town: str, turn: int = 1) -> Stated:
    return Stated(f"Ada lives in {town}.", turn, about=("Ada", town), attribute="home")


def test_repeats_are_confirmed_once() -> None:
    gathering = Gathering(segment("seg_1", "Ada still lives in Paris."))
    gathering.take(Stated("Paris!", 1, repeats=1), [PARIS])
    gathering.take(lives_in("Paris"), [PARIS])
    assert gathering.learned().additions == ()
    assert gathering.learned().confirmed == (PARIS.id,)


def test_only_the_words_of_the_turn_itself_confirm() -> None:
    gathering = Gathering(segment("seg_1", "Ada still lives in Paris.", "And now?"))
    gathering.take(Stated("Paris!", 2, repeats=1), [PARIS])
    assert gathering.learned().confirmed == ()
    gathering.take(Stated("Paris!", 1, repeats=1), [PARIS])
    assert gathering.learned().confirmed == (PARIS.id,)


def test_what_is_superseded_is_not_confirmed() -> None:
    gathering = gathered()
    gathering.take(lives_in("Paris"), [PARIS])
    gathering.take(lives_in("Rome", turn=2), [PARIS])
    (rome,) = gathering.learned().additions
    assert rome.supersedes == (PARIS.id,)
    assert gathering.learned().confirmed == ()


def test_same_words_that_replace_something_take_the_place_of_both() -> None:
    gathering = gathered()
    rome = known("fct_rome", "Ada lives in Rome.")
    gathering.take(Stated("Ada lives in Paris.", 1, about=("Ada",), replaces=(2,)), [PARIS, rome])
    (paris,) = gathering.learned().additions
    assert set(paris.supersedes) == {PARIS.id, rome.id}


def test_what_is_trusted_more_stays() -> None:
    gathering = gathered()
    sure = known("fct_sure", "Ada lives in Paris.", trust=0.6)
    gathering.take(lives_in("Rome"), [sure])
    (rome,) = gathering.learned().additions
    assert rome.supersedes == ()


def test_another_entity_with_the_same_attribute_is_no_rival() -> None:
    gathering = gathered()
    bob = known("fct_bob", "Bob lives in Paris with Ada.", entities=("Bob", "Ada"))
    gathering.take(lives_in("Rome"), [bob])
    assert gathering.learned().additions[0].supersedes == ()


def test_attribute_of_nothing_is_none() -> None:
    gathering = gathered()
    gathering.take(Stated("It rains.", 1, attribute="weather"), [])
    gathering.meet(Named("Ada", ("Countess",)))
    assert gathering.learned().additions[0].attribute is None
    assert gathering.learned().entities == (Entity("Ada", ("Countess",)),)
