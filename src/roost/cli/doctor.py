"""`roost doctor`: what was found, a row each, and what to do about it."""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from roost import __version__
from roost.cli.checks import Finding, examine
from roost.core.config import Config
from roost.core.errors import ConfigError
from roost.core.keys import Key
from roost.store.sqlite import repair

_MARKS = {"good": "✓", "warn": "!", "bad": "✗"}
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
        out.print(f"\n{bad} of {len(findings)} must be mended before Roost can work.")
    return 1 if bad else 0


def mend(config: Config, out: Console) -> None:
    """Repair the store if it is damaged."""
    if config.store is not None:
        raise ConfigError("The store is in PostgreSQL, which is repaired with its own tools.")
    if not repair.check(config.data):
        out.print("The store is whole; there is nothing to repair.\n")
        return
    result = repair.repair(config.data, __version__)
    kept = ", ".join(f"{count} {what}" for what, count in result.kept.items() if count)
    out.print(f"The store was repaired. As it was, it is kept in {result.copy}.")
    out.print(f"  Kept  {kept or 'nothing'}")
    for lost in result.lost or ["nothing"]:
        out.print(f"  Lost  {lost}")
    out.print()


def _print(finding: Finding, out: Console) -> None:
    state = f"{_MARKS[finding.state]} {finding.state:<6}"
    subject = f"{finding.subject:<13}"
    out.print(Text(state, _COLORS[finding.state]) + subject + finding.found)
    if finding.advice:
        out.print(" " * len(state + subject) + finding.advice)
