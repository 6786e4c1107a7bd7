"""The `memory` tool: the agent keeps, finds and forgets what its user asked it to."""

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

import msgspec

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.facts import Fact, FactKind, NewFact
from roost.core.ids import FactId, new_fact_id
from roost.llm.base import ToolSchema
from roost.memory.base import Scope
from roost.memory.builtin import NAME, TOLD, USER, Builtin
from roost.tools.base import ToolContext, ToolError, ToolOutput

_DESCRIPTION = """\
Long-term memory of this user, across all sessions.
- remember: keep one fact, a sentence that can be understood by itself (`text`, `kind`, `entities`
  that it is about; the user is "user"; ids of facts that it `replaces`). Use it when the user asks
  for it, or corrects you for good: what was said in passing is kept without it. Never keep secrets.
- search: find facts by words (`text`).
- about: what is known of one of `entities`. connect: what is known of all of them together.
- contradictions: facts that can't all be true.
- forget: remove the fact `id`, when the user asks for it.
- rate: say whether the fact `id` turned out to be `right`."""

_LIMIT = 20

Action = Literal["remember", "search", "about", "connect", "contradictions", "forget", "rate"]


class Arguments(msgspec.Struct, frozen=True):
    action: Action
    text: str = ""
    kind: FactKind = "fact"
    entities: Annotated[tuple[str, ...], msgspec.Meta(max_length=10)] = ()
    replaces: Annotated[tuple[str, ...], msgspec.Meta(max_length=10)] = ()
    id: str = ""
    right: bool = True


_PARAMETERS = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": get_args(Action)},
        "text": {"type": "string"},
        "kind": {"type": "string", "enum": get_args(FactKind)},
        "entities": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        "replaces": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        "id": {"type": "string"},
        "right": {"type": "boolean"},
    },
    "required": ["action"],
}


class MemoryTool:
    """Whose memory it is follows from whom the call works for; the model has no say in it."""

    schema = ToolSchema("memory", _DESCRIPTION, msgspec.Raw(msgspec.json.encode(_PARAMETERS)))
    parallel = False
    seconds = 30.0

    def __init__(self, memory: Builtin, *, profile: str) -> None:
        self._memory = memory
        self._profile = profile

    async def intent(self, arguments: str, context: ToolContext) -> None:
        return None

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        scope = Scope(NAME, self._profile, context.user)
        try:
            given = msgspec.json.decode(arguments, type=Arguments)
            return ToolOutput.of(await self._run(given, scope, context))
        except (msgspec.MsgspecError, InvalidInput, NotFound, Conflict) as error:
            raise ToolError(str(error)) from error

    async def _run(self, given: Arguments, scope: Scope, context: ToolContext) -> str:
        match given.action:
            case "remember":
                return await self._remember(given, scope, context)
            case "search":
                return _listed(await self._memory.search(scope, given.text, limit=_LIMIT))
            case "about":
                return _listed(await self._memory.about(scope, _named(given)[0], limit=_LIMIT))
            case "connect":
                return _listed(await self._memory.connecting(scope, _named(given), limit=_LIMIT))
            case "contradictions":
                return await self._contradictions(scope)
            case "forget":
                fact = await self._memory.get(scope, _id(given))
                await self._memory.forget(scope, fact.id)
                return f"Forgot {fact.id}: {fact.text}"
            case "rate":
                fact = await self._memory.feedback(scope, _id(given), helpful=given.right)
                return f"Its trust is {fact.trust:.1f} now."

    async def _remember(self, given: Arguments, scope: Scope, context: ToolContext) -> str:
        fact = NewFact(
            id=new_fact_id(),
            text=given.text.strip(),
            kind=given.kind,
            entities=given.entities or (USER,),
            trust=TOLD,
            session=context.session,
            turn=context.turn,
            supersedes=tuple([FactId(id) for id in given.replaces]),
        )
        kept = await self._memory.remember(scope, fact, key=context.call)
        return f"Remembered as {kept.id}: {kept.text}"

    async def _contradictions(self, scope: Scope) -> str:
        found = await self._memory.contradictions(scope, limit=_LIMIT)
        lines = [
            f"{each.entity}, {each.attribute}: {_line(each.older)} / {_line(each.newer)}"
            for each in found
        ]
        return "\n".join(lines) or "Nothing is contradictory."


def _id(given: Arguments) -> str:
    if not given.id:
        raise ToolError(f"`{given.action}` needs the `id` of a fact; `search` shows ids.")
    return given.id


def _named(given: Arguments) -> Sequence[str]:
    if not given.entities:
        raise ToolError(f"`{given.action}` needs `entities`, at least one.")
    return given.entities


def _listed(facts: Sequence[Fact]) -> str:
    return "\n".join([_line(fact) for fact in facts]) or "Nothing is known."


def _line(fact: Fact) -> str:
    return f"[{fact.id}] {fact.text} (trust {fact.trust:.1f})"
