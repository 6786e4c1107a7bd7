"""Puts an answer together from the pieces a stream brings, in the order they came."""

import msgspec

from roost.core.errors import NoAnswer, ReplyMalformed
from roost.core.events import ReasoningDelta, TextDelta, ToolCallDelta
from roost.core.ids import ToolCallId, new_tool_call_id
from roost.core.messages import Part, ReasoningPart, TextPart, ToolCallPart
from roost.core.usage import Usage
from roost.llm.base import Finished, FinishReason
from roost.llm.render import origin


class _Words(msgspec.Struct):
    """Text or reasoning that is still growing. `payload` is what its maker wants back."""

    thought: bool
    pieces: list[str]
    payload: str | None = None


class _Call(msgspec.Struct):
    id: ToolCallId
    wire_id: str | None
    name: str
    pieces: list[str]


class Answer:
    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._origin = origin(provider, model)
        self._parts: list[_Words | _Call] = []
        self._calls: dict[object, _Call] = {}

    @property
    def empty(self) -> bool:
        return not self._parts

    def say(self, text: str) -> TextDelta:
        self._words(thought=False).pieces.append(text)
        return TextDelta(text)

    def think(self, text: str) -> ReasoningDelta:
        self._words(thought=True).pieces.append(text)
        return ReasoningDelta(text)

    def keep(self, payload: str, *, apart: bool = False) -> None:
        """Remember what the maker of the last thought wants back with it. A thought that has one is
        complete; `apart` makes one that has nothing else."""
        last = self._parts[-1] if self._parts else None
        if apart or not (isinstance(last, _Words) and last.thought and last.payload is None):
            last = _Words(True, [])
            self._parts.append(last)
        last.payload = payload

    def own(self, payload: str) -> None:
        """Where the maker wants one thing back for all of its thoughts: it goes with the first."""
        thoughts = [part for part in self._parts if isinstance(part, _Words) and part.thought]
        if payload and not thoughts:
            thoughts = [_Words(True, [])]
            self._parts.insert(0, thoughts[0])
        for thought in thoughts:
            thought.payload, payload = payload, ""

    def _words(self, *, thought: bool) -> _Words:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, _Words) and last.thought == thought and last.payload is None:
            return last
        words = _Words(thought, [])
        self._parts.append(words)
        return words

    def call(
        self, key: object, name: str | None, wire_id: str | None, arguments: str
    ) -> ToolCallDelta:
        """A tool call begins; `key` is how the stream will speak of it."""
        if not name:
            raise ReplyMalformed("a tool call without a name", provider=self._provider)
        call = _Call(new_tool_call_id(), wire_id or None, name, [arguments] if arguments else [])
        self._parts.append(call)
        self._calls[key] = call
        return ToolCallDelta(call.id, name, arguments)

    def extend(self, key: object, arguments: str) -> ToolCallDelta:
        call = self._calls.get(key)
        if call is None:
            raise ReplyMalformed("arguments for no tool call", provider=self._provider)
        call.pieces.append(arguments)
        return ToolCallDelta(call.id, call.name, arguments)

    def finish(self, reason: FinishReason, usage: Usage | None) -> Finished:
        """The whole answer. One with nothing in it is a failure, not an empty success."""
        parts = tuple([self._part(part) for part in self._parts])
        if not any(isinstance(part, TextPart | ToolCallPart) for part in parts):
            raise NoAnswer(model=self._model)
        if reason == "stop" and any(isinstance(part, ToolCallPart) for part in parts):
            reason = "tool_calls"
        return Finished(parts, reason, usage)

    def _part(self, part: _Words | _Call) -> Part:
        text = "".join(part.pieces)
        if isinstance(part, _Call):
            # A call that needs no arguments often comes with none at all.
            return ToolCallPart(part.id, part.name, text or "{}", part.wire_id)
        if part.thought:
            return ReasoningPart(text, part.payload, self._origin)
        return TextPart(text)
