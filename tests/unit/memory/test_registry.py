"""Memories by name, and docs/memory-providers.md: its example runs as it stands there."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.core.errors import ConfigError
from roost.core.ids import SessionId
from roost.core.keys import Key
from roost.memory.base import MemoryProvider
from roost.memory.registry import Options, Registry
from tests.unit.memory.remembering import ADA, SESSION, segment

PAGE = Path(__file__).parents[3] / "docs" / "memory-providers.md"
EXAMPLE = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]


class Package:
    """Something that pip installed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.modules: list[str] = []

    def install(self, name: str, entry: str, code: str | None = None) -> None:
        info = self._folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[roost.memory]\n{entry}\n")
        if code is not None:
            (self._folder / f"{name}.py").write_text(code)
            self.modules.append(name)
        importlib.invalidate_caches()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    package = Package(tmp_path)
    yield package
    for module in package.modules:
        sys.modules.pop(module, None)


def refuse(options: Options) -> MemoryProvider:
    raise KeyError("folder")


@pytest.fixture
def registry() -> Registry:
    return Registry({"builtin": refuse})


async def test_example_of_the_docs_remembers(
    package: Package, registry: Registry, tmp_path: Path
) -> None:
    package.install("notebook", "notebook = notebook:Notebook", EXAMPLE)
    assert registry.names() == ["builtin", "notebook"]
    memory = registry.load("notebook", {"folder": Key(str(tmp_path))})
    told = segment("seg_1", "I keep parrots", "Bob sails")
    for _ in range(2):
        await memory.commit(told)
    await memory.commit(segment("seg_2", "Bob rows", session=SessionId("ses_2")))
    found = await memory.recall(ADA, "how is bob", limit=5)
    assert [each.text for each in found] == ["Bob sails", "Bob rows"]
    assert (found[0].session, found[0].turn) == (SESSION, told.turns[1])
    await memory.forget(ADA, found[0].id)
    await memory.forget(ADA, "unknown")
    await memory.withdraw(ADA, SessionId("ses_2"))
    assert not await memory.recall(ADA, "bob", limit=5)
    assert len(await memory.recall(ADA, "parrots", limit=5)) == 1
    assert await memory.health() is None
    await memory.close()


def test_example_has_forty_lines() -> None:
    assert len([line for line in EXAMPLE.splitlines() if line.strip()]) <= 40


@pytest.mark.parametrize(
    ("entry", "code", "trouble"),
    [
        ("fine = broken:Memory", "raise OSError('no disk')", "of broken can't be loaded: no disk"),
        ("fine = broken:Memory", "", "of broken can't be loaded"),
        ("fine = broken:Memory", "Memory = 7", "of broken can't be called"),
        ("finer = broken:Memory", "", r"There is no memory fine \(.*\). Did you mean finer\?"),
        ("Fi/ne = broken:Memory", "", "There is no memory fine .* There are builtin."),
    ],
)
def test_what_is_wrong_is_said(
    package: Package, registry: Registry, entry: str, code: str, trouble: str
) -> None:
    package.install("broken", entry, code)
    with pytest.raises(ConfigError, match=trouble):
        registry.load("fine", {})


def test_provider_that_does_not_start_says_why(registry: Registry) -> None:
    with pytest.raises(ConfigError, match="The memory builtin could not be started: 'folder'"):
        registry.load("builtin", {})


def test_packages_can_neither_replace_roosts_own_nor_share_a_name(
    package: Package, registry: Registry
) -> None:
    package.install("thief", "builtin = thief:Memory", "Memory = dict")
    with pytest.raises(ConfigError, match="could not be started"):
        registry.load("builtin", {})
    package.install("one", "same = thief:Memory")
    package.install("two", "same = thief:Memory")
    with pytest.raises(ConfigError, match=r"Both (one and two|two and one) bring a memory same"):
        registry.load("same", {})
