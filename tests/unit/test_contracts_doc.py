"""docs/contracts.md lists every promise with the tests that are marked with it."""

from pathlib import Path

import pytest

from tools.contracts import PAGE, PROMISES, ROOT, find_tests, render


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(find_tests(ROOT / "tests")), (
        "run `make contracts`"
    )


def test_every_number_is_listed() -> None:
    numbers = [number for promises in PROMISES.values() for number in promises]
    counts = {"A": 15, "B": 10, "C": 13, "D": 17, "E": 5}
    assert numbers == [f"{group}{n + 1}" for group, count in counts.items() for n in range(count)]


def test_marks_are_found_on_functions_methods_and_classes(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_things.py").write_text(
        '@pytest.mark.contract("A1")\n'
        '@pytest.mark.contract("B2")\n'
        "def test_one(): ...\n"
        '@pytest.mark.contract("A1")\n'
        "class TestMany:\n"
        '    @pytest.mark.contract("C3")\n'
        "    async def test_two(self): ...\n"
        "    @pytest.mark.timeout(5)\n"
        "    def test_three(self): ...\n"
    )
    assert find_tests(folder) == {
        "A1": ["[test_one](../tests/test_things.py)", "[TestMany](../tests/test_things.py)"],
        "B2": ["[test_one](../tests/test_things.py)"],
        "C3": ["[test_two](../tests/test_things.py)"],
    }


def test_promise_without_a_test_is_shown_as_not_yet() -> None:
    page = render({"A1": ["[test_one](x)"]})
    assert (
        "| A1 | Turns under one configuration run on the same live agent. | [test_one](x) |" in page
    )
    assert (
        "| A3 | Reasoning effort and observers change per turn without a new agent. | *not yet* |"
        in page
    )


def test_mark_with_an_unknown_number_is_refused() -> None:
    with pytest.raises(ValueError, match="A99"):
        render({"A99": ["[test_one](x)"]})
