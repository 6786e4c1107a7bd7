"""A title for a session, made by a model from how the conversation began."""

import asyncio
import re

from roost.agent.model import Model
from roost.core.ids import new_message_id
from roost.core.messages import Message, TextPart
from roost.core.usage import Usage
from roost.llm.base import Finished, Request

_ASK = (
    "Give this conversation a title of two to six words, in its own language. Answer with the title"
    " alone: no quotes, no full stop, no Markdown."
)
_HEAD = 2000
_LONGEST = 80
_SECONDS = 60.0


async def make_title(model: Model, question: str, answer: str) -> tuple[str, tuple[Usage, ...]]:
    """A tiny model is slow and no good at this: its sessions are named after their first words."""
    if model.target.profile.brief:
        return plain_title(question), ()
    asked = f"{question[:_HEAD]}\n\n---\n\n{answer[:_HEAD]}"
    request = Request(
        model=model.target.model,
        system=_ASK,
        messages=(Message(new_message_id(), "user", (TextPart(asked),)),),
        effort="off",
    )
    async with asyncio.timeout(_SECONDS), model.client.stream(request) as events:
        finished = [event async for event in events if isinstance(event, Finished)][-1]
    said = Message(new_message_id(), "assistant", finished.parts)
    usage = await model.account(request, finished, said)
    title = tidy("".join([part.text for part in said.parts if isinstance(part, TextPart)]))
    return title or plain_title(question), (usage,)


def plain_title(question: str) -> str:
    """The first words of the first line."""
    line = next((line.strip() for line in question.splitlines() if line.strip()), "")
    return _shortened(line, 48)


def tidy(said: str) -> str:
    line = next((line.strip() for line in said.splitlines() if line.strip()), "")
    line = re.sub(r"^(title|titel)\s*:\s*", "", line, flags=re.IGNORECASE)
    return _shortened(line.strip(" \t\"'“”„«»*#`.").strip(), _LONGEST)


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    cut = text[:limit].rsplit(" ", 1)[0]
    return cut.rstrip(" ,;:.-") + "…"
