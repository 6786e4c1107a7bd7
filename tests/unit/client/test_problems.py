"""What went wrong at a server is the same error here."""

import msgspec
import pytest

from roost.client.problems import error_of
from roost.core.errors import AccessRefused, InvalidInput, NotFound, RoostError
from roost.http.problems import status_of


def every_kind(kind: type[RoostError] = RoostError) -> list[type[RoostError]]:
    known = [sub for sub in kind.__subclasses__() if sub.__module__ == kind.__module__]
    return [kind, *[each for sub in known for each in every_kind(sub)]]


@pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.__name__)
def test_every_error_comes_back_in_the_same_words(kind: type[RoostError]) -> None:
    body = msgspec.json.encode({"type": f"urn:roost:{kind.code}", "detail": "So {it} is."})
    error = error_of(status_of(InvalidInput("")), body)
    assert type(error) is kind
    assert str(error) == "So {it} is."
    assert error.facts == {}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidInput),
        (403, AccessRefused),
        (404, NotFound),
        (413, InvalidInput),
        (500, RoostError),
    ],
)
def test_problem_without_a_name_is_known_by_its_status(status: int, kind: type[RoostError]) -> None:
    error = error_of(status, b'{"type":"about:blank","detail":"No."}')
    assert (type(error), str(error)) == (kind, "No.")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"detail":1}'])
def test_answer_that_is_no_problem_is_an_error_too(body: bytes) -> None:
    assert str(error_of(502, body)) == "It answered with 502."


def test_newer_kind_is_an_error_too() -> None:
    error = error_of(409, b'{"type":"urn:roost:of-tomorrow","detail":"Not today."}')
    assert str(error) == "Not today."
