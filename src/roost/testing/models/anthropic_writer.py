"""Messages, as Anthropic writes them."""

from collections.abc import Mapping

import msgspec

from roost.testing.models.failures import Failure, anthropic_error, anthropic_failure
from roost.testing.models.prompt import Json
from roost.testing.models.script import Fail
from roost.testing.models.writer import Block, Counts, Ending, Writer, sse

_encode = msgspec.json.encode

_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
_DELTAS = {
    "text": (b"text_delta", b"text"),
    "thought": (b"thinking_delta", b"thinking"),
    "call": (b"input_json_delta", b"partial_json"),
}


class AnthropicWriter(Writer):
    @property
    def headers(self) -> Mapping[str, str]:
        return {"request-id": self._request_id}

    @property
    def _request_id(self) -> str:
        return f"req_{self.request.number:06}"

    def call_id(self, index: int) -> str:
        return f"toolu_{self.request.number:06}_{index}"

    def _message(self, content: list[Json], usage: Json, ending: Json) -> Json:
        return {
            "id": f"msg_{self.request.number:06}",
            "type": "message",
            "role": "assistant",
            "model": self.request.model,
            "content": content,
            **ending,
            "usage": usage,
        }

    def begin(self, counts: Counts) -> bytes:
        usage = _usage(counts) | {"output_tokens": 1}
        usage.pop("output_tokens_details")
        started = self._message([], usage, {"stop_reason": None, "stop_sequence": None})
        return _event({"type": "message_start", "message": started}) + _event({"type": "ping"})

    def opened(self, block: Block) -> bytes:
        if block.kind == "refusal":
            return b""
        empty = msgspec.structs.replace(block, tokens=[])
        shown = _content(empty, finished=False)
        return _event(
            {"type": "content_block_start", "index": self._index(block), "content_block": shown}
        )

    def _index(self, block: Block) -> int:
        return [each.index for each in self.blocks if each.kind != "refusal"].index(block.index)

    def delta(self, block: Block, token: str) -> bytes:
        if block.redacted or block.kind == "refusal":
            return b""
        kind, field = _DELTAS[block.kind]
        return sse(
            b'{"type":"content_block_delta","index":%d,"delta":{"type":"%s","%s":%s}}'
            % (self._index(block), kind, field, _encode(token)),
            "content_block_delta",
        )

    def closed(self, block: Block) -> bytes:
        if block.kind == "refusal":
            return b""
        index = self._index(block)
        sent = b""
        if block.kind == "thought" and not block.redacted:
            seal = {"type": "signature_delta", "signature": block.seal}
            sent = _event({"type": "content_block_delta", "index": index, "delta": seal})
        return sent + _event({"type": "content_block_stop", "index": index})

    def end(self, ending: Ending) -> bytes:
        usage = _usage(ending.counts)
        usage.pop("cache_creation")
        usage.pop("service_tier")
        delta: Json = {"type": "message_delta", "delta": self._ending(ending), "usage": usage}
        return _event(delta) + _event({"type": "message_stop"})

    def _ending(self, ending: Ending) -> Json:
        refusals = [block.text for block in self.blocks if block.kind == "refusal"]
        reason = _REASONS.get(ending.reason, ending.reason)
        if refusals:
            reason = "refusal"
        found: Json = {"stop_reason": reason, "stop_sequence": None}
        if reason == "refusal":
            explanation = "".join(refusals) or None
            found["stop_details"] = {
                "type": "refusal",
                "category": None,
                "explanation": explanation,
            }
        return found

    def whole(self, ending: Ending) -> Json:
        content = [
            _content(block, finished=True) for block in self.blocks if block.kind != "refusal"
        ]
        return self._message(content, _usage(ending.counts), self._ending(ending))

    def failure(self, fail: Fail) -> Failure:
        return anthropic_failure(fail)

    def error_body(self, failure: Failure) -> Json:
        return anthropic_error(failure, self._request_id)

    def error_event(self, failure: Failure) -> bytes:
        return _event(anthropic_error(failure, self._request_id))


def _event(event: Json) -> bytes:
    return sse(_encode(event), str(event["type"]))


def _content(block: Block, *, finished: bool) -> Json:
    if block.kind == "text":
        return {"type": "text", "text": block.text}
    if block.kind == "call":
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": _input(block)}
    if block.redacted:
        return {"type": "redacted_thinking", "data": block.seal}
    seal = block.seal if finished else ""
    return {"type": "thinking", "thinking": block.text, "signature": seal}


def _input(block: Block) -> object:
    """Arguments that are no object can only be streamed."""
    try:
        return msgspec.json.decode(block.text or "{}", type=dict[str, object])
    except msgspec.MsgspecError:
        return {}


def _usage(counts: Counts) -> Json:
    written = counts.cache_write_tokens
    return {
        "input_tokens": counts.input_tokens - counts.cached_tokens - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": counts.cached_tokens,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": counts.output_tokens,
        "output_tokens_details": {"thinking_tokens": counts.reasoning_tokens},
        "service_tier": "standard",
    }
