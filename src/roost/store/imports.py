"""Documents into a store: in slices, and nobody sees a session before all of it is there."""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from roost.core.errors import Conflict, ImportOvertaken, InvalidInput, NotFound
from roost.core.events import SessionUpdated
from roost.core.ids import SessionId, ToolCallId, UserId, derived_id
from roost.core.messages import Message, decode_parts
from roost.core.sessions import Session
from roost.store.document import Document, ExportedSession, Unpacked, renamed
from roost.store.operations import Engine, Operation, maybe, one, query, reading, writing
from roost.store.pairs import Unanswered, make_room, stand_in, unanswered
from roost.store.sessions import load_session
from roost.store.writes import ROW, SLICE, insert, name_stored_blobs, record

_LONG = (str, bytes, msgspec.Raw)

_TRIES = 5
"""Somebody else may import or delete the same session meanwhile, or purge what was begun."""

_NOT_RUN = "Not run: this conversation was exported before it came to this."
_UNKNOWN = (
    "This conversation was exported before the result of this stood in it. Check before doing it"
    " again."
)

_NEVER_RAN = ("requested", "waiting", "denied", "cancelled")

Rows = Sequence[tuple[str, str]]
"""Statements, and the rows that each of them inserts."""


class Imported(msgspec.Struct, frozen=True):
    """`created` is false if the session was here already, with every message of the document."""

    session: Session
    created: bool


class _Standing(msgspec.Struct, frozen=True, array_like=True):
    user: UserId
    deleted: bool
    mark: str | None


class _Counts(msgspec.Struct, frozen=True, array_like=True):
    messages: int
    turns: int
    tool_calls: int
    epochs: int


class Imports:
    """Until it is complete a session stands there as if it were deleted, with the mark of its
    document in place of a signature. So nobody sees it, what a crash leaves is purged like all that
    is deleted, and whoever brings the same document goes on with it; each slice inserts what is not
    there, and keeps the purge away for a minute."""

    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    async def take_in(self, found: Unpacked) -> Imported:
        for _ in range(_TRIES - 1):
            try:
                return await self._try(found)
            except ImportOvertaken:
                continue
        return await self._try(found)

    async def _try(self, found: Unpacked) -> Imported:
        found = await self._as_own(found)
        session = found.document.session.id
        if (here := await self._find(session, found)) is not None:
            return Imported(here, created=False)
        first = True
        for part in _parts(found.document):
            await self._write(session, found, await asyncio.to_thread(_encoded, part), first=first)
            first = False
        lone = await asyncio.to_thread(_unanswered, found.document)
        used = await asyncio.to_thread(_flat, found.document.usage)
        return Imported(await self._publish(session, found, lone, used), created=True)

    async def _as_own(self, found: Unpacked) -> Unpacked:
        """Under ids of this user's own, if those in it are another's or were, as what they used
        tells, or if it is here under the others already."""
        if not await self._is_foreign(found.document.session.id):
            return found
        own = await asyncio.to_thread(renamed, found.document, self._user)
        return found._replace(document=own)

    @reading
    def _is_foreign(self, session: SessionId) -> Operation[bool]:
        other = derived_id(session, self._user)
        return bool((yield query("is_foreign", user=self._user, session=session, other=other)))

    @reading
    def _find(self, session: SessionId, found: Unpacked) -> Operation[Session | None]:
        """The session, if it is here. If not, it may be put here."""
        if not (yield query("user_by_id", user=self._user)):
            raise NotFound("user", self._user)
        here = maybe((yield query("import_standing", session=session)), _Standing)
        if here is not None and here.user != self._user:
            raise ImportOvertaken(id=session)
        if here is None or (here.deleted and here.mark == found.mark):
            yield from self._check_free(found.document)
            return None
        if here.deleted:
            raise Conflict(
                f"Session {session} was just deleted, or another export of it is being imported. "
                "Try again in a few minutes."
            )
        yield from self._check_same(found.document)
        return (yield from load_session(self._user, session))

    def _check_same(self, document: Document) -> Operation[None]:
        session = document.session.id
        ids = msgspec.json.encode([message.id for message in document.messages]).decode()
        stored = one((yield query("count_stored", session=session, ids=ids)), int)
        if stored != len(document.messages):
            raise Conflict(
                f"Session {session} is here already, and differs from this export. Delete it first "
                "to have the exported one."
            )

    def _check_free(self, document: Document) -> Operation[None]:
        session = document.session.id
        ids: list[str] = [item.id for item in (*document.messages, *document.turns)]
        ids += [_used_by(used.source) for used in document.usage]
        given = msgspec.json.encode(ids).decode()
        if rows := (yield query("taken_ids", session=session, ids=given)):
            raise InvalidInput(f"The id {rows[0][0]} in this export is taken by another session.")

    @writing
    def _write(
        self, session: SessionId, found: Unpacked, rows: Rows, *, first: bool
    ) -> Operation[None]:
        if first:
            yield from self._insert_session(found.document.session, found.mark)
        yield from self._hold(session, found.mark)
        for statement, values in rows:
            yield query(statement, session=session, rows=values)

    def _hold(self, session: SessionId, mark: str) -> Operation[None]:
        """Go on only with what was begun; a user who is removed meanwhile has nothing begun."""
        if not (yield query("hold_unseen", session=session, user=self._user, mark=mark)):
            raise ImportOvertaken(id=session)

    @writing
    def _publish(
        self, session: SessionId, found: Unpacked, lone: Sequence[Unanswered], used: str
    ) -> Operation[Session]:
        yield from self._hold(session, found.mark)
        yield from self._check_complete(found.document)
        yield from self._answer_calls(found.document, lone)
        yield from name_stored_blobs(self._user, session, found.named)
        yield query("recount", session=session)
        # Not before: what was used is told by its day too, and would stay if the rest never came.
        yield query("import_usage", user=self._user, session=session, rows=used)
        yield query("recount_usage", user=self._user, session=session)
        yield query("publish_unseen", session=session, signature=None)
        revision = found.document.session.revision + 1
        yield from record(session, revision, SessionUpdated(("imported",)))
        return (yield from load_session(self._user, session))

    def _check_complete(self, document: Document) -> Operation[None]:
        """Whoever stood still for a minute may have lost some of it to the purge."""
        counts = one((yield query("count_imported", session=document.session.id)), _Counts)
        lists = (document.messages, document.turns, document.tool_calls, document.epochs)
        if counts != _Counts(*map(len, lists)):
            raise ImportOvertaken(id=document.session.id)

    def _answer_calls(self, document: Document, lone: Sequence[Unanswered]) -> Operation[None]:
        """Nothing goes on by itself after an import, so nobody else would."""
        session, head = document.session, document.session.head
        not_run = {call.id for call in document.tool_calls if call.state in _NEVER_RAN}
        # The last one first: making room for it leaves those before it in their places.
        for each in reversed(lone):
            if each.is_free:
                head = max(head, each.place)
            else:
                yield from make_room(session.id, each.place)
                head += 1
            words: dict[ToolCallId, str] = {
                call: _NOT_RUN if call in not_run else _UNKNOWN for call in each.calls
            }
            yield from insert(
                self._user,
                session.id,
                session.revision + 1,
                session.epoch,
                each.place,
                each.message.turn,
                stand_in(words),
            )
        yield query("set_head", session=session.id, head=head)

    def _insert_session(self, session: ExportedSession, mark: str) -> Operation[None]:
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
            mark=mark,
            revision=session.revision + 1,
            epoch=session.epoch,
            head=session.head,
            created_at=session.created_at,
            active_at=session.active_at,
            ended_at=session.ended_at,
        )


