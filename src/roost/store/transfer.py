"""Sessions out of a store and into one: export as JSON or Markdown, import once."""

import base64
from typing import TypeVar

import msgspec

from roost.core.errors import Conflict
from roost.core.events import SessionUpdated
from roost.core.ids import SessionId, UserId
from roost.core.messages import attachments, decode_parts
from roost.core.sessions import Session
from roost.store.blobs import Blobs
from roost.store.document import (
    Document,
    ExportedBlob,
    ExportedEpoch,
    ExportedMessage,
    ExportedSession,
    ExportedToolCall,
    ExportedTurn,
    ExportedUsage,
    blob_bytes,
    decode,
    encode,
    renamed,
)
from roost.store.markdown import markdown
from roost.store.operations import (
    Engine,
    Operation,
    Rows,
    SqlValue,
    maybe,
    one,
    query,
    reading,
    writing,
)
from roost.store.rows import messages_of
from roost.store.sessions import load_session
from roost.store.writes import name_blobs, record

S = TypeVar("S", bound=msgspec.Struct)


class Imported(msgspec.Struct, frozen=True):
    """`created` is false if the session was here already, with everything the document has."""

    session: Session
    created: bool


class _Owner(msgspec.Struct, frozen=True, array_like=True):
    user: UserId
    deleted: bool


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
        blobs = [
            ExportedBlob(
                id=blob.id,
                media_type=blob.media_type,
                data=base64.b64encode(await self._blobs.read_bytes(blob.id)).decode(),
            )
            for blob in await self._blobs.of_session(session)
        ]
        return encode(msgspec.structs.replace(document, blobs=tuple(blobs)))

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
                config=found.config,
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
            usage=_objects((yield query("export_usage", session=session)), ExportedUsage),
        )

    async def load(self, text: bytes) -> Imported:
        """Take a document in. Again, it changes nothing; and if another user of this store has the
        session, this one gets it under ids of its own."""
        document = decode(text)
        blobs = [(blob, blob_bytes(blob)) for blob in document.blobs]
        for blob, data in blobs:
            await self._blobs.put_bytes(data, blob.media_type)
        return await self._insert(document)

    @writing
    def _insert(self, document: Document) -> Operation[Imported]:
        owner = yield from self._owner(document.session.id)
        if owner is not None and owner.user != self._user:
            document = renamed(document, self._user)
            owner = yield from self._owner(document.session.id)
        session = document.session
        if owner is not None:
            yield from self._check_same(document, owner)
            return Imported((yield from load_session(self._user, session.id)), created=False)
        yield from self._insert_session(session)
        for statement, rows in (
            ("import_messages", document.messages),
            ("import_turns", document.turns),
            ("import_tool_calls", document.tool_calls),
            ("import_epochs", document.epochs),
            ("import_usage", document.usage),
        ):
            yield query(statement, user=self._user, session=session.id, rows=_flat(rows))
        for item in (*document.messages, *document.turns):
            named = attachments(decode_parts(bytes(item.parts)))
            yield from name_blobs(self._user, session.id, named)
        yield query("recount", session=session.id)
        yield query("recount_usage", session=session.id)
        yield from record(session.id, session.revision + 1, SessionUpdated(("imported",)))
        return Imported((yield from load_session(self._user, session.id)), created=True)

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


def _objects(rows: Rows, shape: type[S]) -> tuple[S, ...]:
    """Rows as structs whose fields are named and ordered like the columns."""
    fields = msgspec.structs.fields(shape)

    def value(stored: SqlValue, kind: object) -> object:
        if kind is msgspec.Raw:
            return msgspec.Raw(str(stored).encode())
        return msgspec.convert(stored, kind, strict=False)

    return tuple(
        shape(**{f.name: value(v, f.type) for f, v in zip(fields, row, strict=True)})
        for row in rows
    )


def _flat(objects: tuple[msgspec.Struct, ...]) -> str:
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
