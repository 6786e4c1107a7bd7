"""Chat completions, as OpenAI and those who are nearly compatible write them."""

from collections.abc import Mapping
from typing import cast

import msgspec

from roost.testing.models.failures import Failure, openai_error, openai_failure
from roost.testing.models.prompt import Json
from roost.testing.models.request import ModelRequest
from roost.testing.models.script import Fail, Quirk
from roost.testing.models.writer import Block, Counts, Ending, Writer, sse

_encode = msgspec.json.encode


class ChatWriter(Writer):
    def __init__(self, request: ModelRequest, quirks: frozenset[Quirk]) -> None:
        super().__init__(request, quirks)
        self._id = f"chatcmpl-{request.number:06}"
        options = cast("Json | None", request.json.get("stream_options")) or {}
        self._asked = options.get("include_usage") is True
        usage = b',"usage":null' if self._asked and "no_usage" not in quirks else b""
        self._head = _encode({**self._fields("chat.completion.chunk"), "choices": []})[:-2]
        self._tail = b',"logprobs":null,"finish_reason":null}]%s}' % usage

    @property
    def headers(self) -> Mapping[str, str]:
        return {"x-request-id": f"req_{self.request.number:06}"}

    def call_id(self, index: int) -> str:
        return f"call_{self.request.number:06}_{index}"

    def _fields(self, kind: str) -> Json:
        return {
            "id": self._id,
            "object": kind,
            "created": int(self.request.at),
            "model": self.request.model,
            "system_fingerprint": "fp_scripted",
        }

    def _chunk(self, delta: bytes) -> bytes:
        return sse(b'%s{"index":0,"delta":%s%s' % (self._head, delta, self._tail))

    def begin(self, counts: Counts) -> bytes:
        return self._chunk(b'{"role":"assistant","content":""}')

    def opened(self, block: Block) -> bytes:
        if block.kind == "call":
            return self._chunk(self._call(block, {"name": block.name, "arguments": ""}, first=True))
        if block.redacted and "reasoning_details" in self.quirks:
            return self._details({"type": "reasoning.encrypted", "data": block.seal})
        return b""

    def delta(self, block: Block, token: str) -> bytes:
        text = _encode(token)
        match block.kind:
            case "text":
                return self._chunk(b'{"content":%s}' % text)
            case "refusal":
                return self._chunk(b'{"refusal":%s}' % text)
            case "call":
                return self._chunk(self._call(block, {"arguments": token}, first=False))
            case "thought":
                return self._thought(block, token)

    def _thought(self, block: Block, token: str) -> bytes:
        if block.redacted:
            return b""
        if "reasoning_details" in self.quirks:
            return self._details({"type": "reasoning.text", "text": token}, token)
        return self._chunk(b'{"%s":%s}' % (self._reasoning_field.encode(), _encode(token)))

    @property
    def _reasoning_field(self) -> str:
        return "reasoning" if "reasoning" in self.quirks else "reasoning_content"

    def _details(self, detail: Json, token: str | None = None) -> bytes:
        delta: Json = {"reasoning_details": [detail | {"format": "scripted", "index": 0}]}
        if token is not None:
            delta["reasoning"] = token
        return self._chunk(_encode(delta))

    def _call(self, block: Block, function: Json, *, first: bool) -> bytes:
        call: Json = {}
        if "no_index" not in self.quirks:
            call["index"] = 0 if "index_zero" in self.quirks else self._position(block)
        if first:
            if "no_call_ids" not in self.quirks:
                call["id"] = block.id
            call["type"] = "function"
        return _encode({"tool_calls": [call | {"function": function}]})

    def _position(self, block: Block) -> int:
        return [each.index for each in self.blocks if each.kind == "call"].index(block.index)

    def closed(self, block: Block) -> bytes:
        if block.kind == "thought" and not block.redacted and "reasoning_details" in self.quirks:
            return self._details({"type": "reasoning.text", "signature": block.seal})
        return b""

    def end(self, ending: Ending) -> bytes:
        usage = _usage(ending.counts)
        finish: Json = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": ending.reason}
        last: Json = {**self._fields("chat.completion.chunk"), "choices": [finish]}
        sent = b""
        if "usage_on_finish" in self.quirks:
            last["usage"] = usage
        elif self._asked and "no_usage" not in self.quirks:
            last["usage"] = None
            counted: Json = {"choices": [], "usage": usage}
            sent = sse(_encode(self._fields("chat.completion.chunk") | counted))
        if "no_finish_reason" not in self.quirks:
            sent = sse(_encode(last)) + sent
        return sent if "no_done" in self.quirks else sent + sse(b"[DONE]")

    def whole(self, ending: Ending) -> Json:
        message: Json = {"role": "assistant", "content": self._joined("text")}
        message["refusal"] = self._joined("refusal")
        if thoughts := [block for block in self.blocks if block.kind == "thought"]:
            message |= self._thoughts(thoughts)
        if calls := [block for block in self.blocks if block.kind == "call"]:
            message["tool_calls"] = [self._whole_call(block) for block in calls]
        reason = None if "no_finish_reason" in self.quirks else ending.reason
        choice: Json = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        body: Json = {**self._fields("chat.completion"), "choices": [choice]}
        if "no_usage" not in self.quirks:
            body["usage"] = _usage(ending.counts)
        return body

    def _joined(self, kind: str) -> str | None:
        texts = [block.text for block in self.blocks if block.kind == kind]
        return "".join(texts) if texts else None

    def _thoughts(self, thoughts: list[Block]) -> Json:
        text = "".join([block.text for block in thoughts if not block.redacted])
        if "reasoning_details" not in self.quirks:
            return {self._reasoning_field: text}
        details = [
            {"type": "reasoning.encrypted", "data": block.seal}
            if block.redacted
            else {"type": "reasoning.text", "text": block.text, "signature": block.seal}
            for block in thoughts
        ]
        return {"reasoning": text, "reasoning_details": details}

    def _whole_call(self, block: Block) -> Json:
        function = {"name": block.name, "arguments": block.text}
        named: Json = {} if "no_call_ids" in self.quirks else {"id": block.id}
        return named | {"type": "function", "function": function}

    def failure(self, fail: Fail) -> Failure:
        return openai_failure(fail)

    def error_body(self, failure: Failure) -> Json:
        return openai_error(failure)

    def error_event(self, failure: Failure) -> bytes:
        return sse(_encode(openai_error(failure)))


def _usage(counts: Counts) -> Json:
    return {
        "prompt_tokens": counts.input_tokens,
        "completion_tokens": counts.output_tokens,
        "total_tokens": counts.input_tokens + counts.output_tokens,
        "prompt_tokens_details": {
            "cached_tokens": counts.cached_tokens,
            "cache_write_tokens": counts.cache_write_tokens,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": counts.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
