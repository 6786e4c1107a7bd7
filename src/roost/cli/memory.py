"""`roost memory`: what Roost remembers of its owner, to look at, to correct and to take back."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from roost.cli.chat.words import one_line
from roost.cli.ports import Memory
from roost.cli.reach import Reached, Work
from roost.cli.started import as_started
from roost.cli.tables import day, minute
from roost.core.amounts import amount
from roost.core.errors import InvalidInput
from roost.core.facts import Fact
from roost.core.ids import FactId
from roost.memory import builtin
from roost.store.memory import MemoryStatus

_PAGE = 100
_NOTHING = "Nothing is remembered yet. What is said goes to memory when a session ends or rests."


def listing(words: str, about: str | None) -> Work:
    async def work(roost: Reached, out: Console) -> None:
        facts = await _chosen(roost.account.memory, words, about)
        if facts:
            _print_list(facts, out)
        elif words or about:
            out.print("Nothing that is remembered matches.")
        else:
            out.print(_NOTHING)

    return work


async def _chosen(memory: Memory, words: str, about: str | None) -> Sequence[Fact]:
    if words and about:
        raise InvalidInput("Words and --about exclude one another. Give one of them.")
    if about:
        return await memory.about(about, limit=_PAGE)
    if words:
        return await memory.search(words, limit=_PAGE)
    return await _all(memory)


async def _all(memory: Memory) -> Sequence[Fact]:
    found = [*await memory.page(limit=_PAGE)]
    while len(found) % _PAGE == 0 and found:
        more = await memory.page(before=found[-1].id, limit=_PAGE)
        if not more:
            break
        found += more
    return found


def showing(id: str) -> Work:
    async def work(roost: Reached, out: Console) -> None:
        fact = await roost.account.memory.get(FactId(id))
        out.print(one_line(fact.text) or "Its text is gone.")
        for name, value in _details(fact):
            out.print(f"  {name:<9}{one_line(value)}")

    return work


def editing(id: str, text: str) -> Work:
    async def work(roost: Reached, out: Console) -> None:
        said = text.strip()
        if not 1 <= len(said) <= builtin.LONGEST:
            raise InvalidInput(f"A memory is a text of 1 to {builtin.LONGEST} characters.")
        before = await roost.account.memory.get(FactId(id))
        await roost.account.memory.edit(before.id, said)
        out.print(f"Changed. Before, it said: {one_line(before.text)}")

    return work


def forgetting(ids: Sequence[str]) -> Work:
    if not ids:
        raise InvalidInput("Name what is to be forgotten: `roost memory forget ID`")

    async def work(roost: Reached, out: Console) -> None:
        """All of them are looked up first: a slip of the pen in the last forgets none."""
        memory = roost.account.memory
        facts = [await memory.get(FactId(id)) for id in ids]
        for fact in facts:
            await memory.forget(fact.id)
            known = f"Forgot {fact.id}: {one_line(fact.text)}"
            out.print(known if fact.text else f"{fact.id} was forgotten before.")

    return work


def reporting() -> Work:
    async def work(roost: Reached, out: Console) -> None:
        memory, chosen = roost.account.memory, roost.config.memory
        out.print(f"Memory    {chosen.provider}, profile {chosen.profile}")
        status = await memory.status()
        turns, commits = amount(status.marked, "turn"), amount(status.pending, "commit")
        waiting = f"Waiting   {turns} that no commit has yet, {commits}"
        try:
            out.print(f"Kept      {_memories(len(await _all(memory)))} by Roost itself")
            at_odds = await memory.contradictions(limit=20)
        except InvalidInput as error:
            out.print(f"Kept      {error}")
            at_odds = ()
        for line in (waiting, *_troubles(status)):
            out.print(as_started(line))
        for odds in at_odds:
            out.print(f"At odds   {one_line(f'{odds.entity}, {odds.attribute}')}")
            for fact in (odds.older, odds.newer):
                out.print(f"          {fact.id}  {one_line(fact.text)}")

    return work


def _troubles(status: MemoryStatus) -> Sequence[str]:
    lines: list[str] = []
    if status.failing:
        next_try = f" Next try {minute(status.due_at)}." if status.due_at is not None else ""
        lines.append(f"Failing   {amount(status.failing, 'commit')}.{next_try}")
    if status.resting:
        resting = amount(status.resting, "commit")
        lines.append(f"Resting   {resting} failed too often. Try again with `roost memory retry`,")
        lines.append("          or let go of what was said there with `roost memory drop`.")
    if lines:
        lines.append(f"          {one_line(status.error or '')}")
    if status.unforgotten:
        sessions = amount(status.unforgotten, "deleted session")
        lines.append(f"Not yet forgotten  {sessions}. It is tried every ten minutes.")
        lines.append(f"          {one_line(status.unforgotten_error or '')}")
    return lines


def retrying() -> Work:
    async def work(roost: Reached, out: Console) -> None:
        if woken := await roost.account.memory.retry():
            when = "when Roost runs again" if roost.place is None else "soon"
            out.print(f"{amount(woken, 'commit')} will be tried {when}.")
        else:
            out.print("Nothing has failed.")

    return work


def dropping() -> Work:
    async def work(roost: Reached, out: Console) -> None:
        given_up = await roost.account.memory.drop()
        for each in given_up:
            out.print(f"{amount(each.turns, 'turn')} of {each.session} will not be remembered.")
        if not given_up:
            out.print("Nothing rests. What only waits for its next try is not dropped.")

    return work


def _memories(number: int) -> str:
    return "1 memory" if number == 1 else f"{number:,} memories"


def _print_list(facts: Sequence[Fact], out: Console) -> None:
    rows = [(fact.id, day(fact.created_at), _trust(fact), one_line(fact.text)) for fact in facts]
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
        ("Learned", f"{minute(fact.created_at)}{session}"),
    ]
    if fact.updated_at != fact.created_at:
        details.append(("Updated", minute(fact.updated_at)))
    if fact.superseded_by is not None:
        details.append(("State", f"superseded by {fact.superseded_by}"))
    elif fact.forgotten_at is not None:
        details.append(("State", f"forgotten {minute(fact.forgotten_at)}"))
    return [(name, value) for name, value in details if value]


def _trust(fact: Fact) -> str:
    return f"{fact.trust:.0%}"
