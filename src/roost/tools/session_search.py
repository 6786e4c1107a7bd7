"""The `session_search` tool: what was said in the user's other sessions, found and read again."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from roost.core.errors import InvalidInput, NotFound
from roost.core.ids import SessionId, UserId
from roost.core.messages import Role
from roost.tools.base import Tool, ToolContext, ToolError
from roost.tools.schema import tool

_HITS = 10
_REACH = 4
"""Messages that are read before and after the one that is named."""
_SNIPPET = 400
_MESSAGE = 3000
_SEEN = 40
"""Characters of a title."""

Query = Annotated[str, Meta(max_length=300)]
Number = Annotated[int, Meta(ge=0)]


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A message as the tool shows it. `number` is its place in its session, `at` milliseconds."""

    session: SessionId
    title: str | None
    number: int
    role: Role
    at: int
    text: str


class PastSessions(Protocol):
    """A user's sessions, and nobody else's. What is not there or not theirs raises `NotFound`."""

    async def search(
        self,
        user: UserId,
        words: str,
        *,
        within: SessionId | None,
        besides: SessionId,
        limit: int,
    ) -> Sequence[Said]:
        """Newest first; of all sessions without `besides`, or of one alone."""
        ...

    async def around(
        self, user: UserId, session: SessionId, number: int, *, reach: int
    ) -> Sequence[Said]:
        """The messages about a place, in order."""
        ...


class SessionSearch:
    def __init__(self, past: PastSessions) -> None:
        self._past = past

    def tools(self) -> tuple[Tool, ...]:
        return (tool(self.session_search, parallel=True, seconds=30),)

    async def session_search(
        self,
        context: ToolContext,
        query: Query = "",
        session: str = "",
        around: Number | None = None,
    ) -> str:
        """Search what was said in the user's other sessions: all words of `query` must occur
        ("a phrase" in quotes, prefix*). Or read on near a hit: its `session` and, as `around`, its
        number. With `query` and `session`, search that session alone; "this" is the present one,
        with what was summed up of it."""
        chosen = context.session if session == "this" else SessionId(session)
        try:
            if around is not None and session:
                return _read(await self._past.around(context.user, chosen, around, reach=_REACH))
            if not query.strip():
                raise ToolError("Give a `query`, or the `session` and number of a hit to read.")
            found = await self._past.search(
                context.user,
                query,
                within=chosen if session else None,
                besides=context.session,
                limit=_HITS,
            )
        except (InvalidInput, NotFound) as error:
            raise ToolError(str(error)) from error
        return "\n".join([_hit(each) for each in found]) or "Nothing was found."


def _hit(said: Said) -> str:
    place = f"{said.session} {said.number}"
    title = (said.title or "Untitled")[:_SEEN]
    return f"[{place}] {title}, {_date(said.at)}, {said.role}: {_line(said.text, _SNIPPET)}"


def _read(messages: Sequence[Said]) -> str:
    if not messages:
        raise ToolError("There is no message near that number.")
    first = messages[0]
    lines = [f"[{each.number}] {each.role}: {_cut(each.text, _MESSAGE)}" for each in messages]
    return "\n".join([f"{first.title or 'Untitled'}, {_date(first.at)}", *lines])


def _date(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d}"


def _line(text: str, most: int) -> str:
    return _cut(" ".join(text.split()), most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} [...]"
