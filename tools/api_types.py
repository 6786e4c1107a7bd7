"""Writes web/src/api/types.ts: what the API takes and gives, from its OpenAPI document."""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from roost import __version__
from roost.http.app import ENDPOINTS
from roost.http.openapi import document

FILE = Path(__file__).parents[1] / "web" / "src" / "api" / "types.ts"
Schema = Mapping[str, Any]
_HEAD = "// Written by tools/api_types.py (make types) from the OpenAPI document.\n"
_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def types() -> str:
    api: Schema = json.loads(document(ENDPOINTS, version=__version__))
    schemas: Schema = api["components"]["schemas"]
    calls = {
        f"{method.upper()} {path}": operation
        for path, operations in api["paths"].items()
        if path.startswith("/api/")
        for method, operation in operations.items()
    }
    used = _reached(calls, schemas)
    named = [f"export type {_name(each)} = {_type(schemas[each])};\n" for each in sorted(used)]
    listed = [f"  {json.dumps(call)}: {_call(calls[call])};\n" for call in calls]
    return "\n".join([_HEAD, *named, "export type Calls = {\n" + "".join(listed) + "};\n"])


def _reached(calls: object, schemas: Schema) -> set[str]:
    """What is named in these calls, and in what is named there."""
    found: set[str] = set()
    waiting = _references(calls)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= _references(schemas[name])
    return found


def _references(value: object) -> set[str]:
    return set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(value)))


def _name(schema: str) -> str:
    return schema.rpartition(".")[2]


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return _name(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join([json.dumps(each) for each in schema["enum"]])
    if "anyOf" in schema:
        return " | ".join([_type(each) for each in schema["anyOf"]])
    if isinstance(schema.get("type"), list):
        return " | ".join([_PLAIN[each] for each in schema["type"]])
    match schema.get("type"):
        case "array":
            items = schema.get("items")
            return f"Array<{_type(items)}>" if items else "unknown[]"
        case "object":
            return _object(schema)
        case None:
            return "unknown"
        case plain:
            return _PLAIN[plain]


def _object(schema: Schema) -> str:
    properties: Schema = schema.get("properties", {})
    required = schema.get("required", ())
    if not properties:
        more = cast("Schema | bool", schema.get("additionalProperties", True))
        return f"Record<string, {'unknown' if isinstance(more, bool) else _type(more)}>"
    return _fields({name: _type(each) for name, each in properties.items()}, required)


def _fields(types: Mapping[str, str], required: Iterable[str]) -> str:
    mark = {name: "" if name in required else "?" for name in types}
    return "{ " + " ".join([f"{name}{mark[name]}: {each};" for name, each in types.items()]) + " }"


def _call(operation: Schema) -> str:
    """What one call takes (`path`, `query`, `body`) and what it answers."""
    given = {place: _parameters(operation, place) for place in ("path", "query")}
    body = operation.get("requestBody")
    given["body"] = "undefined" if body is None else _content(body)
    good = next(each for code, each in operation["responses"].items() if code.startswith("2"))
    given["answer"] = _content(good)
    return _fields(given, given)


def _parameters(operation: Schema, place: str) -> str:
    found = [each for each in operation.get("parameters", ()) if each["in"] == place]
    if not found:
        return "undefined"
    types = {each["name"]: _type(each["schema"]) for each in found}
    return _fields(types, [each["name"] for each in found if each.get("required")])


def _content(holder: Schema) -> str:
    for kind, content in cast("Mapping[str, Schema]", holder.get("content", {})).items():
        if kind == "application/json":
            return _type(content.get("schema", {}))
        if "x-event" in content:
            return _type(content["x-event"])
        return "Blob"
    return "undefined"


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(types())
    sys.stdout.write(f"{FILE.name} written.\n")
