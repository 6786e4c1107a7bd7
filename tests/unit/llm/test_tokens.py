"""The estimate of what a request takes, against the counts of a real vocabulary."""

import json
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.ids import BlobId, new_message_id, new_tool_call_id
from roost.core.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from roost.core.usage import Usage
from roost.llm.base import Request, ToolSchema
from roost.llm.families import family_of
from roost.llm.scripts import SAMPLED, census
from roost.llm.tokens import PER_MESSAGE, Estimator, Ratio, Size

FIXTURES = Path(__file__).parents[2] / "fixtures" / "tokens"
COUNTS: dict[str, list[int]] = json.loads((FIXTURES / "counts.json").read_bytes())
KINDS = sorted(COUNTS)
KNOWN = "smollm2-135m-instruct"
UNKNOWN = "heron-9"
"""No family of its own: the first guess is that of a large vocabulary, which is far off here."""

Passage = tuple[str, int]


def passages(kind: str) -> list[Passage]:
    texts = (FIXTURES / f"{kind}.txt").read_text("utf-8").split("\n=====\n")
    return list(zip(texts, COUNTS[kind], strict=True))


def message(*parts: Part, role: Role = "user") -> Message:
    return Message(new_message_id(), role, parts)


def asking(texts: list[str], model: str = KNOWN) -> Request:
    return Request(model=model, messages=tuple([message(TextPart(text)) for text in texts]))


def reported(request: Request, tokens: int, *, cached: int = 0, output: int = 0) -> Usage:
    return Usage(
        "nest",
        request.model,
        input_tokens=tokens,
        cached_tokens=cached,
        output_tokens=output,
        reasoning_tokens=output,
    )


def conversation(seen: list[Passage], model: str) -> tuple[Request, int]:
    """A request with these passages, and the tokens that a provider would report for it."""
    tokens = sum([count for _, count in seen]) + PER_MESSAGE * len(seen)
    return asking([text for text, _ in seen], model), tokens


def calibrated(kinds: list[str], model: str) -> Estimator:
    """One that has seen the first half of each kind, three times over."""
    estimator = Estimator()
    for _ in range(3):
        for kind in kinds:
            for end in (1, 2, 3):
                request, tokens = conversation(passages(kind)[:end], model)
                estimator.observe(request, reported(request, tokens))
    return estimator


def off(estimator: Estimator, seen: list[Passage], model: str) -> float:
    request, tokens = conversation(seen, model)
    return abs(estimator.estimate(request, "nest") / tokens - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_known_family_is_within_10_percent_even_before_the_first_report(kind: str) -> None:
    assert off(Estimator(), passages(kind), KNOWN) < 0.1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [KNOWN, UNKNOWN])
def test_calibrated_estimate_is_within_10_percent_of_texts_it_has_not_seen(
    kind: str, model: str
) -> None:
    assert off(calibrated([kind], model), passages(kind)[3:], model) < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_one_calibration_serves_every_kind_of_text(kind: str) -> None:
    assert off(calibrated(KINDS, KNOWN), passages(kind)[3:], KNOWN) < 0.1


def test_unknown_family_is_far_off_before_it_is_calibrated() -> None:
    """Else the tests above would show nothing."""
    assert off(Estimator(), passages("chinese"), UNKNOWN) > 0.4


def test_scripts_are_corrected_apart() -> None:
    """After Chinese and English in turn both are right, though one needs twice as much."""
    estimator = calibrated(["chinese", "english"], UNKNOWN)
    assert off(estimator, passages("chinese")[3:], UNKNOWN) < 0.1
    assert off(estimator, passages("english")[3:], UNKNOWN) < 0.1


def test_models_and_providers_are_calibrated_apart() -> None:
    estimator = calibrated(["chinese"], UNKNOWN)
    request, tokens = conversation(passages("chinese"), UNKNOWN)
    assert estimator.estimate(request, "elsewhere") < tokens * 0.6
    other = msgspec.structs.replace(request, model="egret-1")
    assert estimator.estimate(other, "nest") < tokens * 0.6


def test_reports_that_can_not_be_right_change_nothing() -> None:
    estimator = calibrated(["english"], KNOWN)
    request, tokens = conversation(passages("english"), KNOWN)
    before = estimator.estimate(request, "nest")
    for wrong in (0, 1, tokens // 4, tokens * 4, 10**9):
        estimator.observe(request, reported(request, wrong))
    assert estimator.estimate(request, "nest") == before


def test_a_few_strange_reports_do_little_harm() -> None:
    estimator = calibrated(["english"], KNOWN)
    request, tokens = conversation(passages("english"), KNOWN)
    estimator.observe(request, reported(request, tokens * 2))
    assert off(estimator, passages("english"), KNOWN) < 0.15
    for _ in range(5):
        estimator.observe(request, reported(request, tokens))
    assert off(estimator, passages("english"), KNOWN) < 0.1


def test_cached_and_hidden_tokens_do_not_matter() -> None:
    plain, other = Estimator(), Estimator()
    request, tokens = conversation(passages("json"), KNOWN)
    plain.observe(request, reported(request, tokens))
    other.observe(request, reported(request, tokens, cached=tokens - 10, output=50_000))
    assert plain.estimate(request, "nest") == other.estimate(request, "nest")


def test_short_requests_teach_little() -> None:
    """A vendor's own words around three of ours are not our words' doing."""
    estimator = Estimator()
    hello = asking(["Hello there!"])
    for _ in range(3):
        estimator.observe(hello, reported(hello, estimator.estimate(hello, "nest") * 2))
    assert off(estimator, passages("english"), KNOWN) < 0.15


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(0, 2_000_000))))
def test_ratio_stays_within_bounds_whatever_is_reported(
    reports: list[tuple[float, float, int]],
) -> None:
    ratio = Ratio()
    for plain, wide, tokens in reports:
        ratio = ratio.learn(Size(plain, wide), tokens)
        assert 0.3 <= ratio.plain <= 3
        assert 0.3 <= ratio.wide <= 3


