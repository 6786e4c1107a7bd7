"""The `ask_user` tool: what is asked, and what was said."""

import pytest

from roost.tools.ask_user import ASK_USER
from roost.tools.base import ToolError
from tests.unit.tools.calling import answered, context_of, told, written


async def test_question_goes_to_the_person_as_it_is() -> None:
    asked = written(question="Which port?", choices=["80", "443"])
    intent = await ASK_USER.intent(asked, context_of())
    assert intent is not None
    assert (intent.kind, intent.asks) == ("question", True)
    assert (intent.subject, intent.choices) == ("Which port?", ("80", "443"))


async def test_answer_is_what_the_person_said() -> None:
    context = context_of(approval=answered("8080, please"))
    assert await told(ASK_USER, context, question="Which port?") == "8080, please"


async def test_no_answer_is_an_error_that_the_model_reads() -> None:
    with pytest.raises(ToolError, match="no answer"):
        await told(ASK_USER, question="Which port?")


@pytest.mark.parametrize(
    "arguments",
    [{}, {"question": ""}, {"question": "Which?", "choices": ["x"] * 11}, {"question": 7}],
)
async def test_wrong_question_is_not_asked(arguments: dict[str, object]) -> None:
    with pytest.raises(ToolError):
        await ASK_USER.intent(written(**arguments), context_of())
