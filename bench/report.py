"""Figures, the table that shows them and the JSON that keeps them."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import apsw
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
"""Not in git. Scratch stores lie here too: on a disk, where a flush costs what it costs."""


class Target(msgspec.Struct, frozen=True):
    """A bound on a figure itself, or on its ratio to the limit."""

    side: Literal["most", "least"]
    bound: float
    of: Literal["value", "ratio"]

    def met(self, value: float, ratio: float | None) -> bool:
        measured = value if self.of == "value" else ratio
        if measured is None:
            return False
        return measured <= self.bound if self.side == "most" else measured >= self.bound

    def __str__(self) -> str:
        sign = "≤" if self.side == "most" else "≥"
        return f"{sign} {self.bound:g}{'x' if self.of == 'ratio' else ''}"


def at_most(bound: float) -> Target:
    return Target("most", bound, "value")


def times_at_most(bound: float) -> Target:
    return Target("most", bound, "ratio")


def times_at_least(bound: float) -> Target:
    return Target("least", bound, "ratio")


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """`limit` is what `against` took in the same run, in the same unit. Without a target, a figure
    is there to be known. `peer` is what the best-known peer needs on a machine like the first."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    against: str = ""
    target: Target | None = None
    peer: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.limit if self.limit else None

    @property
    def passed(self) -> bool | None:
        return None if self.target is None else self.target.met(self.value, self.ratio)


class Part(msgspec.Struct, frozen=True):
    name: str
    figures: Sequence[Figure]


def show(part: Part, console: Console) -> None:
    table = Table(title=f"{part.name}, {_machine()}", box=box.SIMPLE_HEAD, title_justify="left")
    for column in ("figure", "measured", "limit", "ratio", "target", ""):
        left = column in ("figure", "")
        table.add_column(column, justify="left" if left else "right", no_wrap=column != "figure")
    table.add_column("limit is; peer", style="dim")
    for figure in part.figures:
        table.add_row(*_cells(figure))
    console.print(table)


def _cells(figure: Figure) -> list[str]:
    verdict = {None: "", True: "[green]ok[/]", False: "[bold red]MISS[/]"}[figure.passed]
    notes = [figure.against, f"peer: {figure.peer}" if figure.peer else ""]
    return [
        figure.name,
        f"{_number(figure.value)} {figure.unit}",
        "" if figure.limit is None else _number(figure.limit),
        "" if figure.ratio is None else f"{figure.ratio:.2f}x",
        "" if figure.target is None else str(figure.target),
        verdict,
        "; ".join(filter(None, notes)),
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _machine() -> str:
    version = platform.python_version()
    return f"{os.cpu_count()} cores, Python {version}, SQLite {apsw.sqlite_lib_version()}"


def save(part: Part) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{part.name}.json"
    content = {
        "part": part.name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpus": os.cpu_count(),
            "load": os.getloadavg()[0],
            "platform": platform.platform(),
            "python": platform.python_version(),
            "sqlite": apsw.sqlite_lib_version(),
        },
        "figures": [
            {
                **msgspec.structs.asdict(figure),
                "ratio": figure.ratio,
                "target": None if figure.target is None else str(figure.target),
                "passed": figure.passed,
            }
            for figure in part.figures
        ],
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
    return path
