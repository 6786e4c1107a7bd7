"""One question to a model outside any conversation, and its answer as text."""

import asyncio

import msgspec
import structlog

from roost.agent.model import Model
from roost.core.errors import ModelStalled, RequestRefused
from roost.core.ids import new_message_id
from roost.core.messages import Message, TextPart, plain_text
from roost.core.usage import Usage
from roost.llm.base import Finished, Request

log = structlog.stdlib.get_logger("roost.agent")

_SECONDS = 180


async def inquire(
    model: Model, system: str, text: str, *, schema: bytes | None = None
) -> tuple[str, Usage]:
    """The same question should get the same answer, so nothing is left to chance. A server that
    does not take the schema of the answer is asked without: `system` should say it in words."""
    request = Request(
        model=model.target.model,
        system=system,
        messages=(Message(new_message_id(), "user", (TextPart(text),)),),
        effort="off",
        temperature=0.0,
        schema=None if schema is None else msgspec.Raw(schema),
    )
    try:
        finished = await _ask(model, request)
    except RequestRefused as error:
        if request.schema is None or not model.target.profile.schemas:
            raise
        log.info("a model takes no schema; asking without", model=str(model.target), why=str(error))
        finished = await _ask(model, msgspec.structs.replace(request, schema=None))
    said = Message(new_message_id(), "assistant", finished.parts)
    return plain_text(said.parts), await model.account(request, finished, said)


async def _ask(model: Model, request: Request) -> Finished:
    try:
        async with asyncio.timeout(_SECONDS), model.client.stream(request) as events:
            return [event async for event in events if isinstance(event, Finished)][-1]
    except TimeoutError as error:
        raise ModelStalled(provider=model.target.provider.name, seconds=_SECONDS) from error
