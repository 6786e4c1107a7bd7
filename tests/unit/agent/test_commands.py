"""Commands are read as bash reads them, or not at all."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roost.agent.commands import hidden, matches, read

PRINTER = '#!/bin/sh\nprintf \'%s\\0\' "$#" "$@" >>"$LOG"\n'
"""Writes down the words it was given, how many first, in one piece."""

PIECES = [
    *" \t\n'\"\\$`;|&<>(){}#!*?~=[]^%@+-/:,a1é\x00\x1b",
    *("&&", "||", "p ", " p", "p", "2>&1", ">/dev/null", "$(p)", "`p`", "<(p)", "<<a", "\\\n"),
    *("$'a'", "--", "{a,b}", "~/", "if "),
]


class Bash:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        (folder / "bin").mkdir()
        (folder / "home").mkdir()
        program = folder / "bin" / "p"
        program.write_text(PRINTER)
        program.chmod(0o755)

    def ran(self, command: str) -> Counter[tuple[str, ...]]:
        """The words of every `p` that bash ran for it."""
        self.log.write_bytes(b"")
        environment = {"PATH": str(self.folder / "bin"), "HOME": "~", "LOG": str(self.log)}
        subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-c", command],
            env=environment,
            cwd=self.folder / "home",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
        words = self.log.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
        found: Counter[tuple[str, ...]] = Counter()
        while words:
            count = int(words.pop(0))
            found["p", *words[:count]] += 1
            words = words[count:]
        return found


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Bash:
    return Bash(tmp_path_factory.mktemp("bash"))


@settings(max_examples=400, deadline=None)
@example("p a;p $(p b)")
@example('p \'a\nb\' "c\\"d" e\\ f')
@example("p a\\\n")
@example("p a & p b")
@example("p a |& p b")
@example("p ~/x ~ ~root")
@example("p 2>&1 a >/dev/null b")
@example("p a#b # p c")
@example("p\ta\n\np b")
@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join).map("p {}".format))
def test_nothing_runs_that_was_not_read(bash: Bash, command: str) -> None:
    commands = read(command)
    if commands is None or any(words[0] != "p" for words in commands):
        return
    assert bash.ran(command) <= Counter(commands)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git status", [("git", "status")]),
        ("  git status \n", [("git", "status")]),
        ("cd src && ls -l | wc -l; true || false", None),
        ("echo 'a b' \"c d\" e\\ f", [("echo", "a b", "c d", "e f")]),
        ("ls 2>/dev/null >/dev/null </dev/null 2>&1", [("ls",)]),
        ("echo ''", [("echo", "")]),
    ],
)
def test_plain_commands_are_read(command: str, words: list[tuple[str, ...]] | None) -> None:
    found = read(command)
    assert found is not None
    assert words is None or list(found) == words


@pytest.mark.parametrize(
    ("pattern", "words", "does"),
    [
        ("git status", ("git", "status"), True),
        ("git status", ("git", "status", "-s"), False),
        ("git log *", ("git", "log"), True),
        ("git log *", ("git", "log", "-1", "--stat"), True),
        ("git log *", ("git", "push"), False),
        ("git *", ("gitk", "x"), False),
        ("cat *.md", ("cat", "README.md"), True),
        ("cat *.md", ("cat", "a.md", "/etc/passwd"), False),
        ("*", ("ls",), False),
        ("env *", ("env", "rm", "x"), False),
        ("/usr/bin/env *", ("/usr/bin/env", "rm", "x"), False),
        ("env FOO=1 ls", ("env", "FOO=1", "ls"), True),
    ],
)
def test_patterns_match_word_by_word(pattern: str, words: tuple[str, ...], does: bool) -> None:
    assert matches(pattern, words) is does


@pytest.mark.parametrize(
    "command",
    ["sudo rm x", "/bin/rm x", "env A=1 /bin/rm x", "xargs rm x", "sh -c 'ls; rm x'", "nice rm x"],
)
def test_command_is_found_under_its_wrappers(command: str) -> None:
    commands = read(command)
    assert commands is not None
    assert any(matches("rm *", each) for each in hidden(commands[0]))
