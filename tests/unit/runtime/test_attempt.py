"""What an attempt has streamed: exact from any point on, and compact."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from roost.core.events import (
    Delta,
    Deltas,
    NoticeDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolOutputDelta,
)
from roost.core.ids import SessionId, Token, ToolCallId, TurnId
from roost.runtime.attempt import CHUNK, Attempt

LS = ToolCallId("cal_1")
CAT = ToolCallId("cal_2")

texts = st.text(max_size=3)
calls = st.sampled_from([LS, CAT])
deltas = st.one_of(
    st.builds(TextDelta, texts),
    st.builds(TextDelta, texts),
    st.builds(ReasoningDelta, texts),
    st.builds(NoticeDelta, texts),
    st.builds(ToolOutputDelta, calls, texts),
    st.builds(ToolCallDelta, calls, st.sampled_from(["ls", ""]), texts),
)
streams = st.one_of(
    st.lists(deltas, max_size=20),
    # Long enough to be joined, more than once.
    st.lists(deltas, min_size=CHUNK - 1, max_size=2 * CHUNK + 2),
)


def attempt_of(streamed: list[Delta]) -> Attempt:
    attempt = Attempt(SessionId("ses_1"), TurnId("trn_1"), 1, Token(1))
    for delta in streamed:
        attempt.add(delta)
    return attempt


def merged(streamed: list[Delta]) -> tuple[Delta, ...]:
    """One by one, the slow way."""
    result: list[Delta] = []
    for delta in streamed:
        match (result[-1] if result else None), delta:
            case TextDelta() as last, TextDelta():
                result[-1] = TextDelta(last.text + delta.text)
            case ReasoningDelta() as last, ReasoningDelta():
                result[-1] = ReasoningDelta(last.text + delta.text)
            case ToolOutputDelta() as last, ToolOutputDelta() if last.call == delta.call:
                result[-1] = ToolOutputDelta(delta.call, last.text + delta.text)
            case ToolCallDelta() as last, ToolCallDelta() if (
                last.call,
                last.name,
            ) == (delta.call, delta.name):
                result[-1] = ToolCallDelta(delta.call, delta.name, last.arguments + delta.arguments)
            case _:
                result.append(delta)
    return tuple(result)


@given(streams)
def test_whatever_came_after_any_seq_is_told_exactly(streamed: list[Delta]) -> None:
    attempt = attempt_of(streamed)
    for seq in range(len(streamed)):
        expected = Deltas(seq + 1, len(streamed), merged(streamed[seq:]))
        assert attempt.since(seq) == expected
    assert attempt.since(len(streamed)) is None


@given(streams, st.lists(st.booleans(), min_size=2 * CHUNK + 2, max_size=2 * CHUNK + 2))
def test_pieces_taken_while_it_streams_add_up_to_all_of_it(
    streamed: list[Delta], takes: list[bool]
) -> None:
    attempt = attempt_of([])
    seq = 0
    for delta, take in zip(streamed, takes, strict=False):
        start = attempt.last_seq
        assert attempt.add(delta) == start + 1
        if take and (piece := attempt.since(seq)) is not None:
            assert piece == Deltas(
                seq + 1, attempt.last_seq, merged(streamed[seq : attempt.last_seq])
            )
            seq = piece.last_seq
    assert attempt.deltas() == merged(streamed)


def test_seq_beyond_what_was_streamed_has_nothing_after_it() -> None:
    attempt = attempt_of([TextDelta("a")])
    assert attempt.since(1) is None
    assert attempt.since(7) is None


def test_each_notice_stays_a_sentence_of_its_own() -> None:
    notices: list[Delta] = [NoticeDelta("Asking again."), NoticeDelta("Asking another model.")]
    assert attempt_of(notices).deltas() == tuple(notices)


def test_long_answer_takes_little_more_than_its_text() -> None:
    words = [f"{n % 10_000:04}" for n in range(25_000)]
    streamed: list[Delta] = [TextDelta(word) for word in words]
    empty = attempt_of([])
    tracemalloc.start()
    try:
        attempt = attempt_of(streamed)
        # What it holds of these texts it has copied: the list keeps its own.
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert attempt.size == 100_000
    assert taken < 350_000
    assert empty.since(0) is None
