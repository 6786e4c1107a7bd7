"""A session's history: read it, and rewrite it by opening epochs."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from roost.core.compaction import Compaction
from roost.core.errors import Conflict, EpochPassed, InvalidInput, NotFound
from roost.core.events import (
    HistoryRewritten,
    MessageAdded,
    RewriteKind,
    SessionUpdated,
    Snapshot,
)
from roost.core.ids import (
    MessageId,
    SessionId,
    Token,
    TurnId,
    UserId,
)
from roost.core.messages import Draft, Message
from roost.core.sessions import Session
from roost.core.signature import AgentConfig
from roost.core.turns import NewTurn
from roost.store.operations import Engine, Operation, every, maybe, one, query, reading, writing
from roost.store.queue import enqueue, submitted_before, turn_row
from roost.store.rows import messages_of
from roost.store.sessions import Prompt, load_session, set_configuration
from roost.store.watching import (
    Changes,
    Page,
    changes_since,
    newest,
    newest_page,
    replaced_page,
    take_snapshot,
)
from roost.store.writes import (
    Head,
    Written,
    add_usage,
    already_written,
    check_session,
    check_token,
    enter,
    enter_adding,
    find_live_message,
    find_message,
    insert,
    place,
    record,
    refuse_while_live,
    standing,
)

PAGE = 200
"""The most messages in one page."""


class History(msgspec.Struct, frozen=True):
    session: Session
    messages: tuple[Message, ...]


class Epoch(msgspec.Struct, frozen=True, array_like=True):
    """One rewrite of the history; `detail` is the JSON of what is known about it."""

    epoch: int
    kind: RewriteKind
    revision: int
    detail: str
    created_at: int


class _Place(msgspec.Struct, frozen=True, array_like=True):
    id: MessageId
    position: int


class Histories:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @property
    def user(self) -> UserId:
        """Whose it is."""
        return self._user

    @reading
    def load(self, session: SessionId, *, after: int = 0) -> Operation[History]:
        """The live history, or what of it stands after a position: within an epoch, messages are
        only ever added at the end, so that is all a reader who knows the rest lacks (A14)."""
        found = yield from load_session(self._user, session)
        rows = yield query("live_messages", session=session, after=after)
        return History(found, messages_of(rows))

    @reading
    def page(
        self, session: SessionId, *, before: int | None = None, limit: int = 50
    ) -> Operation[Sequence[Message]]:
        """The last messages before a position, oldest first. Appends do not move them. It may be
        fewer if they are long, but one at least, if there is one."""
        yield from self._check(session, limit)
        return (yield from newest(session, limit, before=before))

    @reading
    def whole_page(
        self, session: SessionId, *, before: int | None = None, limit: int = 50
    ) -> Operation[Page]:
        """As `page`, with the turns and tool calls of the messages."""
        yield from self._check(session, limit)
        return (yield from newest_page(session, limit, before=before))

    def _check(self, session: SessionId, limit: int) -> Operation[None]:
        _check_page(limit)
        yield from load_session(self._user, session)

    @reading
    def around(
        self, session: SessionId, position: int, *, reach: int
    ) -> Operation[Sequence[Message]]:
        """The messages about a position, oldest first, with what a compaction replaced there."""
        yield from self._check(session, 2 * reach + 1)
        rows = yield query(
            "messages_around",
            session=session,
            first=position - reach,
            last=position + reach,
            limit=PAGE,
        )
        return messages_of(rows)

    @reading
    def snapshot(self, session: SessionId, *, limit: int = 50) -> Operation[Snapshot]:
        """The session as it stands at one moment, with its newest messages: where a subscriber
        begins. What follows is read with `since`, from the snapshot's revision on."""
        _check_page(limit)
        return (yield from take_snapshot(self._user, session, limit))

    @reading
    def since(self, session: SessionId, revision: int) -> Operation[Changes]:
        """Every durable event after a revision, in order, with what it names."""
        return (yield from changes_since(self._user, session, revision))

    @reading
    def epochs(self, session: SessionId) -> Operation[Sequence[Epoch]]:
        return every((yield query("list_epochs", user=self._user, session=session)), Epoch)

    @reading
    def replaced(
        self, session: SessionId, epoch: int, *, before: int | None = None, limit: int = 50
    ) -> Operation[Page]:
        """As `whole_page`, of what left the history when an epoch was opened."""
        yield from self._check(session, limit)
        return (yield from replaced_page(session, epoch, limit, before=before))

    @writing
    def pin(self, session: SessionId, message: MessageId, pinned: bool) -> Operation[None]:
        """Have compactions keep a message of the live history word for word, or no longer."""
        yield from check_session(self._user, session)
        yield from find_live_message(self._user, session, message)
        if (yield query("pin_message", message=message, pinned=pinned)):
            head = yield from enter(self._user, session, None, active=False)
            yield from record(session, head.revision, SessionUpdated(("pinned_messages",)))

    # Rewrites. All need the session's lease, and none is possible while a turn is under way, except
    # for a compaction by the turn itself.

    @writing
    def note(self, session: SessionId, token: Token, note: Draft) -> Operation[Written]:
        """Say something in Roost's own voice between two turns, for people and the agent. That is
        no activity of the session's."""
        head = yield from enter_adding(self._user, session, token, (note,), active=False)
        if isinstance(head, Written):
            return head
        yield from refuse_while_live(session)
        yield from place(self._user, session, head, None, (note,), MessageAdded(note.id))
        return Written(head.revision, head.epoch, head.head + 1)

    @writing
    def undo(self, session: SessionId, token: Token, turn: TurnId) -> Operation[Written]:
        """Take a turn back, and all that came after it. Messages still in the queue stay there."""
        head = yield from enter(self._user, session, token)
        epoch = yield from self._take_back(session, head, turn, "undo")
        yield from record(session, head.revision, HistoryRewritten(epoch, "undo"))
        return Written(head.revision, epoch, head.head)

    @writing
    def edit(
        self,
        session: SessionId,
        token: Token,
        turn: TurnId,
        new: NewTurn,
        *,
        configuration: tuple[AgentConfig, Prompt] | None = None,
    ) -> Operation[Written]:
        """Take a turn back and put another message in its place, before any that wait; for another
        agent, if it comes with its configuration."""
        yield from check_session(self._user, session)
        if (yield from submitted_before(session, new)) is not None:
            session_now = yield from load_session(self._user, session)
            return Written(session_now.revision, session_now.epoch, session_now.head)
        head = yield from enter(self._user, session, token)
        epoch = yield from self._take_back(session, head, turn, "edit")
        events = yield from enqueue(self._user, session, new, front=True)
        if configuration is not None:
            events.append((yield from set_configuration(session, head.revision, *configuration)))
        yield from record(session, head.revision, HistoryRewritten(epoch, "edit"), *events)
        return Written(head.revision, epoch, head.head)

    def _take_back(
        self, session: SessionId, head: Head, turn: TurnId, kind: Literal["undo", "edit"]
    ) -> Operation[int]:
        yield from refuse_while_live(session)
        row = yield from turn_row(self._user, turn)
        if row.session != session or row.message is None:
            raise NotFound("started turn", turn)
        first = yield from find_message(self._user, row.message)
        if first is None or first.gone is not None:
            raise Conflict(f"Turn {turn} is no longer part of the history.")
        epoch = yield from self._open(session, head, kind)
        yield query("retire_from", session=session, epoch=epoch, position=first.position)
        yield query("undo_turns_from", session=session, epoch=epoch, position=first.position)
        yield query("recount", session=session)
        return epoch

    @writing
    def clear(self, session: SessionId, token: Token) -> Operation[Written]:
        """Begin the history anew under the same id. What was said stays in the past epochs. A
        history that is clear is left as it is."""
        yield from check_token(self._user, session, token)
        if not (yield from newest(session, 1)):
            return (yield from standing(session))
        head = yield from enter(self._user, session, token)
        yield from refuse_while_live(session)
        epoch = yield from self._open(session, head, "clear")
        yield query("retire_from", session=session, epoch=epoch, position=0)
        yield query("recount", session=session)
        yield from record(session, head.revision, HistoryRewritten(epoch, "clear"))
        return Written(head.revision, epoch, head.head)

    @writing
    def compact(
        self, session: SessionId, token: Token, compaction: Compaction
    ) -> Operation[Written]:
        """Replace messages by fewer or shorter ones, in a new epoch. Of several made from the same
        epoch, the first wins and the others change nothing."""
        drafts = tuple([new.message for new in compaction.replacements])
        if first := (yield from already_written(self._user, session, drafts)):
            return first
        head = yield from enter(self._user, session, token, active=False)
        if head.epoch != compaction.epoch:
            raise EpochPassed(expected=compaction.epoch, actual=head.epoch)
        ids = _json(compaction.replaced if compaction.spares_pinned else ())
        if (yield query("pinned_among", session=session, ids=ids)):
            raise Conflict("A message that was to be replaced is pinned. Nothing was changed.")
        epoch = yield from self._open(
            session,
            head,
            "compaction",
            _detail(compaction),
            context=compaction.tokens_after or 0,
        )
        rows = yield query(
            "retire_messages", session=session, epoch=epoch, ids=_json(compaction.replaced)
        )
        places = {place.id: place.position for place in every(rows, _Place)}
        _check_replacements(compaction, places)
        for new in compaction.replacements:
            position = places[new.at]
            yield from insert(
                self._user, session, head.revision, epoch, position, None, new.message
            )
        yield from add_usage(self._user, session, f"{session}/{epoch}", compaction.usage)
        yield query("recount", session=session)
        yield from record(session, head.revision, HistoryRewritten(epoch, "compaction"))
        return Written(head.revision, epoch, head.head)

    @writing
    def restore(self, session: SessionId, token: Token) -> Operation[Written]:
        """Take back an undo or a clear after which nothing was said, or else the latest compaction,
        by a further epoch."""
        head = yield from enter(self._user, session, token)
        yield from refuse_while_live(session)
        taken_back = yield from self._to_take_back(session, head)
        epoch = yield from self._open(
            session, head, "restore", _json({"restores": taken_back.epoch})
        )
        yield query("retire_written_at", session=session, epoch=epoch, revision=taken_back.revision)
        yield query("revive_messages", session=session, epoch=taken_back.epoch)
        yield query("redo_turns", session=session, epoch=taken_back.epoch)
        yield query("recount", session=session)
        yield from record(session, head.revision, HistoryRewritten(epoch, "restore"))
        return Written(head.revision, epoch, head.head)

    def _to_take_back(self, session: SessionId, head: Head) -> Operation[Epoch]:
        latest = maybe((yield query("find_epoch", session=session, epoch=head.epoch)), Epoch)
        if latest is not None and latest.kind in ("undo", "clear"):
            if (yield query("messages_since", session=session, revision=latest.revision)):
                raise Conflict("The conversation has gone on since; that can't be taken back.")
            return latest
        compaction = maybe(
            (yield query("open_compaction", session=session, epoch=head.epoch)), Epoch
        )
        if compaction is None:
            raise Conflict("There is no rewrite of this history to take back.")
        return compaction

    def _open(
        self,
        session: SessionId,
        head: Head,
        kind: RewriteKind,
        detail: str = "{}",
        *,
        context: int = 0,
    ) -> Operation[int]:
        """`context` is how many tokens the history comes to now, if that is known."""
        epoch = one((yield query("raise_epoch", session=session, context=context)), int)
        yield query(
            "open_epoch",
            session=session,
            epoch=epoch,
            kind=kind,
            revision=head.revision,
            detail=detail,
        )
        return epoch


def _check_page(limit: int) -> None:
    if not 1 <= limit <= PAGE:
        raise InvalidInput(f"A page has 1 to {PAGE} messages, not {limit}.")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _detail(compaction: Compaction) -> str:
    return _json(
        {
            "trigger": compaction.trigger,
            "focus": compaction.focus,
            "model": compaction.model,
            "tokens_before": compaction.tokens_before,
            "tokens_after": compaction.tokens_after,
            "replacements": [new.message.id for new in compaction.replacements],
        }
    )


def _check_replacements(compaction: Compaction, places: dict[MessageId, int]) -> None:
    if missing := set(compaction.replaced) - set(places):
        raise InvalidInput(f"Not part of the live history: {', '.join(sorted(missing))}.")
    taken = [new.at for new in compaction.replacements]
    if len(set(taken)) != len(taken) or not set(taken) <= set(places):
        raise InvalidInput("Each replacement takes the place of one replaced message.")
