"""One question to a model outside any conversation, and its answer as text."""

import asyncio

from roost.agent.model import Model
from roost.core.errors import ModelStalled
from roost.core.ids import new_message_id
from roost.core.messages import Message, TextPart, plain_text
from roost.core.usage import Usage
from roost.llm.base import Finished, Request

_SECONDS = 180


async def inquire(model: Model, system: str, text: str) -> tuple[str, Usage]:
    """The same question should get the same answer, so nothing is left to chance."""
    request = Request(
        model=model.target.model,
        system=system,
        messages=(Message(new_message_id(), "user", (TextPart(text),)),),
        effort="off",
        temperature=0.0,
    )
    try:
        async with asyncio.timeout(_SECONDS), model.client.stream(request) as events:
            finished = [event async for event in events if isinstance(event, Finished)][-1]
    except TimeoutError as error:
        raise ModelStalled(provider=model.target.provider.name, seconds=_SECONDS) from error
    said = Message(new_message_id(), "assistant", finished.parts)
    return plain_text(said.parts), await model.account(request, finished, said)
