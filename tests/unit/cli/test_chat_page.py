"""What each event of a session looks like on a terminal."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.events import (
    Changed,
    NoticeDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolOutputDelta,
)
from roost.core.ids import ToolCallId, TurnId
from roost.core.messages import ReasoningPart, TextPart
from roost.core.turns import ToolCallState, TurnState
from tests.screen import CONTROL
from tests.unit.cli.chatting import (
    CALL,
    Paper,
    added,
    answered,
    attempt,
    called,
    ended,
    message,
    rewound,
    streamed,
)

ANSWER = """# Herons

They **stand**, and `wait`.

- one
- two

```python
def wait():

    return 1
```

| a | b |
|---|---|
| 1 | 2 |

<div>not lost</div>
"""
HOSTILE = "a\x1b]0;title\x07b\x1b[2Jc\x1b[1;31md\x9b5Ae\rf\x08\x00g\x7fh"


@pytest.fixture
def paper() -> Paper:
    return Paper()


# Answers.


def test_answer_is_markdown_and_stands_apart(paper: Paper) -> None:
    shown = paper.take(streamed(TextDelta(ANSWER)), answered(ANSWER))
    assert shown == (
        "Herons\n\n"
        "They stand, and wait.\n\n"
        " • one\n • two\n\n"
        "  python\n  def wait():\n\n      return 1\n\n"
        " a  b\n ────\n 1  2\n\n"
        "<div>not lost</div>"
    )


def test_answer_shows_while_it_streams(paper: Paper) -> None:
    assert paper.take(streamed(TextDelta("One **tw"))) == "One **tw"
    paper.now += 1
    assert paper.take(streamed(TextDelta("o** three"))) == "One two three"


def test_what_comes_too_fast_to_be_seen_is_drawn_a_little_later(paper: Paper) -> None:
    paper.take(streamed(TextDelta("One")))
    assert paper.take(streamed(TextDelta(" two"))) == "One"
    assert paper.page.patience < 0.1
    assert paper.wait(paper.page.patience) == "One two"
    assert paper.page.patience == 1


@settings(max_examples=20)
@given(st.lists(st.integers(1, 40), min_size=1), st.booleans())
def test_any_chunking_looks_the_same_in_the_end(sizes: list[int], slow: bool) -> None:
    paper, place, turn = Paper(), 0, 0
    while place < len(ANSWER):
        size = sizes[turn % len(sizes)]
        paper.page.take(streamed(TextDelta(ANSWER[place : place + size])))
        paper.now += 1 if slow else 0
        place, turn = place + size, turn + 1
    whole = Paper()
    whole.take(answered(ANSWER))
    assert paper.take(answered(ANSWER)) == whole.shown


def test_work_does_not_grow_with_the_answer() -> None:
    """A long block is drawn again and again, but only its end."""
    paper = Paper()
    paper.take(streamed(TextDelta("```\n")))
    written: list[int] = []
    for number in range(300):
        before = len(paper.file.getvalue())
        paper.now += 1
        paper.page.take(streamed(TextDelta(f"line {number}\n")))
        written.append(len(paper.file.getvalue()) - before)
    assert max(written[200:]) <= max(written[:100]) + 100
    assert "line 299" in paper.shown


def test_long_answer_is_whole_in_the_end_though_its_beginning_scrolled_away(paper: Paper) -> None:
    text = "```\n" + "".join([f"line {number}\n" for number in range(100)]) + "```\n"
    for line in text.splitlines(keepends=True):
        paper.now += 1
        paper.page.take(streamed(TextDelta(line)))
    lines = paper.take(answered(text)).split()
    assert [int(word) for word in lines if word.isdigit()] == list(range(100))


def test_message_with_more_than_was_streamed_is_completed(paper: Paper) -> None:
    assert paper.take(streamed(TextDelta("One ")), answered("One two")) == "One two"


def test_message_that_says_something_else_is_what_counts(paper: Paper) -> None:
    shown = paper.take(streamed(TextDelta("One")), answered("Two"))
    assert shown == "One\n\nThe answer was written down as this:\n\nTwo"


def test_message_told_twice_is_shown_once(paper: Paper) -> None:
    said = message("assistant", "One", position=2)
    assert paper.take(added(said), added(said)) == "One"


def test_words_of_another_surface_are_shown_and_ones_own_are_not(paper: Paper) -> None:
    paper.page.expect(TurnId("trn_mine"))
    own = message("user", "mine", position=1, turn=TurnId("trn_mine"))
    other = message("user", "theirs\nand more", position=2, turn=TurnId("trn_other"))
    assert paper.take(added(own), added(other)) == "> theirs\n  and more"


# Around the answer.


def test_reasoning_is_one_line(paper: Paper) -> None:
    assert paper.take(streamed(ReasoningDelta("Hm. "))) == "Thinking, 1 s …"
    assert paper.wait(9) == "Thinking, 9 s …"
    shown = paper.take(streamed(TextDelta("Yes.")), answered("Yes."))
    assert shown == "Thought for 9 s\n\nYes."


def test_reasoning_that_was_not_streamed_is_told_by_its_message(paper: Paper) -> None:
    thought = ReasoningPart("Hm.", duration_ms=65_000)
    shown = paper.take(added(message("assistant", thought, "Yes.", position=2)))
    assert shown == "Thought for 1 min 5 s\n\nYes."


def test_waiting_is_told_after_a_moment(paper: Paper) -> None:
    paper.take(attempt())
    assert paper.shown == ""
    assert paper.wait(0.5) == ""
    assert paper.wait(2.5) == "Working, 3 s …"
    assert paper.take(streamed(TextDelta("Yes.")), answered("Yes.")) == "Yes."


def test_tool_call_is_one_line(paper: Paper) -> None:
    assert paper.take(streamed(ToolCallDelta(CALL, "read_file", '{"pa'))) == "  Read file …"
    paper.now += 1
    assert paper.take(called("running")) == "  Read file notes.md  1 s …"
    assert paper.wait(3) == "  Read file notes.md  3 s …"
    assert paper.take(called("done", took=3200)) == "  Read file notes.md  3 s"


def test_tool_calls_side_by_side_are_lines_of_their_own(paper: Paper) -> None:
    other = ToolCallId("cal_2")
    paper.take(called("running"), called("running", call=other, arguments='{"path": "b.md"}'))
    paper.take(called("done", took=300, call=other, arguments='{"path": "b.md"}'))
    assert paper.wait(2) == "  Read file b.md  0.3 s\n  Read file notes.md  2 s …"


def test_output_of_a_tool_shows_its_last_line_while_it_runs(paper: Paper) -> None:
    paper.take(called("running"), streamed(ToolOutputDelta(CALL, "one\ntwo\x1b[2J\n")))
    assert paper.wait(2) == "  Read file notes.md  2 s …\n    two[2J"
    assert paper.take(called("done", took=2000)) == "  Read file notes.md  2 s"


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ("failed", "  Read file notes.md  failed, 2 s\n    No such file."),
        ("denied", "  Read file notes.md  not allowed, 2 s\n    No such file."),
        ("cancelled", "  Read file notes.md  stopped, 2 s"),
        ("unknown", "  Read file notes.md  unknown whether it took effect, 2 s"),
    ],
)
def test_tool_call_that_did_not_work_says_so_in_words(
    paper: Paper, state: ToolCallState, line: str
) -> None:
    assert paper.take(called(state, took=2000, result="No such file.")) == line


def test_long_object_makes_room_for_the_time(paper: Paper) -> None:
    shown = paper.take(called("done", took=300, arguments='{"command": "%s"}' % ("x" * 200)))
    assert shown.endswith("x…  0.3 s")
    assert len(shown) <= 60


def test_notice_is_a_line(paper: Paper) -> None:
    shown = paper.take(streamed(NoticeDelta("nest is slow. Trying again in 2 s.")))
    assert shown == "nest is slow. Trying again in 2 s."


def test_withdrawn_answer_is_said_to_be(paper: Paper) -> None:
    paper.take(streamed(TextDelta("One.\n\nTwo.\n\nThree")))
    shown = paper.take(rewound(), attempt(2), streamed(TextDelta("Other")), answered("Other"))
    assert shown.split("\n\n") == [
        "One.",
        "The answer broke off. What it said is withdrawn, and it\nbegins again.",
        "Other",
    ]


def kept(text: str) -> Changed:
    """What recovery makes of an attempt that a crash cut short."""
    return added(message("assistant", text, position=2, partial=True))


def went_on() -> Changed:
    return added(message("note", TextPart("It broke off.", "continuation"), position=3))


def test_answer_that_a_crash_cut_short_goes_on_where_it_was(paper: Paper) -> None:
    paper.take(streamed(TextDelta("One.\n\nTwo")))
    assert paper.take(rewound()) == "One.\n\nTwo"
    paper.take(kept("One.\n\nTwo"), went_on(), attempt(2), streamed(TextDelta("Three")))
    assert paper.wait(1).split("\n\n") == ["One.", "Two", "Continued", "Three"]


def test_answer_of_which_a_crash_left_less_is_shown_as_it_was_kept(paper: Paper) -> None:
    paper.take(streamed(TextDelta("One.\n\nTwo.\n\nThree")), rewound())
    paper.take(kept("One."), went_on(), attempt(2), streamed(TextDelta("Two")))
    kept_as = "The answer was written down as this:"
    assert paper.wait(1).split("\n\n") == [
        "One.",
        "Two.",
        "Three",
        kept_as,
        "One.",
        "Continued",
        "Two",
    ]


def test_answer_that_broke_off_and_is_not_begun_again_is_not_said_to_be(paper: Paper) -> None:
    shown = paper.take(streamed(TextDelta("One tw")), rewound(), ended("cancelled"))
    assert shown.startswith("The answer broke off. What it said is withdrawn.")


def test_attempt_that_had_said_nothing_is_withdrawn_silently(paper: Paper) -> None:
    assert paper.take(attempt(), rewound(), attempt(2), answered("Yes.")) == "Yes."


@pytest.mark.parametrize(
    ("state", "reason", "said"),
    [
        ("cancelled", None, "Stopped. What it said is kept."),
        (
            "failed",
            "stream-cut: The answer broke off.",
            "The answer broke off. Your message and 2 words of its answer\n"
            "are kept. /continue or /retry.",
        ),
        (
            "interrupted",
            "crashed: Roost stopped while it answered.",
            "Roost stopped while it answered. Your message and 2 words of\n"
            "its answer are kept. /continue or /retry.",
        ),
        (
            "completed",
            "length: The answer reached the model's limit.",
            "The answer reached the model's limit.",
        ),
    ],
)
def test_end_that_is_no_answer_is_explained(
    paper: Paper, state: TurnState, reason: str | None, said: str
) -> None:
    partial = message("assistant", "One two", position=2, partial=True)
    paper.take(streamed(TextDelta("One two")), added(partial), ended(state, reason))
    paper.page.pause()
    assert paper.shown == f"One two\n\n{said}"


def test_interruption_is_told_unless_it_goes_on(paper: Paper) -> None:
    paper.take(ended("interrupted", "crashed: Roost stopped."))
    assert paper.page.interrupted
    assert paper.take(ended("running"), answered("Yes.")) == "Yes."
    assert not paper.page.interrupted
    paper.page.pause()
    assert paper.shown == "Yes."


def test_turn_that_said_nothing_keeps_the_message(paper: Paper) -> None:
    assert paper.take(ended("cancelled")) == "Stopped. Your message is kept."
    paper = Paper()
    shown = paper.take(ended("failed", "key-refused: nest does not accept the key."))
    assert shown == ("nest does not accept the key. Your message is kept.\n/continue or /retry.")


# Harm.


def test_nothing_that_is_said_steers_the_terminal() -> None:
    paper = Paper()
    said = message("assistant", HOSTILE, position=2)
    paper.take(
        streamed(NoticeDelta(HOSTILE), ReasoningDelta(HOSTILE), TextDelta(HOSTILE)),
        called("running", name=HOSTILE, arguments='{"path": "\\u001b[2J\\u202e"}'),
        streamed(ToolOutputDelta(CALL, HOSTILE)),
        called("failed", name=HOSTILE, took=1, result=HOSTILE),
        added(said, message("user", HOSTILE, position=3, turn=TurnId("trn_other"))),
        ended("failed", HOSTILE),
    )
    paper.wait(2)
    paper.page.recall([said])
    paper.page.note(HOSTILE)
    # What is left is what the page itself does: lines up, and the rest of the screen erased.
    raw = paper.file.getvalue()
    assert {match[0] for match in CONTROL.finditer(raw)} <= {"\x1b[J"} | {
        f"\x1b[{lines}A" for lines in range(1, 20)
    }
    rest = CONTROL.sub("", raw)
    assert not {letter for letter in rest if letter < " " or "\x7f" <= letter < "\xa0"} - {*"\r\n"}
    assert "\u202e" not in rest


def test_without_a_terminal_only_what_is_final_is_written() -> None:
    paper = Paper(terminal=False)
    paper.take(streamed(ReasoningDelta("Hm.")), streamed(TextDelta("One")))
    paper.wait(2)
    paper.take(answered("One"))
    assert paper.file.getvalue() == "Thought for 1 s\n\nOne\n"


def test_colour_is_never_the_only_sign() -> None:
    plain, coloured = Paper(), Paper(color=True)
    for paper in (plain, coloured):
        paper.take(called("failed", took=100, result="No."), answered(ANSWER))
    assert coloured.shown == plain.shown
    assert "\x1b[36m" in coloured.file.getvalue()


def test_last_words_are_recalled_short(paper: Paper) -> None:
    long = "\n".join([f"- {number}" for number in range(50)])
    paper.page.recall([message("user", "List."), message("assistant", long, position=2)])
    lines = paper.shown.split("\n")
    assert lines[0] == "> List."
    assert lines[-1].strip() == "…"
    assert len(lines) < 15


def test_terminal_that_got_narrower_loses_nothing(paper: Paper) -> None:
    paper.take(called("done", took=300), streamed(TextDelta("One two")))
    paper.console.width = 40
    shown = paper.take(answered("One two"))
    assert shown.startswith("  Read file notes.md  0.3 s")
    assert shown.endswith("One two")
