"""What a model's answer must look like, and what is made of one that does not."""

from collections.abc import Iterator
from typing import cast

import msgspec
import pytest

from roost.core.ids import UserId
from roost.memory.extraction import (
    SCHEMA,
    SYSTEM,
    AnswerUnusable,
    Extraction,
    Named,
    Stated,
    extract,
    read,
)
from roost.memory.ports import Inquiry
from tests.unit.memory.remembering import SESSION, Model

FACT = '{"text": "Bob sails.", "turn": 1}'
GOOD = f'{{"facts": [{FACT}]}}'
INQUIRY = Inquiry(user=UserId("usr_ada"), session=SESSION, system=SYSTEM, text="?", schema=SCHEMA)


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here {{as asked}} it is:\n{GOOD}\nIs {{that}} all?",
        f'{{"note": "first"}} {GOOD}',
        f"{{{{{{ {GOOD}",
    ],
)
def test_json_is_found_whatever_stands_around_it(answer: str) -> None:
    assert [fact.text for fact in read(answer).facts] == ["Bob sails."]


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        ("I found nothing.", "no JSON object"),
        ("{" * 100_000, "no JSON object"),
        ('{"facts": [{"turn": 1}]}', "missing required field `text`"),
        ('{"facts": [{"text": "", "turn": 1}]}', "length >= 1"),
        ('{"facts": [{"text": "x", "turn": "1"}]}', "Expected `int`"),
        ('{"facts": [{"text": "x", "turn": 1, "kind": "secret"}]}', "Invalid enum value"),
        ('{"facts": [{"text": "x", "turn": 1, "trust": 1.0}]}', "unknown field `trust`"),
        (f'{{"facts": [{{"text": "{"x" * 501}", "turn": 1}}]}}', "length <= 500"),
        (f'{{"facts": [{", ".join([FACT] * 51)}]}}', "length <= 50"),
        ('{"fact": []}', "unknown field `fact`"),
    ],
)
def test_answer_of_another_shape_is_refused(answer: str, trouble: str) -> None:
    with pytest.raises(AnswerUnusable, match=trouble):
        read(answer)


async def test_wrong_answer_is_sent_back_once_with_what_is_wrong() -> None:
    model = Model()
    model.answers += ["Nothing.", GOOD]
    found = await extract(model, INQUIRY, turns=1, known=0)
    assert len(found.facts) == 1
    assert [asked.text.partition("\n\n")[0] for asked in model.asked] == ["?", "?"]
    assert "has no JSON object in it. Answer again" in model.asked[1].text


@pytest.mark.parametrize(
    "fact",
    [
        {"text": "x", "turn": 3},
        {"text": "x", "turn": 1, "replaces": [2]},
        {"text": "x", "turn": 1, "repeats": 2},
        {"text": " ", "turn": 1},
    ],
)
async def test_numbers_that_name_nothing_are_refused(fact: dict[str, object]) -> None:
    model = Model()
    model.plan(fact)
    model.plan(fact)
    with pytest.raises(AnswerUnusable):
        await extract(model, INQUIRY, turns=2, known=1)
    assert len(model.asked) == 2


def test_example_in_the_prompt_is_of_the_right_shape() -> None:
    example = SYSTEM[SYSTEM.index('{"facts"') : SYSTEM.index('\n\n- "turn"')]
    assert len(read(example).entities) == 1


# The schema, for models that can be held to one.

# What all of OpenAI, Anthropic and llama.cpp take in strict mode.
KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "enum"}


def objects(schema: dict[str, object]) -> Iterator[dict[str, object]]:
    assert set(schema) <= KEYWORDS
    if schema.get("type") == "object":
        yield schema
        for each in cast("dict[str, dict[str, object]]", schema["properties"]).values():
            yield from objects(each)
    if schema.get("type") == "array":
        yield from objects(cast("dict[str, object]", schema["items"]))


def test_schema_is_as_strict_as_vendors_want_it() -> None:
    found = [*objects(msgspec.json.decode(SCHEMA, type=dict[str, object]))]
    assert len(found) == 3
    for each in found:
        assert each["additionalProperties"] is False
        assert each["required"] == [*cast("dict[str, object]", each["properties"])]


def test_schema_names_what_is_read() -> None:
    root, fact, entity = objects(msgspec.json.decode(SCHEMA, type=dict[str, object]))
    for schema, struct in ((root, Extraction), (fact, Stated), (entity, Named)):
        fields = [field.name for field in msgspec.structs.fields(struct)]
        assert sorted(cast("list[str]", schema["required"])) == sorted(fields)
