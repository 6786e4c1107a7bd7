"""Metrics: what was counted, how things stand, and who may know."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from yarl import URL

from roost.core.config import MemoryConfig
from roost.core.happenings import ModelCalled
from roost.core.settings import ScopeName
from roost.runtime.metrics import MOST_NAMES
from roost.testing.models import ModelServer, call, fail, say, stall, use
from tests.engine import ASKS, ECHO, FunctionTool, config_for, eventually
from tests.memories import ScriptedMemory
from tests.unit.http.served import Client, Served, started

Labels = dict[str, str]


@pytest.fixture
def memory() -> ScriptedMemory:
    return ScriptedMemory()


@pytest.fixture
async def served(
    folder: Path, server: ModelServer, memory: ScriptedMemory
) -> AsyncGenerator[Served]:
    async def sure(arguments: str, context: object) -> str:
        return "yes"

    scripted = MemoryConfig(provider=ScopeName("scripted"), grace=timedelta(seconds=1))
    config = msgspec.structs.replace(config_for(folder, server), memory=scripted)
    tools = (ECHO, FunctionTool("careful", sure, asks=ASKS))
    served = Served(folder, server, config=config, tools=tools)
    served.engine.memories = {"scripted": memory}
    async with started(served) as served:
        yield served


@pytest.fixture
async def prometheus(served: Served) -> AsyncGenerator[Client]:
    async with served.program("metrics") as client:
        yield client


async def scraped(client: Client) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    url = client.served.url.join(URL("/metrics"))
    async with client.connections.get(url) as response:
        assert response.status == 200
        assert response.headers["content-type"].startswith("text/plain; version=")
        text = await response.text()
    families = text_string_to_metric_families(text)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


async def value(client: Client, name: str, **labels: str) -> float:
    return (await scraped(client)).get((name, frozenset(labels.items())), 0.0)


MODEL = {"provider": "test", "model": "model"}


async def test_turns_tokens_and_models_are_counted(
    served: Served, prometheus: Client, server: ModelServer
) -> None:
    used = use(input_tokens=100, cached_tokens=60, output_tokens=7)
    server.plan(say("Good day.") + used, fail("bad_request"))
    session = await served.engine.session()
    await served.engine.say(session)
    await served.engine.say(session)

    async def both_are_counted() -> bool:
        return await value(prometheus, "roost_turn_seconds_count") == 2

    await eventually(both_are_counted)
    found = await scraped(prometheus)

    def read(name: str, **labels: str) -> float:
        return found.get((name, frozenset(labels.items())), 0.0)

    assert read("roost_turns_total", state="completed") == 1
    assert read("roost_turns_total", state="failed") == 1
    assert read("roost_turn_seconds_count") == 2
    assert read("roost_tokens_total", **MODEL, kind="input") == 100
    assert read("roost_tokens_total", **MODEL, kind="cached") == 60
    assert read("roost_tokens_total", **MODEL, kind="output") == 7
    assert read("roost_model_calls_total", **MODEL, outcome="answered") == 1
    assert read("roost_model_calls_total", **MODEL, outcome="request-refused") == 1
    assert read("roost_model_first_token_seconds_count", **MODEL) == 1
    assert read("roost_agent_cache_misses_total") == 1
    assert read("roost_agent_cache_hits_total") == 1
    assert read("roost_agents", state="idle") == 1
    assert read("roost_store_commit_seconds_count") > 0
    assert read("roost_store_commit_operations_sum") >= read("roost_store_commit_seconds_count")
    assert read("process_resident_memory_bytes") > 0


async def test_tools_are_counted_by_how_they_ended(
    served: Served, prometheus: Client, server: ModelServer
) -> None:
    server.plan(call("echo", {"text": "a"}) + call("made_up", {"text": "b"}), say("Done."))
    await served.engine.say(await served.engine.session())
    found = await scraped(prometheus)
    tools = {key[1]: value for key, value in found.items() if key[0] == "roost_tool_calls_total"}
    assert tools == {
        frozenset({("tool", "echo"), ("state", "done")}): 1,
        frozenset({("tool", "unknown"), ("state", "failed")}): 1,
    }


async def test_what_is_under_way_is_seen(
    served: Served, browser: Client, prometheus: Client, server: ModelServer
) -> None:
    server.plan(say("Half an ans") + stall())
    session = await served.engine.session()
    first = await served.engine.account.send(session, "One")
    await served.engine.streamed(session, "Half an ans")
    await served.engine.account.send(session, "Two")
    await served.engine.parts.checkpoints.flush()
    async with browser.events("/api/events") as feed:
        await anext(feed)
        found = await scraped(prometheus)

    def read(name: str, **labels: str) -> float:
        return found[name, frozenset(labels.items())]

    assert (read("roost_turns_running"), read("roost_turns_queued")) == (1, 1)
    assert (read("roost_leases_held"), read("roost_agents", state="busy")) == (1, 1)
    assert read("roost_streams_open", kind="feed") == 1
    assert read("roost_checkpoint_seconds_count") >= 1
    assert read("roost_checkpoint_deltas_sum") >= 1
    server.release()
    await served.engine.ended(first.id)


async def test_questions_and_parked_turns_are_seen(
    served: Served, prometheus: Client, server: ModelServer
) -> None:
    server.plan(call("careful", {"text": "a"}))
    session = await served.engine.session()
    turn = await served.engine.account.send(session, "Go")
    await served.engine.reached(turn.id, "waiting")
    assert await value(prometheus, "roost_approvals_pending") == 1
    assert await value(prometheus, "roost_turns_parked") == 1


@pytest.mark.contract("C6")
async def test_failures_of_memory_are_seen(
    served: Served, prometheus: Client, memory: ScriptedMemory
) -> None:
    memory.fail(1)
    session = await served.engine.session()
    await served.engine.say(session)
    assert await value(prometheus, "roost_memory_turns_marked") == 1
    await served.engine.account.memory.commit(session)
    assert await value(prometheus, "roost_memory_commits_total", outcome="failed") == 1
    assert await value(prometheus, "roost_memory_segments", state="failing") == 1
    await served.engine.account.memory.commit(session)
    assert await value(prometheus, "roost_memory_commits_total", outcome="committed") == 1
    assert await value(prometheus, "roost_memory_segments", state="failing") == 0


async def test_only_admins_see_them(served: Served) -> None:
    admin = await served.identities.people.create("wren", role="admin")
    async with (
        served.stranger() as stranger,
        served.program("chat") as chatting,
        served.program("metrics", user=admin.id) as demoted,
        served.program("admin") as seeing_to_all,
    ):
        assert (await stranger.ask("GET", "/metrics"))[0] == 401
        assert (await chatting.ask("GET", "/metrics"))[0] == 403
        await scraped(demoted)
        await scraped(seeing_to_all)
        await served.identities.people.set_role(admin.id, "member")
        assert (await demoted.ask("GET", "/metrics"))[0] == 403


async def test_token_for_metrics_reads_nothing_else(served: Served, prometheus: Client) -> None:
    for path in ("/api/me", "/api/sessions", "/api/users", "/api/tokens", "/v1/models"):
        assert (await prometheus.ask("GET", path))[0] == 403, path


async def test_member_gets_no_token_for_metrics(served: Served, browser: Client) -> None:
    bob = await served.identities.people.create("Bob")
    wanted = {"name": "prometheus", "scopes": ["metrics"]}
    assert (await browser.post(f"/api/users/{bob.id}/tokens", wanted))[0] == 403
    async with served.browser(bob.id) as him:
        assert (await him.post("/api/tokens", wanted))[0] == 403


async def test_names_that_anyone_may_make_up_do_not_pile_up(
    served: Served, prometheus: Client
) -> None:
    for number in range(MOST_NAMES + 50):
        served.engine.parts.metrics.happened(
            ModelCalled(
                provider="test",
                model=f"made-up-{number}",
                outcome="model-unknown",
                began_at=0,
                seconds=0.1,
            )
        )
    found = await scraped(prometheus)
    calls = [key for key in found if key[0] == "roost_model_calls_total"]
    assert len(calls) == MOST_NAMES + 1
    other = {"provider": "other", "model": "other", "outcome": "model-unknown"}
    assert await value(prometheus, "roost_model_calls_total", **other) == 50
