"""The owner's account at a running server, with the methods of `roost.runtime.account.Account`."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager

import msgspec

from roost.client.connection import LONG, Ask, Connection, path
from roost.client.files import Files
from roost.client.memory import Memory
from roost.client.rewriting import Decisions, History
from roost.client.schedules import Schedules
from roost.client.watching import watching
from roost.client.wire import SentMessage, SentSession, SentSnapshot, SentTurn, messages, turns
from roost.core.errors import InvalidInput, NotFound
from roost.core.events import Cursor, SessionEvent, Snapshot
from roost.core.ids import SessionId, TurnId, new_session_id, new_turn_id
from roost.core.messages import LONGEST, Message
from roost.core.sessions import Session
from roost.core.turns import Turn
from roost.llm.providers import Answerer
from roost.store.search import Hit, SearchFilter
from roost.store.sessions import ListCursor, SessionFilter, SessionPatch
from roost.store.usage import Used, UsedOnDay


class _Sessions(msgspec.Struct, frozen=True):
    sessions: tuple[SentSession, ...]


class _Messages(msgspec.Struct, frozen=True):
    messages: tuple[SentMessage, ...]


class _Turns(msgspec.Struct, frozen=True):
    turns: tuple[SentTurn, ...]


class _Hits(msgspec.Struct, frozen=True):
    hits: tuple[Hit, ...]


class _Models(msgspec.Struct, frozen=True):
    models: tuple[Used, ...]


class _Days(msgspec.Struct, frozen=True):
    days: tuple[UsedOnDay, ...]


class _Cancelled(msgspec.Struct, frozen=True):
    cancelled: bool


class Account:
    """`absence` is for how long a watcher waits for a server that is gone; None is for ever. The
    server knows by the credential that it is asked from the command line: routes and origins are
    its own to say."""

    def __init__(self, connection: Connection, *, absence: float | None = None) -> None:
        self._connection = connection
        self._absence = absence
        self.history = History(connection)
        self.decisions = Decisions(connection)
        self.memory = Memory(connection)
        self.files = Files(connection)
        self.schedules = Schedules(connection)

    # Sessions.

    async def create(
        self,
        *,
        origin: str,
        id: SessionId | None = None,
        model: str | None = None,
        title: str | None = None,
        project: str | None = None,
        previous: SessionId | None = None,
    ) -> Session:
        body = {
            "id": id or new_session_id(),
            "model": model,
            "title": title,
            "project": project,
            "previous": previous,
        }
        return await self._session(Ask("POST", path("sessions"), body=body, again=True))

    async def session(self, session: SessionId) -> Session:
        return await self._session(Ask("GET", path("sessions", session), again=True))

    async def sessions(
        self,
        where: SessionFilter = SessionFilter(),  # noqa: B008 (frozen)
        *,
        after: ListCursor | None = None,
        limit: int = 50,
    ) -> Sequence[Session]:
        query = {
            "archived": where.archived,
            "pinned": where.pinned,
            "project": where.project,
            "title": where.title,
            "after_at": None if after is None else after.active_at,
            "after": None if after is None else after.id,
            "limit": limit,
        }
        asked = Ask("GET", path("sessions"), query=query, again=True)
        found = await self._connection.ask(asked, _Sessions)
        return [each.made() for each in found.sessions]

    async def search(
        self,
        words: str,
        where: SearchFilter = SearchFilter(),  # noqa: B008 (frozen)
        *,
        before: int | None = None,
        limit: int = 20,
    ) -> Sequence[Hit]:
        query = {"words": words, "before": before, "limit": limit, **msgspec.structs.asdict(where)}
        found = await self._connection.ask(Ask("GET", path("search"), query, again=True), _Hits)
        return found.hits

    async def update(self, session: SessionId, patch: SessionPatch) -> Session:
        asked = Ask("PATCH", path("sessions", session), body=patch, again=True)
        return await self._session(asked)

    async def choose(
        self, session: SessionId, *, model: str | None = None, toolset: str | None = None
    ) -> Session:
        chosen = {"model": model, "toolset": toolset}
        body = {name: value for name, value in chosen.items() if value is not None}
        return await self._session(Ask("PATCH", path("sessions", session), body=body, again=True))

    async def answerer(self, model: str | None = None) -> Answerer:
        asked = Ask("GET", path("answerer"), query={"model": model}, again=True)
        return await self._connection.ask(asked, Answerer)

    async def end(self, session: SessionId) -> None:
        await self._session(Ask("POST", path("sessions", session, "end"), again=True))

    async def delete(self, session: SessionId) -> None:
        await self._connection.fetch(Ask("DELETE", path("sessions", session)))

    async def reset(self, route: str, *, origin: str) -> Session:
        return await self._session(Ask("POST", path("routes", route, "reset")))

    async def point(self, route: str, session: SessionId) -> None:
        asked = Ask("PUT", path("routes", route), body={"session": session}, again=True)
        await self._session(asked)

    async def current(self, route: str) -> SessionId | None:
        try:
            return (await self._session(Ask("GET", path("routes", route), again=True))).id
        except NotFound:
            return None

    # Talking.

    async def send(
        self,
        session: SessionId,
        message: str,
        *,
        id: TurnId | None = None,
        route: str | None = None,
    ) -> Turn:
        """With an id of its own: if the answer is lost it is sent again, and is the same turn."""
        if len(message) > LONGEST:
            raise InvalidInput(
                f"A message is at most {LONGEST:,} characters beside a server, and this is "
                f"{len(message):,}. Send it in parts, or as a file in the web app."
            )
        body = {"id": id or new_turn_id(), "text": message}
        return await self._turn(
            Ask("POST", path("sessions", session, "turns"), body=body, again=True)
        )

    async def cancel(self, session: SessionId, turn: TurnId | None = None) -> bool:
        """A turn that is named can be cancelled again: it is the same."""
        again = turn is not None
        asked = Ask("POST", path("sessions", session, "cancel"), body={"turn": turn}, again=again)
        return (await self._connection.ask(asked, _Cancelled)).cancelled

    async def proceed(self, session: SessionId) -> Turn:
        return await self._turn(Ask("POST", path("sessions", session, "continue")))

    # Reading.

    async def snapshot(self, session: SessionId, *, limit: int = 50) -> Snapshot:
        asked = Ask("GET", path("sessions", session, "snapshot"), {"limit": limit}, again=True)
        return (await self._connection.ask(asked, SentSnapshot)).made()

    async def messages(
        self, session: SessionId, *, before: int | None = None, limit: int = 50
    ) -> Sequence[Message]:
        query = {"before": before, "limit": limit}
        asked = Ask("GET", path("sessions", session, "messages"), query, again=True)
        return messages((await self._connection.ask(asked, _Messages)).messages)

    async def turns(self, session: SessionId) -> Sequence[Turn]:
        asked = Ask("GET", path("sessions", session, "turns"), again=True)
        return turns((await self._connection.ask(asked, _Turns)).turns)

    def watch(
        self, session: SessionId, cursor: Cursor | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[SessionEvent]]:
        return watching(self._connection, session, cursor, absence=self._absence)

    async def usage(self, session: SessionId) -> Sequence[Used]:
        asked = Ask("GET", path("sessions", session, "usage"), again=True)
        return (await self._connection.ask(asked, _Models)).models

    async def usage_by_day(self, *, days: int = 30) -> Sequence[UsedOnDay]:
        asked = Ask("GET", path("usage"), {"days": days}, again=True, seconds=LONG)
        return (await self._connection.ask(asked, _Days)).days

    async def _session(self, asked: Ask) -> Session:
        return (await self._connection.ask(asked, SentSession)).made()

    async def _turn(self, asked: Ask) -> Turn:
        return (await self._connection.ask(asked, SentTurn)).made()
