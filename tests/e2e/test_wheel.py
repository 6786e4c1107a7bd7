"""The package as it is published: the web app is in it, and neither to install nor to run it takes
a Node."""

import asyncio
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from roost.http.static_files import FOLDER
from tests.e2e.command import Roost
from tools.web import ROOT

pytestmark = pytest.mark.timeout(300)  # the app is built first if it changed

APP = "roost/http/static/"


def _hatch(target: str, source: Path, into: Path) -> Path:
    """What is built, by the same means as pip's, in the environment that is there."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = into.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _hatch("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def _files(wheel: Path) -> frozenset[str]:
    with zipfile.ZipFile(wheel) as packed:
        return frozenset(name for name in packed.namelist() if name.startswith(APP))


def test_wheel_has_the_whole_web_app(wheel: Path) -> None:
    built = {file.relative_to(FOLDER).as_posix() for file in FOLDER.rglob("*") if file.is_file()}
    assert {"index.html", "worker.js", "manifest.webmanifest"} <= built
    assert _files(wheel) == {f"{APP}{name}" for name in built}


def test_sdist_becomes_the_same_wheel_without_building_the_app(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(_hatch("sdist", ROOT, tmp_path / "sdist")) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    # Nothing could be built from this.
    (source / "web" / "package-lock.json").write_text("not a lock")
    assert _needed_to_build(source) == "[]"
    again = _hatch("wheel", source, tmp_path / "again")
    assert _files(again) == _files(wheel)
    assert not (source / "web" / "node_modules").exists()


def _needed_to_build(source: Path) -> str:
    """What pip would bring besides hatchling."""
    code = "from hatchling import build; print(build.get_requires_for_build_wheel())"
    command = [sys.executable, "-c", code]
    asked = subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    return asked.stdout.strip()


async def test_installed_wheel_serves_the_app_where_there_is_no_node(
    wheel: Path, tmp_path: Path
) -> None:
    python = await asyncio.to_thread(_installed, wheel, tmp_path / "venv")
    roost = Roost(tmp_path, python=str(python))
    (tmp_path / "bin").mkdir()
    roost.environ["PATH"] = str(tmp_path / "bin")
    async with roost.running() as server:
        page = await asyncio.to_thread(_read, f"{server.address}/")
        (script,) = re.findall(r'<script [^>]*src="(/assets/[^"]+)"', page)
        assert await asyncio.to_thread(_read, f"{server.address}{script}")


def _installed(wheel: Path, folder: Path) -> Path:
    """Into an environment of its own, which borrows what Roost needs from this one, but not the
    Roost that is here: paths that a .pth file names are looked into last, and no further."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    install = ["--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*pip, *install], check=True, capture_output=True)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    code = "import roost; print(roost.__file__)"
    environ = {"PATH": os.defpath}
    found = subprocess.run(
        [python, "-c", code], env=environ, check=True, capture_output=True, text=True
    )
    assert Path(found.stdout.strip()).is_relative_to(folder)
    return python


def _read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310
        return answer.read().decode()
