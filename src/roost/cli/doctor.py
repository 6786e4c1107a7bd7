"""`roost doctor`: what was found, a row each, and what to do about it."""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from roost import __version__
from roost.cli.checks import Finding, examine
from roost.cli.started import as_started
from roost.core.amounts import amount
from roost.core.config import Config
from roost.core.errors import ConfigError
from roost.core.keys import Key
from roost.store.sqlite import repair

_MARKS = {"good": "✓", "warn": "!", "bad": "✗"}
_THINGS = {
    "users": "user",
    "sessions": "session",
    "turns": "turn",
    "messages": "message",
    "tool_calls": "tool call",
    "blobs": "attachment",
    "facts": "memory",
    "schedules": "schedule",
}
"""What a person knows of the rows of a store."""

_COLORS = {"good": "green", "warn": "yellow", "bad": "red"}


def diagnose(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str], out: Console
) -> int:
    """Print the findings; 1 if one of them keeps Roost from working."""
    findings = list(examine(config, keys, environ))
    for finding in findings:
        _print(finding, out)
    bad = sum(finding.state == "bad" for finding in findings)
    if bad:
        checks = f"{bad} of {amount(len(findings), 'check')}"
        out.print(f"\n{checks} failed. Until that is mended, Roost can't work.")
    return 1 if bad else 0


def mend(config: Config, out: Console) -> None:
    """Repair the store if it is damaged."""
    if config.store is not None:
        raise ConfigError("The store is in PostgreSQL, which is repaired with its own tools.")
    if not repair.check(config.data):
        whole = repair.schema_of(config.data) is not None
        found = "The store is whole" if whole else "There is no store yet"
        out.print(f"{found}; there is nothing to repair.\n")
        return
    result = repair.repair(config.data, __version__)
    out.print(f"The store was repaired. As it was, it is kept in {result.copy}.")
    out.print(f"  Kept  {_kept(result.kept)}")
    for lost in result.lost or ["nothing"]:
        out.print(f"  Lost  {lost}")
    out.print()


def _kept(rows: Mapping[str, int]) -> str:
    counts = {thing: rows.get(table, 0) for table, thing in _THINGS.items()}
    counts["other row"] = sum(rows.values()) - sum(counts.values())
    return (
        ", ".join([amount(count, thing) for thing, count in counts.items() if count]) or "nothing"
    )


def _print(finding: Finding, out: Console) -> None:
    state = f"{_MARKS[finding.state]} {finding.state:<6}"
    subject = f"{finding.subject:<13}"
    out.print(Text(state, _COLORS[finding.state]) + subject + as_started(finding.found))
    if finding.advice:
        out.print(" " * len(state + subject) + as_started(finding.advice))
