"""Every operation of the OpenAPI document, asked by those who may not: nobody, a token that may
only read, a member, another page of the owner's browser, and another user with the owner's ids."""

from typing import cast

import pytest

from roost.core.identities import FOR_ADMINS
from tests.security.house import SECRET, Answer, House
from tests.security.operations import ALL, BODIES, DOCUMENT, Operation

CHANGING = [each for each in ALL if each.scope in ("chat", "admin", "account")]
COOKIED = [each for each in ALL if not each.is_safe and each.scope is not None]


def ids(operation: object) -> str:
    return str(operation)


def test_every_operation_is_attacked() -> None:
    assert len(ALL) == sum(len(each) for each in DOCUMENT["paths"].values())
    assert {str(each) for each in ALL if each.has_body} == set(BODIES)


def refused(answer: Answer, status: int, of: str) -> None:
    assert answer.status == status, f"{of}: {answer.text[:300]}"
    assert SECRET not in answer.text
    expected = "application/json" if " /v1/" in of else "application/problem+json"
    assert answer.headers["content-type"] == expected


@pytest.mark.parametrize("operation", [each for each in ALL if each.is_safe], ids=ids)
def test_owner_is_let_in(house: House, operation: Operation) -> None:
    """Otherwise the others would be refused for nothing."""
    answer = house.ask("GET", operation.target(house.ids), token=house.owner.token)
    missing = "/files/content", "/replaced", "/picture"
    assert answer.status == (404 if operation.path.endswith(missing) else 200), answer.text


@pytest.mark.parametrize("operation", [each for each in ALL if each.scope], ids=ids)
@pytest.mark.parametrize(
    "credential",
    [
        "none",
        "a made-up token",
        "a made-up cookie",
        "the token as a cookie",
        "the cookie as a token",
    ],
)
def test_nobody_is_let_in(house: House, operation: Operation, credential: str) -> None:
    token, cookie = {
        "none": (None, None),
        "a made-up token": ("roost_" + "0" * 26 + "_" + "0" * 52, None),
        "a made-up cookie": (None, "A" * 43),
        "the token as a cookie": (None, house.owner.token),
        "the cookie as a token": (house.owner.cookie, None),
    }[credential]
    target = operation.target(house.ids)
    origin = [("Origin", house.origin)]
    answer = house.ask(
        operation.method, target, operation.body, token=token, cookie=cookie, headers=origin
    )
    refused(answer, 401, str(operation))
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("operation", CHANGING, ids=ids)
def test_token_that_may_read_changes_nothing(house: House, operation: Operation) -> None:
    before = house.state()
    answer = house.ask(
        operation.method,
        operation.target(house.ids),
        operation.body,
        token=house.owner.reader,
    )
    refused(answer, 403, str(operation))
    assert house.state() == before


@pytest.mark.parametrize("operation", [each for each in ALL if each.scope == "account"], ids=ids)
def test_token_that_may_talk_does_not_see_to_the_account(
    house: House, operation: Operation
) -> None:
    before, target = house.state(), operation.target(house.ids)
    answer = house.ask(operation.method, target, operation.body, token=house.owner.talker)
    refused(answer, 403, str(operation))
    assert house.state() == before


@pytest.mark.parametrize("operation", [each for each in ALL if each.scope in FOR_ADMINS], ids=ids)
@pytest.mark.parametrize("via", ["token", "browser"])
def test_member_is_no_admin(house: House, operation: Operation, via: str) -> None:
    before = house.state()
    answer = house.ask(
        operation.method,
        operation.target(house.ids),
        operation.body,
        token=house.bob.token if via == "token" else None,
        cookie=house.bob.cookie if via == "browser" else None,
        headers=[("Origin", house.origin)],
    )
    refused(answer, 403, str(operation))
    assert house.state() == before


@pytest.mark.parametrize("operation", COOKIED, ids=ids)
@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Origin", "https://evil.example")],
        [("Origin", "null")],
        [("Origin", "")],
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site"), ("Origin", "http://127.0.0.1:1")],
    ],
    ids=["no origin", "foreign", "null", "empty", "cross-site", "another port"],
)
def test_other_pages_can_not_use_the_cookie(
    house: House, operation: Operation, headers: list[tuple[str, str]]
) -> None:
    before = house.state()
    answer = house.ask(
        operation.method,
        operation.target(house.ids),
        operation.body,
        cookie=house.owner.cookie,
        headers=headers,
    )
    refused(answer, 403, str(operation))
    assert house.state() == before


