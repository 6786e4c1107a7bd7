"""`roost usage`: what was used in the last days, and what it cost."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

from rich.console import Console

from roost.cli.chat.words import one_line
from roost.cli.reach import Reached, Work
from roost.cli.settings import count
from roost.cli.tables import print_table
from roost.core.amounts import amount
from roost.core.usage import NANO
from roost.store.usage import Used, UsedOnDay

Days = Annotated[int, count("Of how many days, today included.")]
_MOST_DAYS = 400


def used_in(days: int) -> Work:
    async def work(roost: Reached, out: Console) -> None:
        found = await roost.account.usage_by_day(days=min(days, _MOST_DAYS))
        if not found:
            out.print("Nothing was used.")
            return
        heads = ("Day (UTC)", "Model", "Calls", "In", "Out", "Cost")
        print_table(out, heads, [_row(each) for each in found])
        if out.is_terminal:
            out.print(_sum([each.used for each in found]))

    return work


def _row(each: UsedOnDay) -> tuple[str, ...]:
    used = each.used
    return (
        f"{datetime.fromtimestamp(each.day / 1000, UTC):%Y-%m-%d}",
        one_line(f"{used.provider}/{used.model}"),
        f"{used.calls:,}",
        f"{used.input_tokens:,}",
        f"{used.output_tokens:,}",
        _cost(used.cost, used.unpriced),
    )


def _sum(found: Iterable[Used]) -> str:
    all_ = list(found)
    calls = amount(sum([used.calls for used in all_]), "model call")
    tokens = sum([used.input_tokens + used.output_tokens for used in all_])
    cost = _cost(sum([used.cost for used in all_]), sum([used.unpriced for used in all_]))
    return f"{calls}, {amount(tokens, 'token')}, {cost}."


def _cost(cost: int, unpriced: int) -> str:
    known = f"${cost / NANO:.4f}" if cost else ""
    unknown = f"{unpriced:,} of unknown price" if unpriced else ""
    return ", ".join([text for text in (known, unknown) if text]) or "free"
