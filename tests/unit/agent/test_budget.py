"""Limits: what counts, when they bite, and what is said."""

from datetime import timedelta

import msgspec
import pytest

from roost.agent.budget import Budget, Spent
from roost.core import errors
from roost.core.config import LimitsConfig
from roost.core.settings import Count, Money
from roost.core.usage import NANO, Usage


def limited(name: str, limit: float) -> LimitsConfig:
    return msgspec.convert({name: limit}, LimitsConfig)


def used(tokens: int = 10, cost: int | None = 0) -> Usage:
    return Usage("p", "m", input_tokens=tokens - 1, output_tokens=1, cost=cost)


def test_steps_are_counted() -> None:
    budget = Budget(LimitsConfig(turn_steps=Count(2)))
    budget.begin_step()
    budget.begin_step()
    with pytest.raises(errors.Budget, match=r"2 steps.*limits\.turn_steps"):
        budget.begin_step()


@pytest.mark.parametrize("name", ["turn", "session", "day"])
def test_tokens_of_a_turn_a_session_and_a_day_are_limited(name: str) -> None:
    budget = Budget(limited(f"{name}_tokens", 20))
    budget.begin_step()
    budget.add(used(10))
    budget.begin_step()
    budget.add(used(10))
    with pytest.raises(errors.Budget, match=f"limits.{name}_tokens"):
        budget.begin_step()


@pytest.mark.parametrize("name", ["turn", "session", "day"])
def test_costs_are_limited_in_dollars(name: str) -> None:
    budget = Budget(limited(f"{name}_cost", 0.5))
    budget.add(used(cost=NANO // 2 - 1))
    budget.begin_step()
    budget.add(used(cost=1))
    with pytest.raises(errors.Budget, match=rf"\$0.50.*limits.{name}_cost"):
        budget.begin_step()


def test_what_was_spent_before_the_turn_counts() -> None:
    limits = LimitsConfig(session_cost=Money(1.0), day_tokens=Count(100))
    with pytest.raises(errors.Budget, match="session_cost"):
        Budget(limits, session=Spent(0, NANO)).begin_step()
    with pytest.raises(errors.Budget, match="day_tokens"):
        Budget(limits, day=Spent(100, 0)).begin_step()
    Budget(limits, session=Spent(1000, 0), day=Spent(0, 5 * NANO)).begin_step()


def test_answer_may_take_no_more_tokens_than_are_left() -> None:
    assert Budget(LimitsConfig()).output_left() is None
    limits = LimitsConfig(turn_tokens=Count(100), day_tokens=Count(50))
    budget = Budget(limits, day=Spent(20, 0))
    assert budget.output_left() == 30
    budget.add(used(29))
    assert budget.output_left() == 1


async def test_what_other_turns_spend_meanwhile_counts_for_the_day() -> None:
    spent = Spent(60, 0)

    async def today() -> Spent:
        return spent

    budget = Budget(LimitsConfig(day_tokens=Count(100)), day=spent, today=today)
    await budget.look()
    budget.begin_step()
    spent = Spent(100, 0)
    await budget.look()
    with pytest.raises(errors.Budget, match="day_tokens"):
        budget.begin_step()


def test_time_runs_out() -> None:
    now = 100.0
    budget = Budget(LimitsConfig(turn_time=timedelta(minutes=2)), clock=lambda: now)
    assert budget.seconds_left() == 120
    now = 230.0
    assert budget.seconds_left() == 0
    assert "2 minutes" in str(budget.out_of_time())


def test_what_a_subagent_spends_is_spent_by_its_caller() -> None:
    caller = Budget(LimitsConfig(turn_tokens=Count(100)), turn=Spent(50, 0))
    one, other = Budget(LimitsConfig(), within=caller), Budget(LimitsConfig(), within=caller)
    one.begin_step()
    assert one.output_left() == 50
    one.add(used(30))
    assert other.output_left() == 20
    one.add(used(20))
    for budget in (one, other, caller):
        with pytest.raises(errors.Budget, match="turn_tokens"):
            budget.begin_step()


def test_subagent_has_no_more_time_than_its_caller() -> None:
    now = 0.0
    caller = Budget(LimitsConfig(turn_time=timedelta(minutes=2)), clock=lambda: now)
    now = 100.0
    mine = LimitsConfig(turn_time=timedelta(minutes=1))
    assert Budget(mine, within=caller, clock=lambda: now).seconds_left() == 20
