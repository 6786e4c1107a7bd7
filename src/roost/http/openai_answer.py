"""A chat completion as it is answered, whole or in chunks."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from roost.store.usage import Used

FinishReason = Literal["stop", "length"]

DONE = b"data: [DONE]\n\n"
_encode = msgspec.json.Encoder().encode


class PromptDetails(msgspec.Struct, frozen=True):
    cached_tokens: int


class CompletionDetails(msgspec.Struct, frozen=True):
    reasoning_tokens: int


class UsageView(msgspec.Struct, frozen=True, kw_only=True):
    """Of the whole turn: an agent may ask its model many times."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


def usage_view(used: Sequence[Used]) -> UsageView:
    prompt = sum([each.input_tokens for each in used])
    completion = sum([each.output_tokens for each in used])
    return UsageView(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        prompt_tokens_details=PromptDetails(sum([each.cached_tokens for each in used])),
        completion_tokens_details=CompletionDetails(sum([each.reasoning_tokens for each in used])),
    )


class AnswerMessage(msgspec.Struct, frozen=True):
    content: str
    role: Literal["assistant"] = "assistant"
    refusal: None = None


class Choice(msgspec.Struct, frozen=True):
    message: AnswerMessage
    finish_reason: FinishReason
    index: int = 0
    logprobs: None = None


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """`id` ends in that of the turn, the header X-Roost-Session is the session's."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: UsageView


class DeltaView(msgspec.Struct, frozen=True, omit_defaults=True):
    content: str | None = None
    role: Literal["assistant"] | None = None


class ChunkChoice(msgspec.Struct, frozen=True):
    delta: DeltaView
    finish_reason: FinishReason | None = None
    index: int = 0
    logprobs: None = None


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    usage: UsageView | msgspec.UnsetType | None = msgspec.UNSET
    """There, and None but in the last, for whoever asked for it."""


def data(value: msgspec.Struct) -> bytes:
    return b"data: %b\n\n" % _encode(value)


class ModelView(msgspec.Struct, frozen=True):
    id: str
    owned_by: str
    created: int = 0
    object: Literal["model"] = "model"


class ModelList(msgspec.Struct, frozen=True):
    data: Sequence[ModelView]
    object: Literal["list"] = "list"
