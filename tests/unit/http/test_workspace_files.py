"""The files of a workspace over HTTP: those of its session, and nothing else of this machine."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.config import WorkspacesConfig
from roost.core.ids import SessionId, UserId, new_user_id
from roost.core.users import User
from roost.testing.models import ModelServer
from roost.workspace.workspaces import Workspaces
from tests.unit.http.served import Client, Served, started
from tests.unit.http.test_files import PAGE, png


async def _anyone(_: UserId) -> bool:
    return True


@pytest.fixture
async def served(folder: Path, server: ModelServer, tmp_path: Path) -> AsyncGenerator[Served]:
    workspaces = Workspaces(
        None, tmp_path / "workspaces", WorkspacesConfig(), clock=SystemClock(), is_admin=_anyone
    )
    async with started(Served(folder, server, workspaces=workspaces)) as served:
        yield served
    await workspaces.close()


@pytest.fixture
async def session(browser: Client, tmp_path: Path) -> SessionId:
    """With some files in its workspace."""
    session = await browser.session()
    assert (await browser.get(f"/api/sessions/{session}/files"))["entries"] == []
    files = tmp_path / "workspaces" / session / "files"
    (files / "birds").mkdir()
    (files / "birds" / "owl.txt").write_text("Hoo.")
    (files / "red.png").write_bytes(png())
    (files / "page.html").write_bytes(PAGE)
    (files / "program").write_bytes(b"\x7fELF\0")
    (files / "passwd").symlink_to("/etc/passwd")
    (files / "root").symlink_to("/")
    return session


async def test_folder_is_listed(browser: Client, session: SessionId) -> None:
    path = f"/api/sessions/{session}/files"
    entries = (await browser.get(path))["entries"]
    assert {entry["name"]: entry["kind"] for entry in entries} == {
        "birds": "folder",
        "page.html": "file",
        "passwd": "other",
        "program": "file",
        "red.png": "file",
        "root": "other",
    }
    (owl,) = (await browser.get(f"{path}?path=birds"))["entries"]
    assert (owl["name"], owl["size"]) == ("owl.txt", 4)


@pytest.mark.parametrize(
    ("path", "kind", "how"),
    [
        ("birds/owl.txt", "text/plain", "inline"),
        ("red.png", "image/png", "inline"),
        ("page.html", "text/plain", "inline"),
        ("program", "application/octet-stream", "attachment"),
    ],
)
async def test_file_is_shown_only_if_it_can_run_no_script(
    served: Served, browser: Client, session: SessionId, path: str, kind: str, how: str
) -> None:
    url = served.url / f"api/sessions/{session}/files/content"
    async with browser.connections.get(url.with_query(path=path)) as answer:
        assert answer.status == 200
        assert answer.content_type == kind
        assert answer.headers["content-disposition"].startswith(f"{how}; filename*=UTF-8''")
        assert answer.headers["content-security-policy"].startswith("sandbox")
        assert await answer.read()


@pytest.mark.parametrize(
    "path",
    [
        "passwd",
        "root/etc/passwd",
        "/etc/passwd",
        "../../../../../../etc/passwd",
        "birds/../../output/../../../etc/passwd",
        "/proc/self/environ",
        "nowhere",
        "birds",
        "birds\0",
        "~/.ssh/id_rsa",
    ],
)
async def test_nothing_else_is_found(
    served: Served, browser: Client, session: SessionId, path: str
) -> None:
    url = served.url / f"api/sessions/{session}/files/content"
    async with browser.connections.get(url.with_query(path=path)) as answer:
        assert answer.status == 404, await answer.text()


async def test_nobody_sees_the_workspace_of_another(served: Served, session: SessionId) -> None:
    bob = await served.engine.store.users.create(User(id=new_user_id(), name="Bob", role="admin"))
    async with served.browser(bob.id) as other:
        assert (await other.ask("GET", f"/api/sessions/{session}/files"))[0] == 404
        path = f"/api/sessions/{session}/files/content?path=red.png"
        assert (await other.ask("GET", path))[0] == 404
