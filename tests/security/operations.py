"""Every operation of the OpenAPI document, with a request that its handler would take."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from roost.core.identities import Need
from roost.http.app import ENDPOINTS
from roost.http.openapi import document

DOCUMENT: dict[str, Any] = msgspec.json.decode(document(ENDPOINTS, version="test"))

BODIES: Mapping[str, object] = {
    "POST /api/sign-in": {"secret": "x"},
    "PATCH /api/me": {"locale": "de"},
    "PUT /api/me/password": {"new": "a long enough password"},
    "POST /api/tokens": {"name": "mine", "scopes": ["read"]},
    "POST /api/sessions": {},
    "PATCH /api/sessions/{session}": {"title": "Mine"},
    "POST /api/sessions/{session}/branch": {},
    "POST /api/sessions/{session}/compact": {},
    "POST /api/sessions/{session}/turns": {"text": "Mine"},
    "PUT /api/sessions/{session}/turns/{turn}": {"text": "Mine"},
    "PUT /api/sessions/{session}/queue/{turn}": {"text": "Mine"},
    "POST /api/sessions/{session}/cancel": {},
    "POST /api/sessions/{session}/retry": {},
    "POST /api/sessions/{session}/undo": {},
    "POST /api/approvals/{approval}": {"decision": "approved"},
    "POST /api/rules": {"rule": "careful", "decision": "allow"},
    "POST /api/schedules": {
        "name": "Mine",
        "when": {"kind": "every", "spec": "1h"},
        "text": "Mine",
    },
    "PATCH /api/schedules/{schedule}": {"text": "Mine"},
    "POST /api/schedules/{schedule}/run": {},
    "PUT /api/channels/{channel}": {"kind": "webhook"},
    "POST /api/pairings/approve": {"code": "K7QF-2MXA"},
    "POST /api/pairings/block": {"channel": "small", "sender": "1"},
    "POST /api/pairings/forget": {"channel": "small", "sender": "1"},
    "PUT /api/routes/{route}": {"session": "ses_00000000000000000000000000"},
    "POST /api/memory/facts": {"text": "Mine"},
    "PATCH /api/memory/facts/{fact}": {"text": "Mine"},
    "POST /api/memory/facts/{fact}/rate": {"helpful": False},
    "PATCH /api/models": {},
    "PUT /api/providers/{provider}": {"vendor": "compatible", "base_url": "http://127.0.0.1:9"},
    "POST /api/providers/{provider}/test": {},
    "PATCH /api/settings": {},
    "POST /api/users": {"name": "Mine"},
    "PATCH /api/users/{user}": {"role": "member"},
    "PUT /api/users/{user}/password": {"new": "a long enough password"},
    "POST /api/users/{user}/tokens": {"name": "mine", "scopes": ["read"]},
    "POST /api/users/{user}/link": {},
    "PUT /api/users/{user}/caps": {"day_tokens": 0},
    "POST /v1/chat/completions": {
        "model": "roost",
        "messages": [{"role": "user", "content": "Mine"}],
    },
}
QUERIES: Mapping[str, str] = {
    "GET /api/search": "?words=canary",
    "GET /api/schedules/ahead": "?kind=every&spec=1h",
    "GET /api/sessions/{session}/files/content": "?path=a.txt",
}
OF_NOBODY = frozenset({"route", "channel", "provider", "model", "user", "epoch", "process"})
"""What paths name that is no thing of one user's alone."""


class Operation(NamedTuple):
    method: str
    path: str
    names: tuple[str, ...]
    scope: Need | None
    has_body: bool

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def body(self) -> object:
        return BODIES[str(self)] if self.has_body else None

    @property
    def is_safe(self) -> bool:
        return self.method == "GET"

    @property
    def names_things(self) -> bool:
        return bool(set(self.names) - OF_NOBODY)

    def target(self, ids: Mapping[str, str]) -> str:
        return self.path.format_map(ids) + QUERIES.get(str(self), "")


def _operations() -> list[Operation]:
    scopes: dict[tuple[str, str], Need | None]
    scopes = {(each.method, each.path.replace(":path", "")): each.scope for each in ENDPOINTS}
    return [
        Operation(
            method.upper(),
            path,
            tuple([each["name"] for each in operation["parameters"] if each["in"] == "path"]),
            scopes[method.upper(), path],
            "application/json" in operation.get("requestBody", {}).get("content", {})
            and path != "/api/import",
        )
        for path, operations in DOCUMENT["paths"].items()
        for method, operation in operations.items()
    ]


ALL = _operations()
