"""What a turn may still take, from what was spent before it."""

from functools import partial

from msgspec.structs import replace

from roost.agent.budget import Budget, Spent
from roost.core.config import LimitsConfig
from roost.core.ids import SessionId
from roost.core.sessions import Session
from roost.core.turns import Turn
from roost.runtime.persistence import persisted
from roost.store.store import UserStore
from roost.store.usage import Spent as Used
from roost.store.work import Claimed


async def budget_of(
    store: UserStore, claimed: Claimed, limits: LimitsConfig, *, within: Budget | None
) -> Budget:
    """What a session's subagents used is the session's. While one works, its own turn is `within`
    its caller's."""
    turn, day, session, before, steps = claimed.turn, Spent(), Spent(), Spent(), 0
    limits, today = await _capped(store, limits), None
    # What has no limit need not be known: this stands before the first word.
    if limits.day_tokens is not None or limits.day_cost is not None:
        today = partial(_today, store)
        day = await today()
    if limits.session_tokens is not None or limits.session_cost is not None:
        session = await _by_session(store, claimed.session)
    if turn.state != "queued":
        before = await _by_turn(store, turn)
        # One that was parked has asked the model in this step; one that broke off asks again.
        steps = turn.step if turn.state == "waiting" else turn.step - 1
    return Budget(
        limits, session=session, day=day, turn=before, steps=steps, within=within, today=today
    )


async def check_limits(store: UserStore, session: Session | None, limits: LimitsConfig) -> None:
    """For what is done outside turns: raises `Budget` if the user's day, or the session, has taken
    all that it may."""
    day, spent = Spent(), Spent()
    limits = await _capped(store, limits)
    if limits.day_tokens is not None or limits.day_cost is not None:
        day = await _today(store)
    if session is not None and (limits.session_tokens, limits.session_cost) != (None, None):
        spent = await _by_session(store, session)
    Budget(limits, session=spent, day=day).check()


async def _capped(store: UserStore, limits: LimitsConfig) -> LimitsConfig:
    """The server's limits with the user's own, of which the smaller counts."""
    caps = await persisted(store.caps.get)
    return replace(
        limits,
        day_tokens=_smaller(limits.day_tokens, caps.day_tokens),
        day_cost=_smaller(limits.day_cost, caps.day_cost),
    )


def _smaller(one: float | None, other: float | None) -> float | None:
    return min([each for each in (one, other) if each is not None], default=None)


async def _today(store: UserStore) -> Spent:
    return _spent(await persisted(store.usage.today))


async def _by_session(store: UserStore, session: Session) -> Spent:
    counters = session.counters
    own = Spent(counters.input_tokens + counters.output_tokens, counters.cost)
    return _plus(own, await _by_subagents(store, session.id, since=0))


async def _by_turn(store: UserStore, turn: Turn) -> Spent:
    """Turns of a session run one at a time: whoever was called since it began works for it."""
    own = _spent(await persisted(partial(store.usage.of_turn, turn.id)))
    since = turn.started_at or turn.created_at
    return _plus(own, await _by_subagents(store, turn.session, since=since))


async def _by_subagents(store: UserStore, session: SessionId, *, since: int) -> Spent:
    return _spent(await persisted(partial(store.usage.of_subagents, session, since=since)))


def _spent(used: Used) -> Spent:
    return Spent(used.tokens, used.cost)


def _plus(one: Spent, other: Spent) -> Spent:
    return Spent(one.tokens + other.tokens, one.cost + other.cost)
