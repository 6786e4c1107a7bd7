"""What OpenViking is told of a segment."""

import msgspec

from roost.core.ids import BlobId, MessageId, ToolCallId, TurnId
from roost.core.messages import (
    ContextPart,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from roost.memory.openviking.messages import BATCH_BYTES, batches, told


def _message(role: Role, *parts: Part) -> Message:
    return Message(MessageId("msg_1"), role, parts, TurnId("trn_1"), created_at=1_800_000_000_000)


def test_what_was_said_goes_out_with_its_turn_and_time() -> None:
    assert told([_message("user", TextPart("Hello."))]) == [
        {
            "role": "user",
            "parts": [{"type": "text", "text": "Hello."}],
            "created_at": "2027-01-15T08:00:00+00:00",
            "turn_id": "trn_1",
            "message_kind": "user_query",
            "source_message_ids": ["msg_1"],
        }
    ]


def test_what_roost_added_stays_here() -> None:
    recalled = ContextPart("Recalled memories", "You live in Oslo.")
    messages = [
        _message("user", recalled, TextPart("Where do I live?")),
        _message("note", TextPart("A summary.")),
        _message("assistant", ReasoningPart("Hm."), TextPart("  ")),
        _message("assistant"),
    ]
    assert [each["parts"] for each in told(messages)] == [
        [{"type": "text", "text": "Where do I live?"}]
    ]


def test_of_tools_it_hears_what_was_asked_but_not_what_they_returned() -> None:
    messages = [
        _message(
            "assistant",
            ToolCallPart(ToolCallId("cal_1"), "read", '{"path": "a"}'),
            ToolCallPart(ToolCallId("cal_2"), "read", "{broken"),
            ToolCallPart(ToolCallId("cal_3"), "write", f'{{"text": "{"x" * 9_000}"}}'),
        ),
        _message(
            "tool",
            ToolResultPart(ToolCallId("cal_1"), (TextPart("The user hates tea."),)),
            ToolResultPart(ToolCallId("cal_2"), (TextPart("No."),), error=True),
        ),
    ]
    [one] = told(messages)
    parts = msgspec.convert(one["parts"], list[dict[str, object]])
    assert [part["tool_status"] for part in parts] == ["completed", "error", "pending"]
    assert [part["tool_input"] for part in parts[:2]] == [{"path": "a"}, {"arguments": "{broken"}]
    assert len(str(parts[2]["tool_input"])) < 8_100
    assert "hates tea" not in str(one)


def test_what_was_attached_is_named() -> None:
    named = ImagePart(BlobId("b"), "image/png", "plan.png")
    [one] = told([_message("user", named, ImagePart(BlobId("c"), "image/png"))])
    texts = [{"type": "text", "text": text} for text in ("[plan.png]", "[image/png]")]
    assert one["parts"] == texts


def test_batches_are_small_enough_and_whole() -> None:
    small = told([_message("user", TextPart(str(number))) for number in range(250)])
    assert [len(batch) for batch in batches(small)] == [100, 100, 50]
    large = told([_message("user", TextPart("x" * (BATCH_BYTES // 2))) for _ in range(3)])
    assert [len(batch) for batch in batches(large)] == [1, 1, 1]
    assert list(batches([])) == []
