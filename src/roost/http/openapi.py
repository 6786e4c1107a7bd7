"""The OpenAPI document, made from the handlers: what they take is what it says."""

import inspect
import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, cast, get_origin

import msgspec
from starlette.responses import Response

from roost.http.endpoint import PATTERNS, Endpoint
from roost.http.problems import MEDIA_TYPE, Problem

_REF = "#/components/schemas/{name}"


def document(endpoints: Sequence[Endpoint], *, version: str) -> bytes:
    kinds = [kind for each in endpoints for kind in _kinds(each)]
    schemas, components = msgspec.json.schema_components([*kinds, Problem], ref_template=_REF)
    found = dict(zip([_key(kind) for kind in (*kinds, Problem)], schemas, strict=True))
    paths: dict[str, dict[str, object]] = {}
    for each in endpoints:
        path = re.sub(r":path}", "}", each.path)
        paths.setdefault(path, {})[each.method.lower()] = _operation(each, found)
    schemes = {
        "token": {"type": "http", "scheme": "bearer", "description": "A token of `roost token`."},
        "cookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": "roost",
            "description": "Of a browser that signed in; over https it is called __Host-roost.",
        },
    }
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Roost", "version": version},
            "paths": paths,
            "components": {"schemas": components, "securitySchemes": schemes},
        }
    )


def _key(kind: object) -> str:
    return repr(kind)


def _kinds(endpoint: Endpoint) -> Iterable[object]:
    if "body" in endpoint.kinds:
        yield endpoint.kinds["body"]
    if "query" in endpoint.kinds:
        yield from [field.type for field in msgspec.structs.fields(endpoint.kinds["query"])]
    if _is_json(endpoint):
        yield endpoint.returns
    if endpoint.sends is not None:
        yield endpoint.sends
    yield endpoint.wrong


def _is_json(endpoint: Endpoint) -> bool:
    returns = get_origin(endpoint.returns) or endpoint.returns
    is_response = isinstance(returns, type) and issubclass(returns, Response)
    return returns is not type(None) and not is_response


def _operation(endpoint: Endpoint, schemas: dict[str, dict[str, Any]]) -> dict[str, object]:
    summary, _, description = inspect.cleandoc(endpoint.handler.__doc__ or "").partition("\n")
    operation: dict[str, object] = {
        "operationId": f"{endpoint.handler.__module__.rpartition('.')[2]}_"
        f"{cast('Any', endpoint.handler).__name__}",
        "summary": summary,
        "tags": [endpoint.handler.__module__.rpartition(".")[2]],
        "parameters": _parameters(endpoint, schemas),
        "responses": _responses(endpoint, schemas),
        "security": [] if endpoint.scope is None else [{"token": []}, {"cookie": []}],
    }
    if endpoint.scope is not None:
        operation["x-scope"] = endpoint.scope
    if description.strip():
        operation["description"] = description.strip()
    if "body" in endpoint.kinds:
        content = {"application/json": {"schema": schemas[_key(endpoint.kinds["body"])]}}
        required = not endpoint.body_optional
        operation["requestBody"] = {"required": required, "content": content}
    elif endpoint.takes is not None:
        operation["requestBody"] = {"required": True, "content": {endpoint.takes: {}}}
    return operation


def _parameters(endpoint: Endpoint, schemas: dict[str, dict[str, Any]]) -> list[object]:
    found: list[object] = []
    for name in endpoint.names:
        kind = endpoint.kinds[name]
        schema: dict[str, object] = {"type": "integer" if kind is int else "string"}
        if kind in PATTERNS:
            schema["pattern"] = PATTERNS[kind].removesuffix(r"(?!\n)")
        found.append({"name": name, "in": "path", "required": True, "schema": schema})
    found += [
        {"name": header, "in": "header", "schema": {"type": "string"}}
        for header in endpoint.headers.values()
    ]
    query = endpoint.kinds.get("query")
    fields = () if query is None else msgspec.structs.fields(query)
    return found + [
        {
            "name": field.encode_name,
            "in": "query",
            "required": field.required,
            "schema": schemas[_key(field.type)],
        }
        for field in fields
    ]


def _responses(endpoint: Endpoint, schemas: dict[str, dict[str, Any]]) -> dict[str, object]:
    done: dict[str, object] = {"description": HTTPStatus(endpoint.status).phrase}
    content: dict[str, object] = {}
    if _is_json(endpoint):
        content["application/json"] = {"schema": schemas[_key(endpoint.returns)]}
    for kind in endpoint.answers:
        shape = "object" if kind == "application/json" else "string"
        answer: dict[str, object] = {"schema": {"type": shape}}
        if endpoint.sends is not None:
            answer["x-event"] = schemas[_key(endpoint.sends)]
        content[kind] = answer
    if content:
        done["content"] = content
    wrong = MEDIA_TYPE if endpoint.wrong is Problem else "application/json"
    problem = {wrong: {"schema": schemas[_key(endpoint.wrong)]}}
    responses: dict[str, object] = {str(endpoint.status): done}
    for status in _problems(endpoint):
        responses[str(int(status))] = {"description": status.phrase, "content": problem}
    return responses


def _problems(endpoint: Endpoint) -> list[HTTPStatus]:
    """What may go wrong follows from what is asked for."""
    found = [HTTPStatus.BAD_REQUEST, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.MISDIRECTED_REQUEST]
    if endpoint.scope is not None:
        found += [HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN]
    if endpoint.names:
        found.append(HTTPStatus.NOT_FOUND)
    if endpoint.method != "GET":
        found += [
            HTTPStatus.FORBIDDEN,
            HTTPStatus.NOT_FOUND,
            HTTPStatus.CONFLICT,
            HTTPStatus.TOO_MANY_REQUESTS,
            HTTPStatus.BAD_GATEWAY,
            HTTPStatus.INSUFFICIENT_STORAGE,
        ]
    if "body" in endpoint.kinds or endpoint.takes is not None:
        found += [
            HTTPStatus.REQUEST_TIMEOUT,
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        ]
    return sorted(set(found))
