"""What is made of the place Roost works in."""

import os
from pathlib import Path

import pytest

from roost.core.config import Config, WorkspacesConfig
from roost.core.settings import SandboxName
from roost.runtime import checks
from roost.runtime.checks import Finding
from roost.store.marks import tie
from roost.store.migrations import SCHEMA_VERSION, Schema
from roost.store.servers import KnownServer
from tests.boxes import need


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


@pytest.mark.parametrize(
    ("version", "state"), [((3, 10, 9), "bad"), ((3, 11, 0), "good"), ((3, 14, 1), "good")]
)
def test_python_is_new_enough(version: tuple[int, int, int], state: str) -> None:
    assert checks.python_version(version).state == state


@pytest.mark.parametrize(
    ("version", "state"),
    [("3.9.0", "bad"), ("3.51.2", "bad"), ("3.51.3", "good"), ("3.100.0", "good")],
)
def test_sqlite_has_the_write_ahead_log_mended(version: str, state: str) -> None:
    finding = checks.sqlite_version(version)
    assert (finding.state, finding.found) == (state, version)
    assert bool(finding.advice) == (state == "bad")


@pytest.mark.parametrize(
    ("free", "state", "found"),
    [
        (99_999_999, "bad", "99 MB free"),
        (100_000_000, "warn", "100 MB free"),
        (999_999_999, "warn", "999 MB free"),
        (1_000_000_000, "good", "1.0 GB free"),
        (80_550_000_000, "good", "80.5 GB free"),
    ],
)
def test_disk_has_room(free: int, state: str, found: str) -> None:
    finding = checks.free_disk(free)
    assert (finding.state, finding.found) == (state, found)


def test_private_folder_is_good(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert checks.data_folder(tmp_path) == ("good", "Data folder", str(tmp_path), "")


def test_folder_open_to_others_is_a_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    finding = checks.data_folder(tmp_path)
    assert finding.state == "warn"
    assert "mode 0750" in finding.found
    assert finding.advice == f"Run `chmod 700 {tmp_path}`."


def test_link_that_leads_nowhere_is_bad(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(tmp_path / "not mounted")
    finding = checks.data_folder(tmp_path / "data")
    assert finding.state == "bad"
    assert "a link to a folder that is not there" in finding.found


def test_folder_that_others_use_is_bad(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").touch()
    finding = checks.data_folder(tmp_path)
    assert finding.state == "bad"
    assert finding.found == f"{tmp_path} is not empty, and not Roost's"


def test_folder_to_come_is_good(tmp_path: Path) -> None:
    finding = checks.data_folder(tmp_path / "a" / "b")
    assert (finding.state, finding.found) == (
        "good",
        f"{tmp_path / 'a' / 'b'}: no Roost there yet, made at the first start",
    )


def test_file_in_the_place_of_the_folder_is_bad(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert checks.data_folder(file).found == f"{file} is not a folder"
    assert checks.data_folder(file / "below").state == "bad"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_folder_of_someone_else_is_bad(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, -1)
    finding = checks.data_folder(tmp_path)
    assert finding.state == "bad"
    assert "belongs to user 12345" in finding.found
    assert finding.advice == "Run Roost as that user, or choose another folder with --data."


def test_missing_store_is_good(tmp_path: Path) -> None:
    assert only(list(checks.store(Config(data=tmp_path)))).state == "good"


@pytest.mark.parametrize(
    ("version", "minimum", "state", "found"),
    [
        (SCHEMA_VERSION, SCHEMA_VERSION, "good", f"{SCHEMA_VERSION}"),
        (SCHEMA_VERSION - 1, 1, "good", f"becomes {SCHEMA_VERSION} at the next start"),
        (SCHEMA_VERSION + 1, SCHEMA_VERSION, "warn", "written by a newer Roost"),
        (SCHEMA_VERSION + 1, SCHEMA_VERSION + 1, "bad", "needs a newer Roost"),
    ],
)
def test_schema_is_ours(version: int, minimum: int, state: str, found: str) -> None:
    finding = checks.schema(Schema(version, minimum))
    assert finding.state == state
    assert found in finding.found


def test_file_of_before_a_move_is_bad(tmp_path: Path) -> None:
    tie(tmp_path, "another")
    finding = only(list(checks.store(Config(data=tmp_path))))
    assert finding.state == "bad"
    assert "belongs to a store in PostgreSQL" in finding.found


def workspaces(tmp_path: Path, wanted: SandboxName) -> Config:
    return Config(data=tmp_path, workspaces=WorkspacesConfig(sandbox=wanted))


async def test_sandbox_that_works_is_good(tmp_path: Path) -> None:
    await need("bubblewrap")
    assert await checks.sandbox(workspaces(tmp_path, "auto")) == (
        "good",
        "Sandbox",
        "bubblewrap works",
        "",
    )


@pytest.mark.parametrize(("wanted", "state"), [("auto", "warn"), ("bubblewrap", "bad")])
async def test_sandbox_that_does_not_work_comes_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: SandboxName, state: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = await checks.sandbox(workspaces(tmp_path, wanted))
    assert finding.state == state
    assert finding.found == "bubblewrap is not installed"
    assert finding.advice == "Install it: apt install bubblewrap."


@pytest.mark.parametrize(("wanted", "state"), [("local", "warn"), ("none", "good")])
async def test_sandbox_that_is_not_wanted_is_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: SandboxName, state: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (await checks.sandbox(workspaces(tmp_path, wanted))).state == state


def known(id: str, *, version: str = "1.0", silent: int = 0, draining: bool = False) -> KnownServer:
    return KnownServer(id, "host", 1, version, f"http://{id}", 0, draining, silent)


@pytest.mark.parametrize(
    ("servers", "state", "found"),
    [
        ([known("a"), known("b")], "good", "a at http://a, 1.0; b at http://b, 1.0"),
        ([known("a", draining=True)], "good", "a at http://a, 1.0, stops"),
        ([known("a"), known("b", version="1.1")], "warn", "a at http://a, 1.0; b at http://b, 1.1"),
        ([known("a", silent=31_000)], "warn", "a at http://a, 1.0, silent for 31 s"),
        ([known("a", silent=29_000)], "good", "a at http://a, 1.0"),
    ],
)
def test_servers_that_share_a_store_are_told_of(
    servers: list[KnownServer], state: str, found: str
) -> None:
    finding = checks.servers(servers, 30)
    assert (finding.state, finding.found) == (state, found)
    assert bool(finding.advice) == (state == "warn")