@given(st.text(st.characters(), max_size=200))
def test_any_text_can_be_counted(text: str) -> None:
    assert 0 <= sum(census(text)) <= 4 * len(text)


def test_sample_of_a_long_text_stands_for_the_whole() -> None:
    pieces = [text for kind in KINDS for text, _ in passages(kind)] * 12
    long = "\n".join(pieces)
    assert len(long) > 2 * SAMPLED
    family = family_of(KNOWN)
    counted = sum([family.plain(census(piece)) + family.wide(census(piece)) for piece in pieces])
    sampled = family.plain(census(long)) + family.wide(census(long))
    assert abs(sampled / counted - 1) < 0.1


def test_megabytes_are_counted_in_milliseconds() -> None:
    estimator, request = Estimator(), asking(["word " * 4_000_000])
    began = time.process_time()
    tokens = estimator.estimate(request, "nest")
    assert time.process_time() - began < 0.5
    assert abs(tokens / 4_000_000 - 1) < 0.1


def test_long_history_costs_nothing_to_estimate_again() -> None:
    estimator = Estimator()
    request = asking([passages("english")[n % 6][0] for n in range(1000)])
    size = estimator.measure(request.messages, KNOWN, "nest")
    first = estimator.estimate(request, "nest")
    began = time.process_time()
    for _ in range(100):
        assert estimator.estimate(request, "nest", size) == first
    assert (time.process_time() - began) / 100 < 0.002


def test_message_that_is_still_growing_is_counted_again() -> None:
    estimator = Estimator()
    begun = msgspec.structs.replace(message(TextPart("One word.")), partial=True)
    grown = msgspec.structs.replace(begun, parts=(TextPart("Many words. " * 50),))
    before = estimator.estimate(Request(model=KNOWN, messages=(begun,)), "nest")
    after = estimator.estimate(Request(model=KNOWN, messages=(grown,)), "nest")
    assert after > before * 10


def test_sizes_add_up() -> None:
    estimator = Estimator()
    request = asking(["A word or two.", "Noch ein paar Wörter.", "三つの言葉"])
    one, *rest = [estimator.measure([each], KNOWN, "nest") for each in request.messages]
    for size in rest:
        one += size
    whole = estimator.measure(request.messages, KNOWN, "nest")
    assert abs(whole.plain - one.plain) + abs(whole.wide - one.wide) < 1e-6
    assert estimator.estimate(request, "nest", one) == estimator.estimate(request, "nest")


CALL = new_tool_call_id()
WORDS = "Some words that are worth a few tokens, all in all. " * 4


@pytest.mark.parametrize(
    ("part", "least", "most"),
    [
        (TextPart(WORDS), 40, 60),
        (ToolCallPart(CALL, "read_file", '{"path": "notes/today.md"}'), 10, 25),
        (ToolResultPart(CALL, (TextPart(WORDS), ImagePart(BlobId("b"), "image/png"))), 1000, 2000),
        (ReasoningPart(WORDS, "sig", f"nest/{KNOWN}"), 40, 60),
        (ReasoningPart(WORDS, "sig", "nest/another"), 0, 0),
        (ImagePart(BlobId("b"), "image/png"), 500, 2000),
        (FilePart(BlobId("b"), "application/pdf", "a.pdf", 600_000), 5_000, 30_000),
        (FilePart(BlobId("b"), "application/pdf", "a.pdf", 600_000, sent=True), 1, 20),
        (FilePart(BlobId("text"), "text/plain", "a.txt", 9), 40, 60),
        (FilePart(BlobId("gone"), "text/plain", "a.txt", 4000), 900, 1100),
        (UnknownPart(b"{}"), 0, 0),
    ],
)
def test_every_kind_of_part_has_a_size(part: Part, least: int, most: int) -> None:
    blobs = {BlobId("text"): WORDS.encode()}
    request = Request(model=KNOWN, messages=(message(part),), blobs=blobs)
    assert least <= Estimator().estimate(request, "nest") - PER_MESSAGE <= most


def test_system_prompt_and_tools_count() -> None:
    schema = msgspec.Raw(b'{"type":"object","properties":{"path":{"type":"string"}}}')
    tool = ToolSchema("read_file", "Read a file of the workspace.", schema)
    estimator = Estimator()
    bare = Request(model=KNOWN, messages=())
    assert estimator.estimate(bare, "nest") == 0
    with_system = msgspec.structs.replace(bare, system=WORDS)
    assert 40 <= estimator.estimate(with_system, "nest") <= 60
    with_tools = msgspec.structs.replace(bare, tools=(tool,))
    assert 20 <= estimator.estimate(with_tools, "nest") <= 45
    changed = ToolSchema("read_file", WORDS * 5, schema)
    more = estimator.estimate(msgspec.structs.replace(bare, tools=(changed,)), "nest")
    assert more > 200
