"""Full-text search over a user's messages, and the index that follows the commits."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import cast

import msgspec
import structlog

from roost.core.errors import InvalidInput
from roost.core.ids import MessageId, SessionId, UserId
from roost.core.messages import (
    FilePart,
    ImagePart,
    Part,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    decode_parts,
)
from roost.store.lexemes import Alternatives, tsquery
from roost.store.operations import Engine, Operation, every, one, query, reading
from roost.store.snippets import Snippet, snippet
from roost.store.words import indexed, match_expression, parse, scope_word

log = structlog.get_logger()

PAGE = 100
"""The most hits in one page."""

_TOOL_HEAD = 4_000
"""Characters of a tool's arguments or output that are indexed."""

_FEW_SESSIONS = 200
"""Up to so many sessions, a search names them to the index; more are dense enough to walk."""

_EARLIEST, _LATEST = 1970 * 12, 2100 * 12
_END_OF_TIME = 4_102_444_800_000
_MESSAGE_HEAD = 200_000
_SLICE_MESSAGES = 32
_SLICE_CHARACTERS = 64_000
_SLICE_BYTES = 256_000
"""What is read for a slice: much of it may be nothing that is indexed."""


class SearchFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Times are milliseconds; `since` is included, `until` is not."""

    session: SessionId | None = None
    role: Role | None = None
    project: str | None = None
    archived: bool | None = None
    since: int | None = None
    until: int | None = None


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """`seq` is where the next page goes on from."""

    seq: int
    session: SessionId
    title: str | None
    message: MessageId
    role: Role
    position: int
    created_at: int
    snippet: Snippet


class _HitRow(msgspec.Struct, frozen=True, array_like=True):
    seq: int
    message: MessageId
    session: SessionId
    title: str | None
    role: Role
    parts: str
    position: int
    created_at: int


class _ToIndex(msgspec.Struct, frozen=True, array_like=True):
    seq: int
    user: UserId
    session: SessionId
    role: Role
    created_at: int
    parts: str


class _Session(msgspec.Struct, frozen=True, array_like=True):
    id: SessionId


class Search:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def __call__(
        self,
        text: str,
        where: SearchFilter = SearchFilter(),  # noqa: B008 (frozen)
        *,
        before: int | None = None,
        limit: int = 20,
    ) -> Operation[Sequence[Hit]]:
        """Messages with all the words, newest first. What a compaction replaced is found too; what
        was undone or cleared is not."""
        if not 1 <= limit <= PAGE:
            raise InvalidInput(f"A page has 1 to {PAGE} hits, not {limit}.")
        terms = parse(text)
        scope = yield from self._scope(where)
        if scope is None:
            return []
        rows = yield query(
            "search",
            match=f"scope : ({_scope_expression(scope)}) AND words : ({match_expression(terms)})",
            tsquery=tsquery(scope, terms),
            user=self._user,
            session=where.session,
            project=where.project,
            archived=where.archived,
            since=where.since,
            until=where.until,
            before=1 << 62 if before is None else before,
            limit=limit,
        )
        return [
            Hit(
                seq=row.seq,
                session=row.session,
                title=row.title,
                message=row.message,
                role=row.role,
                position=row.position,
                created_at=row.created_at,
                snippet=snippet(searchable(decode_parts(row.parts)), terms),
            )
            for row in every(rows, _HitRow)
        ]

    def _scope(self, where: SearchFilter) -> Operation[list[Alternatives] | None]:
        """The filter in words of the index, so that it is not every match that has to be looked at:
        whose, by whom, in which sessions, in which months. None if no session is left."""
        scope = [[scope_word("u", self._user)]]
        if where.role:
            scope.append([scope_word("r", where.role)])
        if where.session:
            scope.append([scope_word("s", where.session)])
        elif where.project is not None or where.archived is not None:
            rows = yield query(
                "sessions_to_search",
                user=self._user,
                project=where.project,
                archived=where.archived,
                limit=_FEW_SESSIONS + 1,
            )
            if not rows:
                return None
            if len(rows) <= _FEW_SESSIONS:
                scope.append([scope_word("s", row.id) for row in every(rows, _Session)])
        if where.since is not None or where.until is not None:
            scope.append(_periods(where.since, where.until))
        return scope


def _scope_expression(scope: list[Alternatives]) -> str:
    """In the language of FTS5."""
    return " AND ".join([f"({' OR '.join(words)})" for words in scope])


def _month(at: int) -> int:
    """Months since the year 0, from 1970 to 2100: an import may say anything."""
    when = datetime.fromtimestamp(min(max(at, 0), _END_OF_TIME) / 1000, UTC)
    return when.year * 12 + when.month - 1


def _periods(since: int | None, until: int | None) -> list[str]:
    """Words for years and months that cover a time; its exact ends are checked by the query."""
    first = _EARLIEST if since is None else max(_month(since), _EARLIEST)
    last = _LATEST if until is None else min(_month(until), _LATEST)
    years = [
        y for y in range(first // 12, last // 12 + 1) if first <= y * 12 and y * 12 + 11 <= last
    ]
    months = [m for m in range(first, last + 1) if m // 12 not in years]
    return [f"y{year}" for year in years] + [f"m{month}" for month in months] or ["y0"]


def _when(at: int) -> str:
    return f"y{_month(at) // 12} m{_month(at)}"


def searchable(parts: tuple[Part, ...]) -> str:
    """What of a message can be found: its text, the names of its files, the head of tool output."""
    found: list[str] = []
    for part in parts:
        match part:
            case TextPart():
                found.append(part.text)
            case ToolCallPart():
                found.append(f"{part.name} {_told(part.arguments)[:_TOOL_HEAD]}")
            case ToolResultPart():
                found.append(searchable(part.content)[:_TOOL_HEAD])
            case ImagePart() | FilePart():
                found.append(part.name or "")
            case _:
                pass
    return "\n".join(found)[:_MESSAGE_HEAD]


def _told(arguments: str) -> str:
    """What a tool was told, without the JSON around it, where a word after a line's end begins with
    an n."""
    try:
        return " ".join(_leaves(msgspec.json.decode(arguments)))
    except (msgspec.DecodeError, RecursionError):
        return arguments


def _leaves(value: object) -> Iterator[str]:
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += reversed(cast("dict[str, object]", value).values())
        elif isinstance(value, list):
            todo += reversed(cast("list[object]", value))
        elif not (value is None or isinstance(value, bool)):
            yield str(value)


def _text_of(row: _ToIndex) -> str:
    try:
        return searchable(decode_parts(row.parts))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # The rest of the index must not wait for it.
        log.exception("a message can't be read, and so not be found", seq=row.seq)
        return ""


def index_slice() -> Operation[bool]:
    """Take the next few messages into the index. True if there may be more."""
    after = one((yield query("index_progress")), int)
    rows = yield query("messages_to_index", after=after, limit=_SLICE_MESSAGES, bytes=_SLICE_BYTES)
    if not rows:
        return False
    batch: list[tuple[int, str, str]] = []
    room = _SLICE_CHARACTERS
    for row in every(rows, _ToIndex):
        words = indexed(_text_of(row))
        scope = [scope_word("u", row.user), scope_word("s", row.session), scope_word("r", row.role)]
        batch.append((row.seq, " ".join([*scope, _when(row.created_at)]), words))
        room -= len(words)
        if room <= 0:
            break
    yield query("index_messages", batch=msgspec.json.encode(batch).decode())
    yield query("advance_index", indexed=batch[-1][0])
    return True
