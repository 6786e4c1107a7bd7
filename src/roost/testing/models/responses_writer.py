"""Responses, as OpenAI writes them."""

from collections.abc import Mapping

import msgspec

from roost.testing.models.failures import Failure, openai_error, openai_failure
from roost.testing.models.prompt import Json
from roost.testing.models.request import ModelRequest
from roost.testing.models.script import Fail, Quirk
from roost.testing.models.writer import Block, Counts, Ending, Writer, sse

_encode = msgspec.json.encode

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_PREFIX = {"text": "msg", "refusal": "msg", "thought": "rs", "call": "fc"}
_DELTA = {
    "text": "response.output_text.delta",
    "refusal": "response.refusal.delta",
    "call": "response.function_call_arguments.delta",
    "thought": "response.reasoning_summary_text.delta",
}


class ResponsesWriter(Writer):
    def __init__(self, request: ModelRequest, quirks: frozenset[Quirk]) -> None:
        super().__init__(request, quirks)
        self._sequence = -1

    @property
    def headers(self) -> Mapping[str, str]:
        return {"x-request-id": f"req_{self.request.number:06}"}

    def call_id(self, index: int) -> str:
        return f"call_{self.request.number:06}_{index}"

    def _event(self, kind: str, **fields: object) -> bytes:
        self._sequence += 1
        return sse(_encode({"type": kind, "sequence_number": self._sequence, **fields}), kind)

    def begin(self, counts: Counts) -> bytes:
        response = self._response("in_progress", [])
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def opened(self, block: Block) -> bytes:
        empty = msgspec.structs.replace(block, tokens=[])
        item = self._item(empty, "in_progress")
        place = self._place(block)
        sent = self._event("response.output_item.added", output_index=block.index, item=item)
        if block.kind in ("text", "refusal"):
            sent += self._event("response.content_part.added", **place, part=_part(empty))
        elif block.kind == "thought" and not block.redacted:
            part = {"type": "summary_text", "text": ""}
            sent += self._event("response.reasoning_summary_part.added", **place, part=part)
        return sent

    def _place(self, block: Block) -> Json:
        place: Json = {"item_id": self._item_id(block), "output_index": block.index}
        if block.kind == "thought":
            return place | {"summary_index": 0}
        return place if block.kind == "call" else place | {"content_index": 0}

    def _item_id(self, block: Block) -> str:
        return f"{_PREFIX[block.kind]}_{self.request.number:06}_{block.index}"

    def delta(self, block: Block, token: str) -> bytes:
        if block.redacted:
            return b""
        extra: Json = {"logprobs": []} if block.kind == "text" else {}
        return self._event(_DELTA[block.kind], **self._place(block), delta=token, **extra)

    def closed(self, block: Block) -> bytes:
        place = self._place(block)
        sent = b""
        match block.kind:
            case "text":
                kind = "response.output_text.done"
                sent = self._event(kind, **place, text=block.text, logprobs=[])
                sent += self._event("response.content_part.done", **place, part=_part(block))
            case "refusal":
                sent = self._event("response.refusal.done", **place, refusal=block.text)
                sent += self._event("response.content_part.done", **place, part=_part(block))
            case "call":
                kind = "response.function_call_arguments.done"
                sent = self._event(kind, **place, name=block.name, arguments=block.text)
            case "thought" if not block.redacted:
                kind = "response.reasoning_summary_text.done"
                part = {"type": "summary_text", "text": block.text}
                sent = self._event(kind, **place, text=block.text)
                sent += self._event("response.reasoning_summary_part.done", **place, part=part)
            case "thought":
                pass
        item = self._item(block, "completed")
        return sent + self._event("response.output_item.done", output_index=block.index, item=item)

    def end(self, ending: Ending) -> bytes:
        kind = "incomplete" if ending.reason in _INCOMPLETE else "completed"
        return self._event(f"response.{kind}", response=self.whole(ending))

    def whole(self, ending: Ending) -> Json:
        output = [self._item(block, "completed") for block in self.blocks]
        reason = _INCOMPLETE.get(ending.reason)
        response = self._response("incomplete" if reason else "completed", output)
        if reason:
            response["incomplete_details"] = {"reason": reason}
        response["usage"] = _usage(ending.counts)
        return response

    def _response(self, status: str, output: list[Json]) -> Json:
        asked = self.request.json
        return {
            "id": f"resp_{self.request.number:06}",
            "object": "response",
            "created_at": int(self.request.at),
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": asked.get("instructions"),
            "max_output_tokens": asked.get("max_output_tokens"),
            "model": self.request.model,
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": asked.get("reasoning"),
            "store": asked.get("store", True),
            "temperature": asked.get("temperature", 1.0),
            "text": {"format": {"type": "text"}},
            "tool_choice": asked.get("tool_choice", "auto"),
            "tools": asked.get("tools", []),
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": None,
            "metadata": {},
        }

    def _item(self, block: Block, status: str) -> Json:
        item: Json = {"id": self._item_id(block)}
        if block.kind == "call":
            call = {"name": block.name, "call_id": block.id, "arguments": block.text}
            return item | {"type": "function_call", "status": status, **call}
        if block.kind == "thought":
            shown = bool(block.text) and not block.redacted
            summary = [{"type": "summary_text", "text": block.text}] if shown else []
            seal = block.seal if status == "completed" else ""
            return item | {"type": "reasoning", "summary": summary, "encrypted_content": seal}
        content = [_part(block)] if status == "completed" else []
        return item | {
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        }

    def failure(self, fail: Fail) -> Failure:
        return openai_failure(fail)

    def error_body(self, failure: Failure) -> Json:
        return openai_error(failure)

    def error_event(self, failure: Failure) -> bytes:
        code = failure.code or failure.type
        if "failed_event" in self.quirks:
            response = self._response("failed", [])
            response["error"] = {"code": code, "message": failure.message}
            return self._event("response.failed", response=response)
        return self._event("error", code=code, message=failure.message, param=None)


def _part(block: Block) -> Json:
    if block.kind == "refusal":
        return {"type": "refusal", "refusal": block.text}
    return {"type": "output_text", "text": block.text, "annotations": [], "logprobs": []}


def _usage(counts: Counts) -> Json:
    return {
        "input_tokens": counts.input_tokens,
        "input_tokens_details": {
            "cached_tokens": counts.cached_tokens,
            "cache_write_tokens": counts.cache_write_tokens,
        },
        "output_tokens": counts.output_tokens,
        "output_tokens_details": {"reasoning_tokens": counts.reasoning_tokens},
        "total_tokens": counts.input_tokens + counts.output_tokens,
    }
