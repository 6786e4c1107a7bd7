"""Memory over HTTP: what is on its way there, and what Roost remembers of whoever asks."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roost.core.clock import SystemClock
from roost.core.config import MemoryConfig
from roost.core.errors import MemoryFailed
from roost.core.facts import Learned, NewFact
from roost.core.ids import new_fact_id
from roost.core.settings import ScopeName
from roost.memory.base import MemoryProvider, Scope
from roost.memory.builtin import Builtin
from roost.memory.ports import Inquiry
from roost.testing.models import ModelServer
from tests.engine import config_for
from tests.memories import ScriptedMemory
from tests.unit.http.served import Client, Served, started

FACTS = "/api/memory/facts"


async def _nothing_new(inquiry: Inquiry) -> str:
    return '{"facts":[],"entities":[]}'


@pytest.fixture
async def served(folder: Path, server: ModelServer) -> AsyncGenerator[Served]:
    """Remembered by Roost itself."""
    served = Served(folder, server)
    memory = Builtin(
        lambda user: served.engine.store.of(user).facts, _nothing_new, clock=SystemClock()
    )
    served.engine.memories = {"builtin": memory}
    async with started(served) as served:
        yield served


@pytest.fixture
def scripted() -> ScriptedMemory:
    return ScriptedMemory()


@pytest.fixture
async def elsewhere(
    folder: Path, server: ModelServer, scripted: ScriptedMemory
) -> AsyncGenerator[Served]:
    """Remembered by another provider."""
    async with started(_kept_by(folder, server, "scripted", {"scripted": scripted})) as served:
        yield served


def _kept_by(
    folder: Path, server: ModelServer, provider: str, memories: dict[str, MemoryProvider]
) -> Served:
    config = msgspec.structs.replace(
        config_for(folder, server), memory=MemoryConfig(provider=ScopeName(provider))
    )
    served = Served(folder, server, config=config)
    served.engine.memories = memories
    return served


async def remember(client: Client, text: str, **more: object) -> dict[str, Any]:
    status, fact = await client.post(FACTS, {"text": text, **more})
    assert status == 201, fact
    return fact


async def texts(client: Client, query: str = "") -> list[str]:
    return [fact["text"] for fact in (await client.get(FACTS + query))["facts"]]


async def test_something_is_remembered_edited_rated_and_forgotten(browser: Client) -> None:
    fact = await remember(browser, "Ada keeps owls.", kind="fact", entities=["Ada"])
    assert (fact["entities"], fact["session"], fact["superseded_by"]) == (["Ada"], None, None)
    path = f"{FACTS}/{fact['id']}"
    status, edited = await browser.ask("PATCH", path, {"text": "Ada keeps herons."})
    assert (status, edited["text"], edited["trust"]) == (200, "Ada keeps herons.", 1.0)
    status, rated = await browser.post(f"{path}/rate", {"helpful": False})
    assert (status, rated["trust"]) == (200, 0.8)
    assert (await browser.get(path))["text"] == "Ada keeps herons."
    assert await browser.ask("DELETE", path) == (204, None)
    assert await texts(browser) == []
    assert (await browser.get(path))["forgotten_at"] is not None


async def test_list_goes_on_where_a_page_ended(browser: Client) -> None:
    names = ["Wren", "Heron", "Owl", "Kestrel", "Swift"]
    for name in names:
        await remember(browser, f"There is a {name}.", entities=[name])
    first = (await browser.get(f"{FACTS}?limit=3"))["facts"]
    second = (await browser.get(f"{FACTS}?limit=3&before={first[-1]['id']}"))["facts"]
    assert [fact["entities"][0] for fact in (*first, *second)] == names[::-1]


async def test_memories_are_found_by_words_by_kind_and_by_what_they_are_about(
    browser: Client,
) -> None:
    await remember(browser, "Ada keeps owls.", entities=["Ada"])
    await remember(browser, "Answer in German.", kind="instruction")
    assert await texts(browser, "?words=owls") == ["Ada keeps owls."]
    assert await texts(browser, "?about=ada") == ["Ada keeps owls."]
    assert await texts(browser, "?kind=instruction") == ["Answer in German."]
    status, _ = await browser.ask("GET", f"{FACTS}?words=owls&about=ada")
    assert status == 400


async def test_page_after_a_memory_that_is_not_there_is_a_problem(browser: Client) -> None:
    status, problem = await browser.ask("GET", f"{FACTS}?before={new_fact_id()}")
    assert (status, problem["type"]) == (400, "urn:roost:invalid-input")


async def test_what_is_replaced_no_longer_holds(browser: Client) -> None:
    old = await remember(browser, "Ada lives in Bern.", entities=["Ada"])
    new = await remember(browser, "Ada lives in Chur.", entities=["Ada"], replaces=[old["id"]])
    assert await texts(browser) == ["Ada lives in Chur."]
    assert (await browser.get(f"{FACTS}/{old['id']}"))["superseded_by"] == new["id"]
    assert (await browser.get("/api/memory/contradictions"))["contradictions"] == []


async def test_same_key_again_remembers_once(browser: Client) -> None:
    key = {"Idempotency-Key": "once"}
    body = {"text": "Ada keeps owls."}
    _, first = await browser.post(FACTS, body, headers=key)
    assert await browser.post(FACTS, body, headers=key) == (201, first)
    assert await texts(browser) == ["Ada keeps owls."]


async def test_text_that_is_none_or_too_long_is_refused(browser: Client) -> None:
    for text in ("", "  ", "x" * 501):
        assert (await browser.post(FACTS, {"text": text}))[0] == 400


async def test_memories_are_their_users_alone(served: Served, browser: Client) -> None:
    fact = await remember(browser, "Ada keeps owls.")
    other = await served.identities.people.create("wren")
    async with served.browser(other.id) as stranger:
        assert await texts(stranger) == []
        assert await texts(stranger, "?words=owls") == []
        path = f"{FACTS}/{fact['id']}"
        assert (await stranger.ask("GET", path))[0] == 404
        assert (await stranger.ask("PATCH", path, {"text": "No."}))[0] == 404
        assert (await stranger.ask("DELETE", path))[0] == 404
        assert (await stranger.post(f"{path}/rate", {"helpful": False}))[0] == 404
        assert (await stranger.post(FACTS, {"text": "So.", "replaces": [fact["id"]]}))[0] == 404
    assert await texts(browser) == ["Ada keeps owls."]


async def test_reading_token_changes_nothing(served: Served, browser: Client) -> None:
    await remember(browser, "Ada keeps owls.")
    async with served.program("read") as program:
        assert await texts(program) == ["Ada keeps owls."]
        assert (await program.post(FACTS, {"text": "So."}))[0] == 403


@pytest.mark.contract("C13")
async def test_session_is_committed_when_asked_for(
    elsewhere: Served, scripted: ScriptedMemory
) -> None:
    async with elsewhere.browser() as browser:
        session = await browser.session()
        path = f"/api/sessions/{session}/memory"
        assert await browser.get(path) == {"uncommitted": False}
        assert (await browser.post(f"{path}/commit"))[1]["outcome"] == "nothing"
        await elsewhere.engine.say(session)
        assert await browser.get(path) == {"uncommitted": True}
        committed = {"outcome": "committed", "turns": 1, "detail": None}
        assert await browser.post(f"{path}/commit") == (200, committed)
        assert await browser.get(path) == {"uncommitted": False}
        assert len(scripted.kept) == 1


@pytest.mark.contract("C6")
async def test_failures_are_seen_and_tried_again_when_asked_for(
    elsewhere: Served, scripted: ScriptedMemory
) -> None:
    scripted.failures.append(MemoryFailed("the disk is full", provider="scripted"))
    async with elsewhere.browser() as browser:
        session = await browser.session()
        await elsewhere.engine.say(session)
        _, failed = await browser.post(f"/api/sessions/{session}/memory/commit")
        assert failed["outcome"] == "failed"
        assert "the disk is full" in failed["detail"]
        status = await browser.get("/api/memory")
        assert (status["provider"], status["pending"], status["failing"]) == ("scripted", 1, 1)
        assert "the disk is full" in status["error"]
        assert await browser.post("/api/memory/retry") == (200, {"retried": 1})
        assert await browser.post("/api/memory/drop") == (200, {"dropped": []})


async def test_other_providers_memory_is_not_shown_here(elsewhere: Served) -> None:
    async with elsewhere.browser() as browser:
        assert (await browser.get("/api/memory"))["open"] is False
        status, problem = await browser.ask("GET", FACTS)
        assert (status, problem["detail"]) == (
            400,
            "What is remembered is kept by scripted: it can be seen and changed there.",
        )
        assert (await browser.post(FACTS, {"text": "So."}))[0] == 400


async def test_without_a_memory_it_says_so(folder: Path, server: ModelServer) -> None:
    async with (
        started(_kept_by(folder, server, "none", {})) as served,
        served.browser() as browser,
    ):
        assert (await browser.get("/api/memory"))["provider"] == "none"
        status, problem = await browser.ask("GET", FACTS)
        assert (status, problem["detail"]) == (
            400,
            "Nothing is remembered here: there is no memory that can learn.",
        )


async def test_foreign_session_is_not_committed(served: Served, browser: Client) -> None:
    session = await browser.session()
    other = await served.identities.people.create("wren")
    async with served.browser(other.id) as stranger:
        path = f"/api/sessions/{session}/memory"
        assert (await stranger.ask("GET", path))[0] == 404
        assert (await stranger.post(f"{path}/commit"))[0] == 404


async def test_what_a_session_taught_is_listed(served: Served, browser: Client) -> None:
    session, other = await browser.session(), await browser.session()
    facts = served.engine.store.of(served.engine.owner.id).facts
    scope = str(Scope("builtin", served.engine.config.memory.profile, served.engine.owner.id))
    taught = [
        NewFact(id=new_fact_id(), text=f"Fact {n}", session=session if n else other)
        for n in range(4)
    ]
    await facts.apply(scope, "key", Learned(additions=tuple(taught)))
    ids = [each.id for each in taught[1:]][::-1]
    path = f"{FACTS}?session={session}"
    assert [each["id"] for each in (await browser.get(path))["facts"]] == ids
    after = (await browser.get(f"{path}&before={ids[0]}&limit=1"))["facts"]
    assert [each["id"] for each in after] == ids[1:2]
    assert (await browser.ask("GET", f"{path}&words=Fact"))[0] == 400
