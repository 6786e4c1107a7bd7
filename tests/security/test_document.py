"""schemathesis over the OpenAPI document: no 500, no undocumented status, no other shape."""

import os
from collections.abc import Mapping
from typing import Any, cast

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis import checks as of_all
from schemathesis.specs.openapi import checks as of_openapi

from tests.security.house import House
from tests.security.operations import DOCUMENT

# Not `positive_data_acceptance`: what is well formed can still be refused for what it means, such
# as a time zone that is none.
_general: Any = of_all
_documented: Any = of_openapi
CHECKS: list[Any] = [
    _general.not_a_server_error,
    _documented.status_code_conformance,
    _documented.content_type_conformance,
    _documented.response_schema_conformance,
    _documented.response_headers_conformance,
    _documented.negative_data_rejection,
    _documented.missing_required_header,
    _documented.unsupported_method,
]
EXAMPLES = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 6
SECONDS = 60

ENDLESS = frozenset({"GET /api/events", "GET /api/sessions/{session}/events"})
"""Streams that end with their listener: tests/contract/test_http_streams.py reads them."""


def _open_to_all() -> dict[str, Any]:
    """Who may not is the matter of test_every_operation.py; here nobody is to be turned away for
    what they are."""
    paths: dict[str, Any] = {
        path: {method: {**each, "security": []} for method, each in operations.items()}
        for path, operations in DOCUMENT["paths"].items()
    }
    components = {"schemas": DOCUMENT["components"]["schemas"]}
    return {**DOCUMENT, "paths": paths, "components": components}


schema: Any = schemathesis.openapi.from_dict(_open_to_all())
REJECTED = ["400", "404", "409", "413", "415"]
schema.config.checks.negative_data_rejection.expected_statuses = REJECTED
OPERATIONS: dict[str, Any] = {
    f"{found.ok().method.upper()} {found.ok().path}": found.ok()
    for found in schema.get_all_operations()
}


def test_all_but_endless_streams_are_tried() -> None:
    documented = {
        f"{method.upper()} {path}" for path, each in DOCUMENT["paths"].items() for method in each
    }
    assert documented == set(OPERATIONS)
    assert documented > ENDLESS


@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - ENDLESS))
@pytest.mark.parametrize("mode", ["valid", "invalid"])
def test_answers_are_as_documented(house: House, name: str, mode: str) -> None:
    operation = OPERATIONS[name]
    token, ids = house.fresh([each.name for each in operation.path_parameters])
    wanted = GenerationMode.POSITIVE if mode == "valid" else GenerationMode.NEGATIVE
    cases = operation.as_strategy(generation_mode=wanted)

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(case=cases, real=st.booleans())
    def attempt(case: Any, real: bool) -> None:  # noqa: ANN401
        if real and mode == "valid":
            _name_real_things(case, ids)
        _stay_here(case, house)
        case.call_and_validate(
            base_url=house.origin,
            session=session,
            headers={"Authorization": f"Bearer {token}"},
            checks=CHECKS,
            timeout=SECONDS,
        )

    with requests.Session() as session:
        try:
            attempt()
        except Unsatisfiable:
            # There is nothing that could be wrong: it takes nothing, or whatever there is.
            assert mode == "invalid"


def _name_real_things(case: Any, ids: Mapping[str, str]) -> None:  # noqa: ANN401
    named: dict[str, str] = case.path_parameters or {}
    named |= {name: ids[name] for name in named}


def _stay_here(case: Any, house: House) -> None:  # noqa: ANN401
    """No provider is elsewhere than on this machine."""
    body: Any = case.body
    if isinstance(body, dict) and isinstance(cast("Any", body).get("base_url"), str):
        body["base_url"] = house.models.openai_url
