"""Exact edits, and the diffs that tell of them."""

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from roost.workspace.files.edits import difference, edited
from roost.workspace.files.patches import parsed, patched
from roost.workspace.files.paths import Refused
from roost.workspace.files.text import Text, decoded

_BODY = st.text(st.sampled_from("ab \n\u00e9"), max_size=60)


@given(_BODY, _BODY, st.text(st.sampled_from("xyz\n"), min_size=1, max_size=10), _BODY)
def test_edit_changes_what_it_names_and_nothing_else(
    before: str, after: str, old: str, new: str
) -> None:
    whole = before + old + after
    assume(old != new)
    if whole.find(old) != whole.rfind(old):
        with pytest.raises(Refused, match="is in the file"):
            edited(Text(whole), old, new, every=False)
    else:
        assert edited(Text(whole), old, new, every=False).body == before + new + after


@given(_BODY, st.text(st.sampled_from("ab\n"), min_size=1, max_size=3), _BODY)
def test_every_place_is_changed_in_files_with_any_line_ends(body: str, old: str, new: str) -> None:
    assume(old in body)
    assume(old != new)
    windows = edited(Text(body.replace("\n", "\r\n")), old, new, every=True)
    plain = edited(Text(body), old, new, every=True)
    assert windows.body.replace("\r\n", "\n") == plain.body == body.replace(old, new)


@given(
    st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30)
)
def test_diff_that_is_shown_could_be_applied(old: list[str], new: list[str]) -> None:
    assume(old != new)
    before, after = Text("".join([f"{n}\n" for n in old])), Text("".join([f"{n}\n" for n in new]))
    assert patched(before, parsed(difference(before, after))) == after


@given(st.lists(st.sampled_from(["a\n", "b\r\n", "x\r\n", "\n"]), max_size=10), st.booleans())
def test_ends_of_other_lines_are_as_they_were(lines: list[str], windows: bool) -> None:
    end = "\r\n" if windows else "\n"
    body = "".join([*lines, f"y{end}z{end}", *lines])
    after = edited(Text(body), "y\nz", "Y", every=False).body
    assert after == "".join([*lines, f"Y{end}", *lines])


def test_repetitive_text_takes_no_time() -> None:
    body, old = "a\n" * 2_000_000, "a\n" * 500_000 + "b"
    began = time.process_time()
    with pytest.raises(Refused, match="not in the file"):
        edited(Text(body), old, "", every=False)
    with pytest.raises(Refused, match="does not fit"):
        patched(Text(body), parsed("@@ -1,1 +1,1 @@\n" + " a\n" * 500_000 + "-b\n"))
    assert time.process_time() - began < 20


def test_long_diff_is_cut() -> None:
    before, after = Text("a\n" * 2_000), Text("b\n" * 2_000)
    assert "more lines of the diff]" in difference(before, after)
    huge = Text("c\n" * 20_000)
    assert difference(huge, before) == "20000 lines from line 1 on became 2000."


@given(st.binary(max_size=200))
def test_text_that_is_read_is_written_back_as_it_was(data: bytes) -> None:
    text = decoded(data)
    assert text is None or text.encoded() == data
