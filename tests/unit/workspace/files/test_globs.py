"""Patterns of file names, and what git ignores."""

import time

import pytest

from roost.workspace.files.globs import Glob, Ignored


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py"], ["a.txt", "b/a.py", "a.pyc"]),
        ("**/*.py", ["a.py", "b/a.py", "b/c/a.py"], ["a.txt"]),
        ("**", ["a", "a/b"], []),
        ("src/**/test_*", ["src/test_a", "src/a/b/test_c"], ["test_a", "src/a"]),
        ("a/**/b/**/c", ["a/b/c", "a/x/b/y/z/c"], ["a/c", "a/b"]),
        ("*.{js,ts{,x}}", ["a.js", "a.ts", "a.tsx"], ["a.jsx"]),
        ("[ab]?", ["a1", "b2"], ["c1", "a"]),
        ("{a}", ["{a}"], ["a"]),
        ("./src/a", ["src/a"], ["a"]),
    ],
)
def test_pattern_matches(pattern: str, yes: list[str], no: list[str]) -> None:
    glob = Glob(pattern)
    assert [path for path in [*yes, *no] if glob.matches(path.split("/"))] == yes


def test_no_pattern_takes_long() -> None:
    began = time.process_time()
    assert not Glob("**/" * 100 + "x").matches(["a"] * 200)
    assert not Glob("*a" * 50 + "b").matches(["a" * 250])
    assert time.process_time() - began < 2
    with pytest.raises(ValueError, match="too many patterns"):
        Glob("{a,b}" * 30)


@pytest.mark.parametrize(
    ("path", "folder", "ignored"),
    [
        ("a.log", False, True),
        ("deep/a.log", False, True),
        ("keep.log", False, False),
        ("build", True, True),
        ("build", False, None),
        ("src/build", True, True),
        ("dist", True, True),
        ("src/dist", True, None),
        ("docs/x.html", False, True),
        ("docs/a/x.html", False, None),
        ("#a", False, True),
        ("a.py", False, None),
    ],
)
def test_gitignore(path: str, folder: bool, ignored: bool | None) -> None:
    rules = Ignored("# words\n\n*.log\n!keep.log\nbuild/\n/dist\ndocs/*.html\n\\#a\n")
    assert rules.decides(path.split("/"), folder=folder) is ignored
