"""A tool made of a typed function: its schema, its checks and its words come from the signature."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Generic, ParamSpec, cast, get_type_hints

import msgspec

from roost.llm.base import ToolSchema
from roost.tools.base import TOOL_SECONDS, Intent, ToolContext, ToolError, ToolOutput

P = ParamSpec("P")

_LEFT_OUT = ("title", "default")
"""Words of a schema that tell a model nothing which the description does not."""


class FunctionTool(Generic[P]):
    """See `tools.base.Tool`. The function's first parameter is the context."""

    def __init__(
        self,
        function: Callable[P, Awaitable[str | ToolOutput]],
        *,
        name: str | None,
        parallel: bool,
        seconds: float,
        intent: Callable[P, Awaitable[Intent | None]] | None,
    ) -> None:
        self.parallel = parallel
        self.seconds = seconds
        self._function = function
        self._intent = intent
        self._arguments = _arguments(function)
        chosen = name or cast("str", getattr(function, "__name__"))  # noqa: B009
        description = inspect.cleandoc(function.__doc__ or "")
        if not description:
            raise TypeError(f"the tool {chosen} says nothing of itself")
        self.schema = ToolSchema(chosen, description, _parameters(self._arguments))

    async def intent(self, arguments: str, context: ToolContext) -> Intent | None:
        if self._intent is None:
            return None
        return await cast("Any", self._intent)(context, **self._read(arguments))

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        answer = await cast("Any", self._function)(context, **self._read(arguments))
        return answer if isinstance(answer, ToolOutput) else ToolOutput.of(answer)

    def _read(self, arguments: str) -> dict[str, object]:
        try:
            given = msgspec.json.decode(arguments, type=self._arguments)
        except msgspec.ValidationError as error:
            raise ToolError(f"{_plain(error)} {self._takes()}") from error
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            raise ToolError(f"The arguments are not JSON: {error}.") from error
        return {name: getattr(given, name) for name in self._arguments.__struct_fields__}

    def _takes(self) -> str:
        fields = msgspec.structs.fields(self._arguments)
        names = [field.name if field.required else f"{field.name} (optional)" for field in fields]
        return f"{self.schema.name} takes {', '.join(names) or 'no arguments'}."


def tool(
    function: Callable[P, Awaitable[str | ToolOutput]],
    *,
    name: str | None = None,
    parallel: bool = False,
    seconds: float = TOOL_SECONDS,
    intent: Callable[P, Awaitable[Intent | None]] | None = None,
) -> FunctionTool[P]:
    """Make a tool of `async def name(context, path: str, lines: Annotated[int, Meta(ge=1)] = 100)`
    with a docstring that tells the model what it does. `intent` takes the same arguments."""
    return FunctionTool(function, name=name, parallel=parallel, seconds=seconds, intent=intent)


def _arguments(function: Callable[..., object]) -> type[msgspec.Struct]:
    hints = get_type_hints(function, include_extras=True)
    _, *parameters = inspect.signature(function).parameters.values()
    fields = [
        (each.name, hints[each.name])
        if each.default is inspect.Parameter.empty
        else (each.name, hints[each.name], each.default)
        for each in parameters
    ]
    return msgspec.defstruct("Arguments", fields, frozen=True, forbid_unknown_fields=True)


def _parameters(arguments: type[msgspec.Struct]) -> msgspec.Raw:
    schema = msgspec.json.schema(arguments)
    definitions = cast("dict[str, Any]", schema["$defs"])
    return msgspec.Raw(msgspec.json.encode(_inlined({"$ref": schema["$ref"]}, definitions)))


def _inlined(node: Any, definitions: dict[str, Any]) -> Any:  # noqa: ANN401
    """The schema in one piece, as every model takes it, without what only costs tokens."""
    if isinstance(node, list):
        return [_inlined(each, definitions) for each in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    given = cast("dict[str, Any]", node)
    if "$ref" in given:
        return _inlined(definitions[given["$ref"].rpartition("/")[2]], definitions)
    if given.get("type") == "object" and "properties" in given:
        properties = {
            name: _inlined(each, definitions) for name, each in given["properties"].items()
        }
        kept = {"type": "object", "properties": properties, "additionalProperties": False}
        return kept | ({"required": given["required"]} if given.get("required") else {})
    if "enum" in given:
        return {"type": "string", "enum": given["enum"]}
    choices = [each for each in given.get("anyOf", ()) if each.get("type") != "null"]
    if len(choices) == 1:  # what may be null may as well be left out
        return _inlined(choices[0], definitions)
    return {key: _inlined(each, definitions) for key, each in given.items() if key not in _LEFT_OUT}


def _plain(error: msgspec.ValidationError) -> str:
    """`Expected int, got str - at $.lines` as the model should read it."""
    said, _, place = str(error).partition(" - at `$.")
    return f"{place.rstrip('`')}: {said}." if place else f"{said}."
