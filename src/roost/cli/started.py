"""How this process was started, and so how its user starts another."""

import shlex
import shutil
import sys
from pathlib import Path


def as_started(text: str) -> str:
    """With every `roost ...` in it as it works where the user is: a Roost that was made from its
    sources may be on no path."""
    return text.replace("`roost ", f"`{command()} ")


def command() -> str:
    started, found = Path(sys.argv[0]), shutil.which("roost")
    of_module = (started.parent.name, started.name) == ("roost", "__main__.py")
    script = Path(sys.executable).with_name("roost") if of_module else started
    if script.name != "roost" or (found is not None and _same(Path(found), script)):
        return "roost"  # some other program that Roost is a part of knows no better name
    return shlex.join([sys.executable, "-m", "roost"] if of_module else [sys.argv[0]])


def _same(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)
