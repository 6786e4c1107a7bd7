"""Compaction: what it costs to see that none is needed, and to make one without asking a model."""

from pathlib import Path

import uvloop

from bench.engine.rig import PROVIDER, Rig, opened, paced
from bench.report import Figure, at_most
from bench.timing import Samples
from roost.core.ids import SessionId, new_message_id, new_tool_call_id, new_turn_id
from roost.core.messages import Draft, TextPart, ToolCallPart, ToolResultPart
from roost.core.turns import NewTurn, Step, TurnEnd
from roost.llm.base import Request
from roost.llm.tokens import Size

MESSAGES = 1000
ROUNDS = 20
LOOKS = 200
WINDOW = 250_000
RESULT = "line of output\n" * 200


def measure(folder: Path) -> list[Figure]:
    with paced() as url:
        return uvloop.run(_measure(folder, url))


async def _measure(folder: Path, url: str) -> list[Figure]:
    async with opened(folder, url, context=WINDOW) as rig:
        session = await rig.session("quick-50")
        await rig.say(session)  # from now on it has a prompt
        await _fill(rig, session)
        return [await _deciding(rig, session), await _compacting(rig, session)]


async def _fill(rig: Rig, session: SessionId) -> None:
    """Turns of four messages, each with a long result of a tool."""
    store = rig.parts.store.of(rig.user)
    async with rig.parts.turns.held(session) as lease:
        for _ in range(MESSAGES // 4):
            turn, call = new_turn_id(), new_tool_call_id()
            words = (TextPart("What does it say?"),)
            await store.queue.submit(session, NewTurn(id=turn, parts=words))
            message = Draft(new_message_id(), "user", words)
            await store.turns.start(session, lease.token, turn, message)
            asks = Draft(new_message_id(), "assistant", (ToolCallPart(call, "read", "{}"),))
            await store.turns.append(
                session, lease.token, turn, Step(messages=(asks,), unfinished=True)
            )
            result = ToolResultPart(call, (TextPart(RESULT),))
            told = Draft(new_message_id(), "tool", (result,))
            await store.turns.append(session, lease.token, turn, Step(messages=(told,)))
            said = Draft(new_message_id(), "assistant", (TextPart("It says a lot. " * 20),))
            end = TurnEnd(state="completed", messages=(said,), release=False)
            await store.turns.end(session, lease.token, turn, end)


async def _deciding(rig: Rig, session: SessionId) -> Figure:
    """As an agent does it before each step: the size of its messages is known."""
    target = rig.parts.builder.plan_for(f"{PROVIDER}/quick-50").target
    compactor, model = rig.parts.builder.compactor(target), rig.parts.builder.model(target)
    request = await rig.request(session)
    size = model.measure(request.messages)
    looks = Samples()
    for _ in range(LOOKS):
        looks.time(lambda: compactor.is_due(request, size))
    return Figure(
        name=f"seeing that {MESSAGES:,} messages need no compaction, p50",
        value=looks.p50,
        unit="ms",
        target=at_most(0.2),
    )


async def _compacting(rig: Rig, session: SessionId) -> Figure:
    """As a turn does it between two steps: old results are cut down, in one commit."""
    made, loads = Samples(), Samples()
    history = rig.parts.store.of(rig.user).history
    target = rig.parts.builder.plan_for(f"{PROVIDER}/quick-50").target
    compactor = rig.parts.builder.compactor(target)

    async def compact(request: Request, epoch: int, size: Size) -> None:
        compaction = await compactor.make(
            request, epoch, trigger="turn", began=lambda: None, spent=[], measured=size
        )
        assert compaction is not None
        assert not compaction.usage, "a model was asked"
        async with rig.parts.turns.held(session) as lease:
            await history.compact(session, lease.token, compaction)

    for _ in range(ROUNDS):
        await loads.wait(history.load(session))
        epoch = (await rig.account.session(session)).epoch
        request = await rig.request(session)
        size = rig.parts.builder.model(target).measure(request.messages)
        await made.wait(compact(request, epoch, size))
        await rig.account.history.restore(session)
    return Figure(
        name=f"compacting {MESSAGES:,} messages, without a model, p50",
        value=made.p50,
        unit="ms",
        limit=loads.p50,
        against="reading them",
        target=at_most(50),
    )
