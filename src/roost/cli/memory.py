"""`roost memory`: what Roost remembers of its owner, to look at, to correct and to take back."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import NamedTuple

import uvloop
from rich.console import Console
from rich.table import Table

from roost import __version__
from roost.cli.chat.words import amount, one_line
from roost.core.clock import SystemClock
from roost.core.config import Config
from roost.core.errors import InvalidInput
from roost.core.facts import Fact
from roost.core.ids import FactId, UserId
from roost.memory import builtin
from roost.memory.base import Scope
from roost.memory.ranking import telling
from roost.runtime.people import OWNER
from roost.store.facts import Facts
from roost.store.memory import MemoryMarks, MemoryStatus
from roost.store.sqlite.store import open_store

_PAGE = 500
_NOTHING = "Nothing is remembered yet. What is said goes to memory when a session ends or rests."


class Drawer(NamedTuple):
    """The owner's facts, and what is still on its way."""

    facts: Facts
    scope: str
    owner: UserId
    marks: MemoryMarks


Work = Callable[[Drawer, Console], Awaitable[None]]


def look_into(config: Config, out: Console, work: Work) -> None:
    uvloop.run(_look_into(config, out, work))


async def _look_into(config: Config, out: Console, work: Work) -> None:
    async with _opened(config) as drawer:
        await work(drawer, out)


@asynccontextmanager
async def _opened(config: Config) -> AsyncGenerator[Drawer]:
    """The store alone: with all of Roost, turns that were cut short would go on meanwhile."""
    ttl = config.leases.ttl.total_seconds()
    store = open_store(config.data, clock=SystemClock(), version=__version__, lease_ttl=ttl)
    try:
        # Before anybody has talked there is no owner, and nothing that could be found.
        owner = await store.users.find_owner(OWNER) or UserId("")
        scope = Scope(builtin.NAME, config.memory.profile, owner)
        yield Drawer(store.of(owner).facts, str(scope), owner, store.memory)
    finally:
        await store.close()


def listing(words: str, about: str | None) -> Work:
    async def work(drawer: Drawer, out: Console) -> None:
        facts = await _chosen(drawer, words, about)
        if facts:
            _print_list(facts, out)
        elif words or about:
            out.print("Nothing that is remembered matches.")
        else:
            out.print(_NOTHING)

    return work


async def _chosen(drawer: Drawer, words: str, about: str | None) -> Sequence[Fact]:
    facts, scope = drawer.facts, drawer.scope
    if words and about:
        raise InvalidInput("Words and --about exclude one another. Give one of them.")
    if about:
        return await facts.about(scope, about, limit=_PAGE)
    if words:
        return [found.fact for found in await facts.search(scope, telling(words), limit=_PAGE)]
    return await _all(drawer)


async def _all(drawer: Drawer) -> Sequence[Fact]:
    found = [*await drawer.facts.page(drawer.scope, limit=_PAGE)]
    while len(found) % _PAGE == 0 and found:
        more = await drawer.facts.page(drawer.scope, before=found[-1].id, limit=_PAGE)
        if not more:
            break
        found += more
    return found


def showing(id: str) -> Work:
    async def work(drawer: Drawer, out: Console) -> None:
        fact = await drawer.facts.get(drawer.scope, FactId(id))
        out.print(one_line(fact.text) or "Its text is gone.")
        for name, value in _details(fact):
            out.print(f"  {name:<9}{one_line(value)}")

    return work


def editing(id: str, text: str) -> Work:
    async def work(drawer: Drawer, out: Console) -> None:
        said = text.strip()
        if not 1 <= len(said) <= builtin.LONGEST:
            raise InvalidInput(f"A memory is a text of 1 to {builtin.LONGEST} characters.")
        before = await drawer.facts.get(drawer.scope, FactId(id))
        await drawer.facts.edit(drawer.scope, before.id, said)
        out.print(f"Changed. Before, it said: {one_line(before.text)}")

    return work


def forgetting(ids: Sequence[str]) -> Work:
    if not ids:
        raise InvalidInput("Name what is to be forgotten: roost memory forget ID")

    async def work(drawer: Drawer, out: Console) -> None:
        """All of them are looked up first: a slip of the pen in the last forgets none."""
        facts = [await drawer.facts.get(drawer.scope, FactId(id)) for id in ids]
        for fact in facts:
            await drawer.facts.forget(drawer.scope, fact.id)
            known = f"Forgot {fact.id}: {one_line(fact.text)}"
            out.print(known if fact.text else f"{fact.id} was forgotten before.")

    return work


