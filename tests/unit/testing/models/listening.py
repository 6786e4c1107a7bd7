"""The vendors' own packages, and what they understood of an answer."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal, cast

import anthropic
import msgspec
import openai
from anthropic import AsyncAnthropic
from anthropic.types import Message
from openai import AsyncOpenAI
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from roost.testing.models import ModelServer

Protocols = Literal["chat", "responses", "anthropic"]
PROTOCOLS: tuple[Protocols, ...] = ("chat", "responses", "anthropic")


class Heard(msgspec.Struct, kw_only=True):
    text: str = ""
    thoughts: str = ""
    payloads: list[str] = []
    calls: list[tuple[str, str]] = []
    ids: list[str] = []
    refusal: str = ""
    finish: str | None = None
    usage: tuple[int, int, int, int] | None = None
    """Input, of that cached; output, of that reasoning."""


class Clients:
    def __init__(self, server: ModelServer) -> None:
        self.server = server
        # Without certificates, whose loading would take most of a test's time.
        self.openai = AsyncOpenAI(
            api_key="k",
            base_url=server.openai_url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(verify=False),
        )
        self.anthropic = AsyncAnthropic(
            api_key="k",
            base_url=server.url,
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(verify=False),
        )

    async def ask(self, protocol: Protocols, text: str = "hi", *, stream: bool = True) -> Heard:
        match protocol, stream:
            case "chat", True:
                return await self._chat_stream(text)
            case "chat", _:
                completion = await self.openai.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": text}]
                )
                return _from_completion(completion)
            case "responses", True:
                return await self._response_stream(text)
            case "responses", _:
                return _from_response(await self.openai.responses.create(model="m", input=text))
            case "anthropic", True:
                async with self.anthropic.messages.stream(
                    model="m", max_tokens=99, messages=[{"role": "user", "content": text}]
                ) as events:
                    return _from_message(await events.get_final_message())
            case _:
                message = await self.anthropic.messages.create(
                    model="m", max_tokens=99, messages=[{"role": "user", "content": text}]
                )
                return _from_message(message)

    async def _chat_stream(self, text: str) -> Heard:
        heard = Heard()
        calls: dict[int, list[str]] = {}
        chunks = await self.openai.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": text}],
            stream=True,
            stream_options={"include_usage": True},
        )
        async for chunk in chunks:
            if chunk.usage:
                assert chunk.choices == []
                heard.usage = _counted(chunk.usage)
            for choice in chunk.choices:
                heard.text += choice.delta.content or ""
                heard.refusal += choice.delta.refusal or ""
                extra = cast("dict[str, str]", choice.delta.model_extra or {})
                heard.thoughts += extra.get("reasoning_content", extra.get("reasoning", ""))
                heard.finish = choice.finish_reason or heard.finish
                for call in choice.delta.tool_calls or ():
                    assert call.function is not None
                    if call.id:
                        heard.ids.append(call.id)
                        calls[call.index] = [call.function.name or "", ""]
                    calls[call.index][1] += call.function.arguments or ""
        heard.calls = [(name, arguments) for name, arguments in calls.values()]
        return heard

    async def _response_stream(self, text: str) -> Heard:
        """What the events say one by one must be what the last one says of the whole."""
        said = thought = arguments = ""
        last: Response | None = None
        async with self.openai.responses.stream(model="m", input=text) as events:
            async for event in events:
                match event.type:
                    case "response.output_text.delta":
                        said += event.delta
                    case "response.reasoning_summary_text.delta":
                        thought += event.delta
                    case "response.function_call_arguments.delta":
                        arguments += event.delta
                    case "response.completed" | "response.incomplete":
                        last = event.response
                    case _:
                        pass
        assert last is not None
        heard = _from_response(last)
        assert (heard.text, heard.thoughts) == (said, thought)
        assert "".join([written for _, written in heard.calls]) == arguments
        return heard


@asynccontextmanager
async def listening(server: ModelServer) -> AsyncGenerator[Clients]:
    clients = Clients(server)
    async with clients.openai, clients.anthropic:
        yield clients


def _counted(usage: CompletionUsage) -> tuple[int, int, int, int]:
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    assert prompt is not None
    assert completion is not None
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    return (
        usage.prompt_tokens,
        prompt.cached_tokens or 0,
        usage.completion_tokens,
        completion.reasoning_tokens or 0,
    )


def _from_completion(completion: ChatCompletion) -> Heard:
    choice = completion.choices[0]
    message = choice.message
    extra = cast("dict[str, str]", message.model_extra or {})
    calls = [call for call in message.tool_calls or () if call.type == "function"]
    return Heard(
        text=message.content or "",
        thoughts=extra.get("reasoning_content", extra.get("reasoning", "")),
        calls=[(call.function.name, call.function.arguments) for call in calls],
        ids=[call.id for call in calls],
        refusal=message.refusal or "",
        finish=choice.finish_reason,
        usage=_counted(completion.usage) if completion.usage else None,
    )


def _from_response(response: Response) -> Heard:
    heard = Heard(text=response.output_text, finish=response.status)
    if response.incomplete_details:
        heard.finish = response.incomplete_details.reason
    for item in response.output:
        if item.type == "reasoning":
            heard.thoughts += "".join([part.text for part in item.summary])
            heard.payloads.append(item.encrypted_content or "")
        elif item.type == "function_call":
            heard.calls.append((item.name, item.arguments))
            heard.ids.append(item.call_id)
        elif item.type == "message":
            parts = [part for part in item.content if part.type == "refusal"]
            heard.refusal += "".join([part.refusal for part in parts])
    usage = response.usage
    assert usage is not None
    heard.usage = (
        usage.input_tokens,
        usage.input_tokens_details.cached_tokens,
        usage.output_tokens,
        usage.output_tokens_details.reasoning_tokens,
    )
    return heard


def _from_message(message: Message) -> Heard:
    heard = Heard(finish=message.stop_reason)
    for block in message.content:
        if block.type == "text":
            heard.text += block.text
        elif block.type == "thinking":
            heard.thoughts += block.thinking
            heard.payloads.append(block.signature)
        elif block.type == "redacted_thinking":
            heard.payloads.append(block.data)
        elif block.type == "tool_use":
            heard.calls.append((block.name, msgspec.json.encode(block.input).decode()))
            heard.ids.append(block.id)
    if message.stop_details:
        heard.refusal = message.stop_details.explanation or ""
    usage = message.usage
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    details = usage.output_tokens_details
    assert details is not None
    total = usage.input_tokens + read + written
    heard.usage = (total, read, usage.output_tokens, details.thinking_tokens)
    return heard