@pytest.mark.parametrize(
    "operation",
    [each for each in ALL if each.names_things and each.scope in ("read", "chat", "account")],
    ids=ids,
)
@pytest.mark.parametrize("via", ["token", "browser"])
def test_things_of_another_are_not_found(house: House, operation: Operation, via: str) -> None:
    before = house.state()
    answer = house.ask(
        operation.method,
        operation.target(house.ids),
        operation.body,
        token=house.bob.token if via == "token" else None,
        cookie=house.bob.cookie if via == "browser" else None,
        headers=[("Origin", house.origin)],
    )
    # His token was an admin's; now it does not even see to his own account.
    status = 403 if operation.scope == "account" and via == "token" else 404
    refused(answer, status, str(operation))
    assert house.state() == before


@pytest.mark.parametrize(
    "operation",
    [each for each in ALL if each.is_safe and each.scope in ("read", "account")],
    ids=ids,
)
def test_nothing_of_another_is_in_any_list(house: House, operation: Operation) -> None:
    answer = house.ask("GET", operation.target(house.ids), cookie=house.bob.cookie)
    assert answer.status in (200, 404)
    for name in ("session", "turn", "message", "approval", "fact", "rule", "token", "sign_in"):
        if operation.path.endswith((f"{{{name}}}", "events")) or name in operation.names:
            continue
        assert house.ids[name] not in answer.text
    text = answer.text.replace(f"{SECRET} token", "").replace(f"{SECRET} browser", "")
    assert SECRET not in text


NAMED: dict[str, tuple[str, str, object]] = {
    "a file in a message": (
        "POST",
        "/api/sessions/{own}/turns",
        {"text": "x", "files": [{"file": "{file}", "name": "x"}]},
    ),
    "a message to branch at": ("POST", "/api/sessions/{own}/branch", {"at": "{message}"}),
    "a turn to cancel": ("POST", "/api/sessions/{own}/cancel", {"turn": "{turn}"}),
    "a turn to retry": ("POST", "/api/sessions/{own}/retry", {"turn": "{turn}"}),
    "a turn to undo": ("POST", "/api/sessions/{own}/undo", {"turn": "{turn}"}),
    "a turn of a path": ("GET", "/api/sessions/{own}/turns/{turn}", None),
    "a turn to edit": ("PUT", "/api/sessions/{own}/turns/{turn}", {"text": "x"}),
    "a turn that waits": ("PUT", "/api/sessions/{own}/queue/{turn}", {"text": "x"}),
    "a turn to remove": ("DELETE", "/api/sessions/{own}/queue/{turn}", None),
    "a message to pin": ("PUT", "/api/sessions/{own}/messages/{message}/pin", None),
    "a message to unpin": ("DELETE", "/api/sessions/{own}/messages/{message}/pin", None),
    "a session for a rule": (
        "POST",
        "/api/rules",
        {"rule": "careful", "decision": "allow", "session": "{session}"},
    ),
    "a session for a route": ("PUT", "/api/routes/web", {"session": "{session}"}),
    "a session in a header": (
        "POST",
        "/v1/chat/completions",
        {"model": "roost", "messages": [{"role": "user", "content": "x"}]},
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_things_of_another_can_not_be_named_elsewhere(house: House, name: str) -> None:
    method, path, body = NAMED[name]
    own = house.ask("POST", "/api/sessions", {}, token=house.bob.token).json["id"]
    known = {**house.ids, "own": own}
    before = house.state()
    answer = house.ask(
        method,
        path.format_map(known),
        _filled(body, known),
        token=house.bob.token,
        headers=[("X-Roost-Session", house.ids["session"])],
    )
    refused(answer, 404, f"{method} {path}")
    assert house.state() == before


def _filled(body: object, known: dict[str, str]) -> object:
    if isinstance(body, dict):
        return {
            name: _filled(value, known) for name, value in cast("dict[str, object]", body).items()
        }
    if isinstance(body, list):
        return [_filled(value, known) for value in cast("list[object]", body)]
    return body.format_map(known) if isinstance(body, str) else body


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/sessions", {"previous": "{session}"}),
        ("/api/sessions", {"id": "{session}"}),
        ("/api/memory/facts", {"text": "x", "replaces": ["{fact}"]}),
    ],
    ids=["the session before a new one", "a session's id", "a memory to replace"],
)
def test_what_names_things_of_another_leaves_them_alone(
    house: House, path: str, body: object
) -> None:
    before = house.state()
    answer = house.ask("POST", path, _filled(body, house.ids), token=house.bob.token)
    assert answer.status in (201, 400, 404)
    assert SECRET not in answer.text
    assert house.state() == before


@pytest.mark.parametrize(
    "query",
    ["/api/search?words=canary&session={session}", "/api/memory/facts?before={fact}"],
    ids=["search", "memories"],
)
def test_queries_find_nothing_of_another(house: House, query: str) -> None:
    answer = house.ask("GET", query.format_map(house.ids), token=house.bob.token)
    assert answer.status in (400, 404) or answer.json in ({"hits": []}, {"facts": []})
    assert SECRET not in answer.text