def reporting(config: Config) -> Work:
    async def work(drawer: Drawer, out: Console) -> None:
        memory, status = config.memory, await drawer.marks.status(drawer.owner)
        out.print(f"Memory    {memory.provider}, profile {memory.profile}")
        out.print(f"Kept      {_memories(len(await _all(drawer)))} by Roost itself")
        turns, commits = amount(status.marked, "turn"), amount(status.pending, "commit")
        out.print(f"Waiting   {turns} that no commit has yet, {commits}")
        for line in _troubles(status):
            out.print(line)
        for odds in await drawer.facts.contradictions(drawer.scope, limit=20):
            out.print(f"At odds   {one_line(f'{odds.entity}, {odds.attribute}')}")
            for fact in (odds.older, odds.newer):
                out.print(f"          {fact.id}  {one_line(fact.text)}")

    return work


def _troubles(status: MemoryStatus) -> Sequence[str]:
    lines: list[str] = []
    if status.failing:
        next_try = f" Next try {_when(status.due_at)}." if status.due_at is not None else ""
        lines.append(f"Failing   {amount(status.failing, 'commit')}.{next_try}")
    if status.resting:
        resting = amount(status.resting, "commit")
        lines.append(f"Resting   {resting} failed too often. Try again with roost memory retry,")
        lines.append("          or let go of what was said there with roost memory drop.")
    if lines:
        lines.append(f"          {one_line(status.error or '')}")
    if status.unforgotten:
        sessions = amount(status.unforgotten, "deleted session")
        lines.append(f"Not yet forgotten  {sessions}. It is tried every ten minutes.")
        lines.append(f"          {one_line(status.unforgotten_error or '')}")
    return lines


def retrying() -> Work:
    async def work(drawer: Drawer, out: Console) -> None:
        if woken := await drawer.marks.wake(drawer.owner):
            out.print(f"{amount(woken, 'commit')} will be tried when Roost runs again.")
        else:
            out.print("Nothing has failed.")

    return work


def dropping() -> Work:
    async def work(drawer: Drawer, out: Console) -> None:
        given_up = await drawer.marks.give_up(drawer.owner)
        for each in given_up:
            out.print(f"{amount(each.turns, 'turn')} of {each.session} will not be remembered.")
        if not given_up:
            out.print("Nothing rests. What only waits for its next try is not dropped.")

    return work


def _memories(number: int) -> str:
    return "1 memory" if number == 1 else f"{number:,} memories"


def _print_list(facts: Sequence[Fact], out: Console) -> None:
    rows = [(fact.id, _day(fact), _trust(fact), one_line(fact.text)) for fact in facts]
    if not out.is_terminal:
        # For programs: a line each, whatever its length.
        for row in rows:
            out.print("  ".join(row))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Memory", no_wrap=True)
    table.add_column("Since", no_wrap=True)
    table.add_column("Trust", justify="right", no_wrap=True)
    table.add_column("What", overflow="fold", ratio=1)
    for row in rows:
        table.add_row(*row)
    out.print(table, soft_wrap=False)


def _details(fact: Fact) -> Sequence[tuple[str, str]]:
    attribute = f" ({fact.attribute})" if fact.attribute else ""
    session = f", in {fact.session}" if fact.session else ""
    details = [
        ("Id", fact.id),
        ("Kind", fact.kind),
        ("About", ", ".join(fact.entities) + attribute),
        ("Trust", _trust(fact)),
        ("Learned", f"{_when(fact.created_at)}{session}"),
    ]
    if fact.updated_at != fact.created_at:
        details.append(("Updated", _when(fact.updated_at)))
    if fact.superseded_by is not None:
        details.append(("State", f"superseded by {fact.superseded_by}"))
    elif fact.forgotten_at is not None:
        details.append(("State", f"forgotten {_when(fact.forgotten_at)}"))
    return [(name, value) for name, value in details if value]


def _trust(fact: Fact) -> str:
    return f"{fact.trust:.0%}"


def _day(fact: Fact) -> str:
    return _when(fact.created_at)[:10]


def _when(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000).astimezone():%Y-%m-%d %H:%M}"
