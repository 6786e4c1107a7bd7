"""Sessions as files: out of a store as JSON or Markdown, and into one."""

import asyncio
import base64
import hashlib
from typing import TypeVar

import msgspec

from roost.core.errors import BytesMissing
from roost.core.ids import BlobId, SessionId, UserId
from roost.core.signature import AgentConfig
from roost.store.blobs import Blob, Blobs
from roost.store.document import (
    Document,
    ExportedBlob,
    ExportedConfig,
    ExportedEpoch,
    ExportedMessage,
    ExportedSession,
    ExportedToolCall,
    ExportedTurn,
    ExportedUsage,
    encode,
    unpack,
)
from roost.store.imports import Imported, Imports
from roost.store.markdown import markdown
from roost.store.operations import (
    Engine,
    Operation,
    Rows,
    SqlValue,
    every,
    query,
    reading,
)
from roost.store.rows import messages_of
from roost.store.sessions import load_session

S = TypeVar("S", bound=msgspec.Struct)


class _Named(msgspec.Struct, frozen=True, array_like=True):
    id: BlobId


class Transfer:
    def __init__(self, engine: Engine, user: UserId, blobs: Blobs) -> None:
        self.engine = engine
        self._user = user
        self._blobs = blobs
        self._imports = Imports(engine, user)

    @reading
    def markdown(self, session: SessionId) -> Operation[str]:
        """The live history, to read."""
        found = yield from load_session(self._user, session)
        rows = yield query("live_messages", session=session, after=0)
        return markdown(found, messages_of(rows))

    async def export(self, session: SessionId) -> bytes:
        """Everything of a session, past epochs and attachments included, as JSON."""
        document = await self._document(session)
        blobs = [await self._blob(blob) for blob in await self._blobs.of_session(session)]
        found = tuple([blob for blob in blobs if blob is not None])
        lost = set(document.missing) - {blob.id for blob in found}
        whole = msgspec.structs.replace(document, blobs=found, missing=tuple(sorted(lost)))
        return await asyncio.to_thread(encode, whole)

    async def _blob(self, blob: Blob) -> ExportedBlob | None:
        """None if its bytes are lost: all else of the session is worth having without them."""
        try:
            data = await self._blobs.read_bytes(blob.id)
        except BytesMissing:
            return None
        coded = await asyncio.to_thread(_coded, data, blob.id)
        if coded is None:
            return None
        return ExportedBlob(id=blob.id, media_type=blob.media_type, data=coded)

    @reading
    def _document(self, session: SessionId) -> Operation[Document]:
        found = yield from load_session(self._user, session)
        return Document(
            session=ExportedSession(
                id=found.id,
                origin=found.origin,
                title=found.title,
                title_by=found.title_by,
                pinned=found.pinned,
                archived=found.archived,
                project=found.project,
                parent=found.parent,
                config=_outward(found.config),
                revision=found.revision,
                epoch=found.epoch,
                head=found.head,
                created_at=found.created_at,
                active_at=found.active_at,
                ended_at=found.ended_at,
            ),
            messages=_objects((yield query("export_messages", session=session)), ExportedMessage),
            turns=_objects((yield query("export_turns", session=session)), ExportedTurn),
            tool_calls=_objects(
                (yield query("export_tool_calls", session=session)), ExportedToolCall
            ),
            epochs=_objects((yield query("export_epochs", session=session)), ExportedEpoch),
            usage=_objects(
                (yield query("export_usage", user=self._user, session=session)), ExportedUsage
            ),
            missing=tuple(
                [row.id for row in every((yield query("blobs_named", session=session)), _Named)]
            ),
        )

    async def load(self, text: bytes | bytearray, *, most: int | None = None) -> Imported:
        """Take a document in. Again, it changes nothing; and if another user of this store has the
        session, this one gets it under ids of its own. `most` is what this user's attachments may
        take with those that it brings."""
        found = await asyncio.to_thread(unpack, text)
        for media_type, data in found.blobs:
            await self._blobs.put_bytes(data, media_type, most=most)
        return await self._imports.take_in(found._replace(blobs=[]))


def _coded(data: bytes, blob: BlobId) -> str | None:
    """None if they are not those that were stored: nobody would take them in."""
    if hashlib.sha256(data).hexdigest() != blob:
        return None
    return base64.b64encode(data).decode("ascii")


def _outward(config: AgentConfig | None) -> ExportedConfig | None:
    if config is None:
        return None
    return ExportedConfig(
        provider=config.provider,
        model=config.model,
        toolset=config.toolset,
        instructions=config.instructions,
    )


def _objects(rows: Rows, shape: type[S]) -> tuple[S, ...]:
    """Rows as structs whose fields are named and ordered like the columns. What an import would
    refuse is not refused here: an export shows what is stored."""
    fields = msgspec.structs.fields(shape)

    def value(stored: SqlValue, kind: object) -> object:
        if kind is msgspec.Raw:
            return msgspec.Raw(str(stored).encode())
        return bool(stored) if kind is bool else stored

    return tuple(
        shape(**{f.name: value(v, f.type) for f, v in zip(fields, row, strict=True)})
        for row in rows
    )
