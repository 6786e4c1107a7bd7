"""The document of the API: complete, and true to the handlers."""

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest

from roost.http.app import ENDPOINTS
from roost.http.openapi import document

DOCUMENT: dict[str, Any] = msgspec.json.decode(document(ENDPOINTS, version="1.2.3"))
OPERATIONS = [
    pytest.param(path, method, operation, id=operation["operationId"])
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in cast("dict[str, object]", node).items():
            if name == "$ref":
                yield str(value)
            yield from references(value)
    elif isinstance(node, list):
        for value in cast("list[object]", node):
            yield from references(value)


def test_every_reference_leads_somewhere() -> None:
    known = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    found = set(references(DOCUMENT))
    assert found
    assert found <= known


def test_every_endpoint_is_one_operation() -> None:
    assert len(OPERATIONS) == len(ENDPOINTS)
    assert DOCUMENT["info"]["version"] == "1.2.3"


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_operation_says_what_it_takes_and_what_it_answers(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
    assert named == set(re.findall(r"{(\w+)}", path))
    assert operation["summary"]
    statuses = set(operation["responses"])
    assert len([status for status in statuses if status < "300"]) == 1
    if operation["security"]:
        assert {"401", "403"} <= statuses
        assert operation["x-scope"] in ("read", "chat", "account", "admin", "metrics")
    if "requestBody" in operation:
        assert {"413", "415"} <= statuses
    wrong = "application/json" if path.startswith("/v1/") else "application/problem+json"
    for status, answer in operation["responses"].items():
        if status >= "400":
            assert list(answer["content"]) == [wrong]


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_only_reading_is_done_with_get(path: str, method: str, operation: dict[str, Any]) -> None:
    """Some is not for every token, also to see; signing out changes nothing of one's own."""
    scope = operation.get("x-scope")
    if method == "get":
        assert scope in ("read", "account", "admin", "metrics")
    elif operation["security"] and path != "/api/sign-out":
        assert scope in ("chat", "account", "admin")
