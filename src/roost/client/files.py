"""Sessions written out by a running server, and taken in by it."""

import msgspec

from roost.client.connection import LONG, Ask, Connection, path
from roost.client.wire import SentSession
from roost.core.ids import SessionId
from roost.store.imports import Imported


class _Imported(msgspec.Struct, frozen=True):
    session: SentSession
    created: bool


class Files:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def export(self, session: SessionId) -> bytes:
        return await self._exported(session, "json")

    async def markdown(self, session: SessionId) -> str:
        return (await self._exported(session, "markdown")).decode()

    async def load(self, document: bytes) -> Imported:
        asked = Ask("POST", path("import"), data=document, again=True, seconds=LONG)
        loaded = await self._connection.ask(asked, _Imported)
        return Imported(loaded.session.made(), loaded.created)

    async def _exported(self, session: SessionId, format: str) -> bytes:
        where = path("sessions", session, "export")
        asked = Ask("GET", where, {"format": format}, again=True, seconds=LONG)
        return await self._connection.fetch(asked)
