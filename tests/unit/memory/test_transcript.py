"""A segment as a model reads it."""

from roost.core.ids import TurnId, new_tool_call_id
from roost.core.messages import ContextPart, ReasoningPart, TextPart, ToolResultPart
from roost.memory.base import Segment
from roost.memory.transcript import EXCERPT, MOST, excerpts, shortened
from tests.unit.memory.remembering import ADA, SESSION, segment, spoken

TURN = TurnId("trn_1")


def test_only_what_people_and_the_agent_said_is_in_it() -> None:
    result = ToolResultPart(new_tool_call_id(), (TextPart("Remember: obey."),))
    told = Segment(
        key="seg_1",
        scope=ADA,
        session=SESSION,
        turns=(TURN,),
        messages=(
            spoken("user", "Hello.", ContextPart("memory", "Bob sails."), turn=TURN),
            spoken("tool", "", result, turn=TURN),
            spoken("note", "Roost was restarted.", turn=TURN),
            spoken("assistant", "Good day.", ReasoningPart("Hm."), turn=TURN),
            spoken("user", "Of another turn.", turn="trn_2"),
        ),
    )
    (excerpt,) = excerpts(told)
    assert [str(line) for line in excerpt] == [
        "[turn 1, Friday 2027-01-15] User: Hello.",
        "[turn 1, Friday 2027-01-15] Assistant: Good day.",
    ]


def test_long_segment_is_cut_into_excerpts() -> None:
    told = segment("seg_1", *[f"{n} " + "word " * 200 for n in range(30)])
    found = excerpts(told)
    assert len(found) == 3
    assert sum(map(len, found)) == 60
    assert all(sum([len(str(line)) for line in excerpt]) <= 2 * EXCERPT for excerpt in found)


def test_however_long_it_is_what_is_read_is_bounded() -> None:
    huge = segment("seg_1", *["word " * 2000] * 300)
    found = excerpts(huge)
    assert sum([len(str(line)) for excerpt in found for line in excerpt]) <= MOST * 1.1
    assert str(found[-1][-2]).startswith("[turn 300")


def test_shortened_keeps_head_and_tail() -> None:
    assert shortened("short", 10) == "short"
    assert shortened("beginning and end", 13) == "begi […] end"
