"""Which sandbox works is found by trying, and the choice is said."""

import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from roost.core.config import WorkspacesConfig
from roost.core.errors import ConfigError
from roost.workspace.probe import choose, hidden, probe
from tests.boxes import need


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """The only folder with programs on this machine. It is not in /tmp: bubblewrap would not be
    found there by those to whom something else is shown in its place."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.setenv("PATH", name)
        yield folder


async def test_sandbox_that_works_is_chosen(tmp_path: Path) -> None:
    await need("bubblewrap")
    data = tmp_path / "data"
    data.mkdir()
    for wanted in ("auto", "bubblewrap"):
        sandbox = await choose(WorkspacesConfig(sandbox=wanted), data)
        assert sandbox is not None
        assert sandbox.kind == "bubblewrap"
        await sandbox.close()


@pytest.mark.usefixtures("path")
async def test_missing_bubblewrap_is_said_and_what_to_install(tmp_path: Path) -> None:
    found = await probe(WorkspacesConfig(), tmp_path)
    assert not found.works
    assert found.why_not == "bubblewrap is not installed"
    assert "apt install bubblewrap" in found.advice


@pytest.mark.parametrize(
    ("script", "why_not", "advice"),
    [
        (
            "echo 'bwrap: Creating new namespace failed: Operation not permitted' >&2; exit 1",
            "Operation not permitted",
            "user namespaces",
        ),
        ("echo 'bwrap: Unknown option --disable-userns' >&2; exit 1", "Unknown", "0.8 or newer"),
        ("exit 1", "it said nothing about why", "bwrap --ro-bind / /"),
    ],
)
async def test_what_bubblewrap_says_comes_with_advice(
    tmp_path: Path, path: Path, script: str, why_not: str, advice: str
) -> None:
    program = path / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    found = await probe(WorkspacesConfig(), tmp_path / "data")
    assert not found.works
    assert why_not in found.why_not
    assert advice in found.advice


async def test_box_that_sees_the_data_folder_does_not_work(tmp_path: Path) -> None:
    await need("bubblewrap")
    assert (await probe(WorkspacesConfig(), tmp_path)).works
    # As if it lay among the programs of the machine.
    found = await probe(WorkspacesConfig(), Path("/usr/share"))
    assert (found.works, found.why_not) == (False, "a box sees the data folder")


@pytest.mark.usefixtures("path")
async def test_without_a_sandbox_that_works_there_is_a_loud_warning(tmp_path: Path) -> None:
    with capture_logs() as logs:
        sandbox = await choose(WorkspacesConfig(), tmp_path)
    assert sandbox is not None
    assert sandbox.kind == "local"
    assert [(entry["log_level"], entry["why"]) for entry in logs] == [
        ("warning", "bubblewrap is not installed")
    ]
    await sandbox.close()


@pytest.mark.usefixtures("path")
async def test_sandbox_that_was_asked_for_and_does_not_work_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not installed"):
        await choose(WorkspacesConfig(sandbox="bubblewrap"), tmp_path)


@pytest.mark.usefixtures("path")
async def test_none_is_none_and_local_is_not_tried(tmp_path: Path) -> None:
    assert await choose(WorkspacesConfig(sandbox="none"), tmp_path) is None
    local = await choose(WorkspacesConfig(sandbox="local"), tmp_path)
    assert local is not None
    assert local.kind == "local"
    await local.close()


def test_data_and_home_are_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert list(hidden(tmp_path / "data")) == [tmp_path / "data", tmp_path / "home"]
