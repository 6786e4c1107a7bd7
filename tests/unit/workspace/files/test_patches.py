"""Unified diffs: whatever `diff` says of two texts turns the one into the other."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.workspace.files.patches import parsed, patched
from roost.workspace.files.paths import Refused
from roost.workspace.files.text import Text

# Lines that look like parts of a patch are those that a sloppy reader trips over.
_LINE = st.sampled_from(["", "a", "b", " c", "-- x", "++ y", "@@ -1 +1 @@", "\\ No", "diff a"])
_LINES = st.lists(_LINE, max_size=12)


def diff(old: list[str], new: list[str], context: int = 3) -> str:
    lines = difflib.unified_diff(old, new, "a/f", "b/f", n=context, lineterm="")
    return "".join([f"{line}\n" for line in lines])


def whole(lines: list[str], newline: str = "\n") -> str:
    return "".join([line + newline for line in lines])


@given(_LINES, _LINES, st.integers(0, 3), st.sampled_from(["\n", "\r\n"]))
def test_diff_of_two_texts_makes_the_one_of_the_other(
    old: list[str], new: list[str], context: int, newline: str
) -> None:
    if old == new:
        return
    newline = newline if old else "\n"
    after = patched(Text(whole(old, newline)), parsed(diff(old, new, context)))
    assert after.body == whole(new, newline)


@given(st.lists(st.integers(0, 99).map(str), min_size=4, max_size=20, unique=True), st.data())
def test_hunk_is_found_where_lines_came_before_it(old: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(old) - 1))
    new = [*old[:at], "changed", *old[at + 1 :]]
    more = data.draw(st.lists(st.sampled_from(["x", "y"]), max_size=5))
    after = patched(Text(whole([*more, *old])), parsed(diff(old, new)))
    assert after.body == whole([*more, *new])


def test_lines_that_stay_keep_their_own_ends() -> None:
    text = Text("a\r\nb\nc\r\nd\r\n")
    after = patched(text, parsed("@@ -1,4 +1,4 @@\n a\n b\n-c\n+C\n d\n"))
    assert after.body == "a\r\nb\nC\r\nd\r\n"


def test_last_line_may_have_no_end() -> None:
    none = "\\ No newline at end of file\n"
    lost = parsed(f"@@ -1,2 +1,2 @@\n a\n-b\n+b\n{none}")
    assert patched(Text("a\nb\n"), lost).body == "a\nb"
    gained = parsed(f"@@ -1,2 +1,2 @@\n a\n-b\n{none}+b\n")
    assert patched(Text("a\nb"), gained).body == "a\nb\n"
    assert patched(Text("a\nb"), parsed("@@ -1 +1 @@\n-a\n+A\n")).body == "A\nb"


def test_miscounted_hunk_is_understood() -> None:
    after = patched(Text("a\nb\nc\n"), parsed("@@ -1,9 +1,7 @@\n a\n-b\n+B\n+B2\n c\n\n"[:-1]))
    assert after.body == "a\nB\nB2\nc\n"


def test_hunk_without_numbers_has_to_fit_once() -> None:
    assert patched(Text("a\nb\na\n"), parsed("@@\n b\n-a\n+c\n")).body == "a\nb\nc\n"
    with pytest.raises(Refused, match="fits nowhere or at several places"):
        patched(Text("a\nb\na\n"), parsed("@@\n-a\n+c\n"))


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        ("", "no hunk"),
        ("just words", "no hunk"),
        ("@@ -1 +1 @@\n-a\n+b\nwords", "Line 4 of the patch begins with neither"),
        (diff(["a"], ["b"]) + diff(["a"], ["b"]), "one by one"),
    ],
)
def test_what_is_no_patch_is_refused(patch: str, told: str) -> None:
    with pytest.raises(Refused, match=told):
        patched(Text("a\n"), parsed(patch))
