"""`roost migrate`: from SQLite to PostgreSQL, and how far it is."""

import asyncio
import time
from collections.abc import Mapping

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from roost import __version__
from roost.cli.started import command
from roost.cli.tables import print_table
from roost.core.config import Config
from roost.core.errors import ConfigError
from roost.core.keys import StoreAddress
from roost.store.moving import source, target
from roost.store.moving.move import Compared, move, verify
from roost.store.moving.source import Source

_SELDOM = 0.05
"""Seconds."""


class Bar:
    """One line: what is done now, with which table, and how much of it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("Looking at both", total=None)
        self._what = ""
        self._done = 0
        self._shown_at = 0.0

    def begin(self, what: str, total: int) -> None:
        self._what, self._done = what, 0
        self._progress.reset(self._task, description=what, total=total)

    def advance(self, detail: str, by: int) -> None:
        self._done += by
        # It is told of every row, and takes longer to draw than a row to compare.
        if (now := time.monotonic()) > self._shown_at + _SELDOM:
            self._shown_at = now
            description = f"{self._what} {detail.replace('_', ' ')}"
            self._progress.update(self._task, description=description, completed=self._done)


def migrate_store(
    config: Config, environ: Mapping[str, str], out: Console, *, only_verify: bool
) -> int:
    """1 if the two are not equal in the end."""
    address = config.store_direct or config.store
    if address is None:
        raise ConfigError(
            "Say where to: ROOST_STORE=postgresql://user:password@host/database "
            f"{command()} migrate"
        )
    with source.opened(config.data, environ, __version__) as opened:
        compared = asyncio.run(_work(opened, address, out, only_verify=only_verify))
    _print_rows(compared, out)
    _print_oddities(opened, out)
    different = [each for each in compared if not each.equal]
    if different:
        out.print(Text(f"\n{_tables(different)} differ.", "red"))
        out.print(_WHAT_NOW)
        return 1
    total = sum([each.rows[1] for each in compared if each.checksums[1]])
    out.print(f"\nAll {total:,} rows are in {address}, and the same on both sides.")
    if not only_verify:
        out.print(_NEXT.format(folder=config.data))
    return 0


_WHAT_NOW = (
    "If a server has worked on one of them since the move, that is why. If none has, do not use "
    "the new one: empty the database, and move again. The data folder was not changed."
)
_NEXT = """Next, start every server with
  ROOST_STORE=postgresql://... (or `store` in roost.toml), as for this command
{folder} stays this server's folder: it has the secret key and the workspaces. Its roost.db and
blobs are not used any more. Keep them until you are content, then remove them."""


async def _work(
    opened: Source, address: StoreAddress, out: Console, *, only_verify: bool
) -> list[Compared]:
    columns = (
        TextColumn("{task.description:<28}"),
        BarColumn(complete_style="green", finished_style="green", pulse_style="green"),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as progress:
        async with target.reached(address) as reached:
            work = verify if only_verify else move
            return await work(opened, reached, Bar(progress))


def _print_rows(compared: list[Compared], out: Console) -> None:
    rows = [
        (
            each.name,
            f"{each.rows[0]:,}",
            f"{each.rows[1]:,}",
            each.checksums[1][:12],
            _verdict(each),
        )
        for each in compared
        if any(each.rows)
    ]
    print_table(out, ("Table", "SQLite", "PostgreSQL", "Checksum", ""), rows)


def _verdict(each: Compared) -> str:
    return "✓ the same" if each.equal else "✗ differs"


def _print_oddities(opened: Source, out: Console) -> None:
    for what, which in (
        ("Without these attachments, whose files are missing", opened.missing),
        ("These attachments are damaged: their bytes are not what they were", opened.damaged),
        (
            "Characters that PostgreSQL does not take (NUL) became \N{REPLACEMENT CHARACTER} in",
            opened.unstorable,
        ),
    ):
        if which:
            out.print(f"{what}: {', '.join(sorted(which))}")


def _tables(different: list[Compared]) -> str:
    return ", ".join([each.name for each in different])
