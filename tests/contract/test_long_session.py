"""A session of 5,000 messages through 20 compactions: nothing is lost, the prompt stays small."""

from pathlib import Path

import msgspec
import pytest

from roost.core.clock import SystemClock
from roost.core.config import Config, ProviderConfig
from roost.core.ids import SessionId
from roost.core.settings import BaseUrl, Count
from roost.store.search import SearchFilter
from roost.testing.models import ModelRequest, ModelServer, Reply, call, say
from tests.engine import Engine, config_for, eventually, started

TURNS = 1250
"""Of four messages each."""
WINDOW = 24_000


def config_of(folder: Path, server: ModelServer) -> Config:
    config = config_for(folder, server)
    url, context = BaseUrl(server.openai_url), Count(WINDOW)
    test = ProviderConfig(vendor="compatible", base_url=url, models=("model",), context=context)
    return msgspec.structs.replace(config, providers={**config.providers, "test": test})


def answer(request: ModelRequest) -> Reply:
    if request.model == "small":
        return say("# Facts\n" + "Counted so far. " * 20, size=0)
    if "Question" in request.last_text:
        return call("echo", {"text": "result " * 60})
    return say("An answer. " + "word " * 60, size=0)


@pytest.mark.contract("A4", "B5")
@pytest.mark.timeout(600)
async def test_long_session_stays_whole_and_fits(folder: Path, server: ModelServer) -> None:
    server.otherwise(answer)
    config = config_of(folder, server)
    async with started(Engine(folder, server, clock=SystemClock(), config=config)) as engine:
        session = await engine.session()
        for number in range(TURNS):
            turn = await engine.say(session, f"Question {number} of {TURNS}.")
            assert turn.state == "completed", turn.reason
        rewrites = await engine.account.history.rewrites(session)
        assert len(rewrites) >= 20
        await _is_whole(engine, session)
    asked = [request for request in server.requests if request.model == "model"]
    assert max([request.cache.prompt_tokens for request in asked]) < WINDOW * 0.85
    missed = [request for request in asked[1:] if not request.cache.complete]
    assert len(missed) <= len(rewrites)


async def _is_whole(engine: Engine, session: SessionId) -> None:
    exported = await engine.store.of(engine.owner.id).transfer.export(session)
    for number in range(TURNS):
        assert f"Question {number} of {TURNS}.".encode() in exported

    async def found() -> bool:
        where = SearchFilter(session=session)
        return all([await engine.account.search(f'"Question {n}"', where) for n in (0, 600, 1249)])

    assert await eventually(found)
    turns = await engine.account.turns(session)
    assert len(turns) == TURNS
