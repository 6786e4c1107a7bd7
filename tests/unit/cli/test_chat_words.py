"""The words for what happens."""

import pytest

from roost.cli.chat import words
from roost.core.sessions import Counters


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0.1 s"),
        (0.34, "0.3 s"),
        (0.96, "1 s"),
        (9.4, "9 s"),
        (59.7, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (3785, "1 h 3 min"),
    ],
)
def test_duration_is_short(duration: float, text: str) -> None:
    assert words.seconds(duration) == text


@pytest.mark.parametrize(
    ("passed", "text"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7300, "2 hours ago"),
        (86400 * 3, "3 days ago"),
    ],
)
def test_time_passed_is_in_one_unit(passed: int, text: str) -> None:
    assert words.ago(0, passed * 1000) == text


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        ('{"mode": "r", "path": "a b.md"}', "a b.md"),
        ('{"limit": 3, "note": "x"}', "3"),
        ('{"command": "make\\ntest"}', "make test"),
        ('{"items": [1]}', ""),
        ("{}", ""),
        ("[1]", ""),
        ('{"path": "half', ""),
    ],
)
def test_subject_of_a_call_is_its_most_telling_argument(arguments: str, subject: str) -> None:
    assert words.subject(arguments) == subject


@pytest.mark.parametrize(
    ("name", "verb"),
    [("read_file", "Read file"), ("mcp__git__log", "Mcp git log"), ("\x1b", "Tool"), ("", "Tool")],
)
def test_verb_is_the_name_in_words(name: str, verb: str) -> None:
    assert words.verb(name) == verb


@pytest.mark.parametrize(
    ("counters", "text"),
    [
        (Counters(input_tokens=1234, output_tokens=5), "1,234 tokens in, 5 out, free."),
        (Counters(input_tokens=1, cost=12_300_000), "1 token in, 0 out, $0.0123."),
        (
            Counters(cost=12_300_000, unpriced=2),
            "0 tokens in, 0 out, $0.0123, the price of 2 model calls is unknown.",
        ),
    ],
)
def test_usage_says_what_is_known_of_the_price(counters: Counters, text: str) -> None:
    assert words.usage(counters) == text