def _unanswered(document: Document) -> list[Unanswered]:
    """Takes long for a long history: not for the event loop."""
    live = [message for message in document.messages if message.gone is None]
    return unanswered(
        [
            Message(
                id=message.id,
                role=message.role,
                parts=decode_parts(bytes(message.parts)),
                turn=message.turn,
                position=message.position,
            )
            for message in sorted(live, key=lambda message: message.position)
        ]
    )


def _used_by(source: str) -> str:
    """The turn or the session that it was used by. All that this uses later is counted for whose
    row is there first: so it may be gone, or never have been here, but is no other session's."""
    return source.rpartition(":")[2].partition("/")[0]


_Part = dict[str, list[msgspec.Struct]]
"""Statements, and what each of them inserts."""


def _parts(document: Document) -> Iterator[_Part]:
    """Each is written at once, and meanwhile nobody else writes."""
    part: _Part = {}
    size = 0
    for statement, objects in (
        ("import_messages", document.messages),
        ("import_turns", document.turns),
        ("import_tool_calls", document.tool_calls),
        ("import_epochs", document.epochs),
    ):
        for item in objects:
            part.setdefault(statement, []).append(item)
            size += _size(item)
            if size > SLICE:
                yield part
                part, size = {}, 0
    yield part


def _size(item: msgspec.Struct) -> int:
    values = msgspec.structs.astuple(item)
    return ROW + sum([len(value) for value in values if isinstance(value, _LONG)])


def _encoded(part: _Part) -> Rows:
    """Each list as a JSON list of lists, for one statement to insert; raw JSON goes in as text."""
    return [(statement, _flat(objects)) for statement, objects in part.items()]


def _flat(objects: Sequence[msgspec.Struct]) -> str:
    return msgspec.json.encode(
        [
            [
                bytes(value).decode() if isinstance(value, msgspec.Raw) else value
                for value in msgspec.structs.astuple(item)
            ]
            for item in objects
        ]
    ).decode()
