"""A user's files: attachments, and sessions written out and taken in."""

from collections.abc import AsyncIterator

from roost.core.ids import BlobId, SessionId, UserId
from roost.runtime.parts import Parts
from roost.store.blobs import MEGABYTE, Blob
from roost.store.imports import Imported


class Keeping:
    def __init__(self, parts: Parts, user: UserId) -> None:
        self._store = parts.store.of(user)
        self._hub = parts.hub
        self._most = parts.limits.files_mb * MEGABYTE

    async def keep(self, chunks: AsyncIterator[bytes], media_type: str) -> Blob:
        """Store an attachment, to be named in a message within a day, if there is room."""
        return await self._store.blobs.put(chunks, media_type, most=self._most)

    async def get(self, blob: BlobId) -> Blob:
        return await self._store.blobs.get(blob)

    def read(self, blob: BlobId) -> AsyncIterator[bytes]:
        return self._store.blobs.read(blob)

    async def export(self, session: SessionId) -> bytes:
        """Everything of a session, as JSON that `load` takes."""
        return await self._store.transfer.export(session)

    async def markdown(self, session: SessionId) -> str:
        """A session's history, to read."""
        return await self._store.transfer.markdown(session)

    async def load(self, document: bytes | bytearray) -> Imported:
        """Take in what was exported, here or elsewhere."""
        loaded = await self._store.transfer.load(document, most=self._most)
        self._hub.changed(loaded.session.id)
        return loaded
