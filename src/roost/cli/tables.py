"""Rows: a table for people, a line each for programs."""

from datetime import datetime

from rich.console import Console
from rich.table import Table


def print_table(out: Console, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if not out.is_terminal:
        # For programs: a line each, whatever its length.
        for row in rows:
            out.print("  ".join(row))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*row)
    out.print(table, soft_wrap=False)


def day(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000).astimezone():%Y-%m-%d}"


def minute(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000).astimezone():%Y-%m-%d %H:%M}"
