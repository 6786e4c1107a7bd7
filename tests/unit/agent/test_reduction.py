"""What of a history may go: never what is open, pinned or new, and no call without its result."""

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from roost.agent.reduction import listed, plan, transcript
from roost.core.ids import new_message_id, new_tool_call_id
from roost.core.messages import (
    Message,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    plain_text,
)


def message(role: Role, text: str = "", *, pinned: bool = False) -> Message:
    return Message(new_message_id(), role, (TextPart(text),), pinned=pinned)


def work(text: str, *, answered: bool = True) -> list[Message]:
    """An answer that calls a tool, and what the tool said."""
    call = ToolCallPart(new_tool_call_id(), "read", "{}")
    said = [Message(new_message_id(), "assistant", (call,))]
    if answered:
        result = ToolResultPart(call.call, (TextPart(text),))
        said.append(Message(new_message_id(), "tool", (result,)))
    return said


def size(message: Message) -> int:
    """A token is a character."""
    total = 0
    for part in message.parts:
        if isinstance(part, TextPart):
            total += len(part.text)
        elif isinstance(part, ToolResultPart):
            total += len(plain_text(part.content))
    return total


def sizes(messages: Sequence[Message]) -> int:
    return sum([size(message) for message in messages])


def conversation(turns: int, words: int = 100) -> list[Message]:
    said = [("user", "q" * words), ("assistant", "a" * words)] * turns
    return [message("user" if role == "user" else "assistant", text) for role, text in said]


def test_cutting_down_old_results_goes_first() -> None:
    history = [message("user", "q"), *work("x" * 5000), *conversation(4)]
    found = plan(history, size, excess=4000, tail=400)
    assert found.middle == ()
    (shorter,) = found.pruned
    assert shorter.id == history[2].id
    (part,) = shorter.parts
    assert isinstance(part, ToolResultPart)
    assert "characters left out" in plain_text(part.content)
    assert size(shorter) < 1000


def test_middle_goes_if_results_are_not_enough() -> None:
    history = [*conversation(1), *work("x" * 2000), *conversation(10)]
    found = plan(history, size, excess=2500, tail=400)
    assert found.pruned == ()
    assert found.middle[0].id == history[1].id
    assert history[0] not in found.middle
    assert sizes(history[-4:]) == 400
    assert not set(found.middle) & set(history[-4:])


def test_nothing_can_go_from_a_short_history() -> None:
    history = conversation(1)
    found = plan(history, size, excess=1000, tail=10_000)
    assert (found.pruned, found.middle) == ((), ())


def test_last_block_stays_even_if_it_is_too_large() -> None:
    history = [*conversation(2), *work("x" * 100_000)]
    found = plan(history, size, excess=90_000, tail=0)
    assert history[-1] not in found.middle
    assert history[-2] not in found.middle
    assert found.pruned == ()


def block(kind: str, length: int) -> list[Message]:
    match kind:
        case "user":
            return [message("user", "u" * length)]
        case "assistant":
            return [message("assistant", "a" * length)]
        case "note":
            return [message("note", "n" * length)]
        case "pinned":
            return [message("user", "p" * length, pinned=True)]
        case _:
            return work("r" * length * 3)


blocks = st.builds(
    block, st.sampled_from(["user", "assistant", "note", "pinned", "work"]), st.integers(1, 900)
)


@given(
    st.lists(blocks, max_size=20), st.booleans(), st.integers(-100, 20_000), st.integers(0, 5000)
)
def test_calls_keep_their_results_and_what_must_stay_stays(
    drawn: list[list[Message]], at_work: bool, excess: int, tail: int
) -> None:
    history = [message for block in drawn for message in block]
    if at_work:
        history += work("", answered=False)
    found = plan(history, size, excess=excess, tail=tail)
    gone = {message.id for message in found.middle}
    kept = [message for message in history if message.id not in gone]
    called = [part.call for m in kept for part in m.parts if isinstance(part, ToolCallPart)]
    answered = [part.call for m in kept for part in m.parts if isinstance(part, ToolResultPart)]
    assert answered == called[: len(answered)]
    assert len(called) - len(answered) == at_work
    assert [m for m in history if m.pinned] == [m for m in kept if m.pinned]
    assert history[-1:] == kept[-1:]
    firsts = [m for m in history if m.role == "user"][:1]
    assert firsts == [m for m in firsts if m in kept]
    # Either results are cut down, which is enough, or the middle goes.
    assert not (found.pruned and found.middle)
    originals = {message.id: message for message in history}
    saved = sum([size(originals[m.id]) - size(m) for m in found.pruned])
    assert not found.pruned or saved >= max(excess, 1)


def test_list_holds_the_newest_words_that_fit() -> None:
    said = [message("user", f"Question {n}. " + "x" * 300) for n in range(50)]
    text = listed(said, 2000)
    assert len(text) <= 2000
    assert "Question 49." in text
    assert "Question 0." not in text
    assert text.index("Question 48.") < text.index("Question 49.")


def test_transcript_shows_calls_and_cuts_long_messages() -> None:
    history = [message("user", "x" * 1000), *work("done")]
    told = transcript(history, longest=300)
    assert told[0].startswith("User:\n")
    assert len(told[0]) < 330
    assert "[calls read: {}]" in told[1]
    assert "[result: done]" in told[2]
    failed = msgspec.structs.replace(
        history[2],
        parts=(ToolResultPart(new_tool_call_id(), (TextPart("no"),), error=True),),
    )
    assert "[failed: no]" in transcript([failed], longest=300)[0]
