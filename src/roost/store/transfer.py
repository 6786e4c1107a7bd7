"""Sessions out of a store and into one: export as JSON or Markdown, import once."""

import asyncio
import base64
import hashlib
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from roost.core.errors import BytesMissing, Conflict, InvalidInput
from roost.core.events import SessionUpdated
from roost.core.ids import BlobId, SessionId, UserId, derived_id
from roost.core.sessions import Session
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
    renamed,
    unpack,
)
from roost.store.markdown import markdown
from roost.store.operations import (
    Engine,
    Operation,
    Rows,
    SqlValue,
    every,
    maybe,
    one,
    query,
    reading,
    writing,
)
from roost.store.rows import messages_of
from roost.store.sessions import load_session
from roost.store.writes import name_stored_blobs, record

S = TypeVar("S", bound=msgspec.Struct)

_LONG = (str, bytes, msgspec.Raw)
_ROW, _SLICE = 200, 1 << 19
"""What a row takes besides its texts, and how much is put into one statement."""


class Imported(msgspec.Struct, frozen=True):
    """`created` is false if the session was here already, with everything the document has."""

    session: Session
    created: bool


class _Owner(msgspec.Struct, frozen=True, array_like=True):
    user: UserId
    deleted: bool


class _Named(msgspec.Struct, frozen=True, array_like=True):
    id: BlobId


class Transfer:
    def __init__(self, engine: Engine, user: UserId, blobs: Blobs) -> None:
        self.engine = engine
        self._user = user
        self._blobs = blobs

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
        document, named, blobs = await asyncio.to_thread(unpack, text)
        for media_type, data in blobs:
            await self._blobs.put_bytes(data, media_type, most=most)
        return await self._insert(document, named)

    @writing
    def _insert(self, document: Document, named: set[BlobId]) -> Operation[Imported]:
        document = yield from self._as_own(document)
        session = document.session
        owner = yield from self._owner(session.id)
        if owner is not None:
            yield from self._check_same(document, owner)
            return Imported((yield from load_session(self._user, session.id)), created=False)
        yield from self._check_free(document)
        yield from self._insert_session(session)
        for statement, rows in (
            ("import_messages", document.messages),
            ("import_turns", document.turns),
            ("import_tool_calls", document.tool_calls),
            ("import_epochs", document.epochs),
            ("import_usage", document.usage),
        ):
            for some in _slices(rows):
                yield query(statement, user=self._user, session=session.id, rows=_flat(some))
        yield from name_stored_blobs(self._user, session.id, named)
        yield query("recount", session=session.id)
        yield query("recount_usage", user=self._user, session=session.id)
        yield from record(session.id, session.revision + 1, SessionUpdated(("imported",)))
        return Imported((yield from load_session(self._user, session.id)), created=True)

    def _as_own(self, document: Document) -> Operation[Document]:
        """Under ids of this user's own, if those in it are another's or were, as what they used
        tells, or if it is here under the others already."""
        session = document.session.id
        other = derived_id(session, self._user)
        if (yield query("is_foreign", user=self._user, session=session, other=other)):
            return renamed(document, self._user)
        return document

    def _owner(self, session: SessionId) -> Operation[_Owner | None]:
        return maybe((yield query("session_by_id", session=session)), _Owner)

    def _check_same(self, document: Document, owner: _Owner) -> Operation[None]:
        session = document.session.id
        if owner.deleted:
            raise Conflict(f"Session {session} was just deleted. Try again in a few minutes.")
        ids = msgspec.json.encode([message.id for message in document.messages]).decode()
        stored = one((yield query("count_stored", session=session, ids=ids)), int)
        if stored != len(document.messages):
            raise Conflict(
                f"Session {session} is here already, and differs from this export. Delete it first "
                "to have the exported one."
            )

    def _check_free(self, document: Document) -> Operation[None]:
        ids = [item.id for item in (*document.messages, *document.turns)]
        if rows := (yield query("taken_ids", ids=msgspec.json.encode(ids).decode())):
            raise InvalidInput(f"The id {rows[0][0]} in this export is taken by another session.")

    def _insert_session(self, session: ExportedSession) -> Operation[None]:
        parent = session.parent
        if parent is not None and not (
            yield query("session_is_there", user=self._user, session=parent.session)
        ):
            parent = None
        # Not its configuration: a document must not choose where this user's credentials are sent.
        yield query(
            "import_session",
            session=session.id,
            user=self._user,
            origin=session.origin,
            title=session.title,
            title_by=session.title_by,
            pinned=session.pinned,
            archived=session.archived,
            project=session.project,
            parent=None if parent is None else msgspec.json.encode(parent).decode(),
            parent_kind=None if parent is None else parent.kind,
            revision=session.revision + 1,
            epoch=session.epoch,
            head=session.head,
            created_at=session.created_at,
            active_at=session.active_at,
            ended_at=session.ended_at,
        )


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


def _slices(objects: Sequence[msgspec.Struct]) -> Iterator[list[msgspec.Struct]]:
    """Each of them is encoded at once, and meanwhile no other thread runs."""
    some: list[msgspec.Struct] = []
    size = 0
    for item in objects:
        some.append(item)
        size += _ROW + sum(
            [len(value) for value in msgspec.structs.astuple(item) if isinstance(value, _LONG)]
        )
        if size > _SLICE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _flat(objects: Sequence[msgspec.Struct]) -> str:
    """Structs as a JSON list of lists, for one statement to insert; raw JSON goes in as text."""
    return msgspec.json.encode(
        [
            [
                bytes(value).decode() if isinstance(value, msgspec.Raw) else value
                for value in msgspec.structs.astuple(item)
            ]
            for item in objects
        ]
    ).decode()
