"""What was said: pages of it, its rewrites, and what they replaced."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from roost.core.events import RewriteDetail, RewriteKind
from roost.core.ids import MessageId, SessionId
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import Number, Phrase
from roost.http.views import (
    ApprovalView,
    CallView,
    MessageView,
    SessionView,
    SnapshotView,
    TurnView,
    approval_view,
    session_view,
    shown,
)
from roost.http.views import snapshot_view as snapshot_shown
from roost.store.history import Epoch
from roost.store.watching import Page

_Limit = Annotated[int, msgspec.Meta(ge=1, le=200)]


class PageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`before` is the position of the first message that is known already."""

    before: Number | None = None
    limit: _Limit = 50


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: _Limit = 50


class Messages(msgspec.Struct, frozen=True):
    """Messages with their turns, tool calls and settled approvals. What a message here says is not
    said again: not in its turn's `parts`, nor in the `arguments` and the `result` of its calls. A
    page may be shorter than asked for if its messages are long: `older` is whether there are more
    before them."""

    messages: Sequence[MessageView]
    turns: Sequence[TurnView]
    calls: Sequence[CallView]
    approvals: Sequence[ApprovalView]
    older: bool


_detail = msgspec.json.Decoder(RewriteDetail).decode


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    epoch: int
    kind: RewriteKind
    revision: int
    detail: RewriteDetail
    created_at: int


class Rewrites(msgspec.Struct, frozen=True):
    rewrites: Sequence[Rewrite]


class Focus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the summary gives most room to."""

    focus: Phrase | None = None


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a compaction; without one there was nothing to gain. `replaced` are the messages
    that a summary by `model` took the place of; without one they were cut down."""

    compacted: bool
    replaced: tuple[MessageId, ...] = ()
    model: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    session: SessionView


async def paged(call: Call, session: SessionId, query: PageQuery) -> Messages:
    """Read a page of the history, the newest by default; messages that come later move none."""
    return _page(await call.account.page(session, before=query.before, limit=query.limit))


def _page(page: Page) -> Messages:
    settled = list(map(approval_view, page.approvals))
    return Messages(*shown(page.messages, page.turns, page.calls), settled, page.older)


async def snapshot(call: Call, session: SessionId, query: Size) -> SnapshotView:
    """Read how a session stands: its newest messages, its queue and the turn under way."""
    found = await call.account.snapshot(session, limit=query.limit)
    return snapshot_shown(found, call.providers)


async def rewrites(call: Call, session: SessionId) -> Rewrites:
    """List every rewrite of the history: undo, edit, clear, compaction, restore."""
    await call.account.session(session)
    return Rewrites([_rewrite(each) for each in await call.account.history.rewrites(session)])


def _rewrite(epoch: Epoch) -> Rewrite:
    return Rewrite(
        epoch=epoch.epoch,
        kind=epoch.kind,
        revision=epoch.revision,
        detail=_detail(epoch.detail),
        created_at=epoch.created_at,
    )


async def replaced(call: Call, session: SessionId, epoch: int, query: PageQuery) -> Messages:
    """Read a page of what left the history with a rewrite, the newest by default."""
    found = await call.account.history.replaced(
        session, epoch, before=query.before, limit=query.limit
    )
    return _page(found)


async def restored(call: Call, session: SessionId) -> SessionView:
    """Take back an undo or a clear after which nothing was said, or the latest compaction."""
    await call.account.history.restore(session)
    return session_view(await call.account.session(session), call.providers)


async def cleared(call: Call, session: SessionId) -> SessionView:
    """Begin the history anew. What was said can still be read, and brought back."""
    await call.account.history.clear(session)
    return session_view(await call.account.session(session), call.providers)


async def compacted(call: Call, session: SessionId, body: Focus) -> Compacted:
    """Make room in a long conversation: old messages are replaced by a summary."""
    await call.account.session(session)
    done = await call.account.history.compact(session, focus=body.focus)
    view = session_view(await call.account.session(session), call.providers)
    if done is None:
        return Compacted(compacted=False, session=view)
    return Compacted(
        compacted=True,
        replaced=done.replaced,
        model=done.model,
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        session=view,
    )


async def pinned(call: Call, session: SessionId, message: MessageId) -> None:
    """Keep a message word for word through compactions."""
    await call.account.history.pin(session, message)


async def unpinned(call: Call, session: SessionId, message: MessageId) -> None:
    """Let compactions replace a message again."""
    await call.account.history.pin(session, message, pinned=False)


_MESSAGE_PIN = "/api/sessions/{session}/messages/{message}/pin"

ENDPOINTS = (
    endpoint("GET", "/api/sessions/{session}/messages", paged, scope="read"),
    endpoint("GET", "/api/sessions/{session}/snapshot", snapshot, scope="read"),
    endpoint("PUT", _MESSAGE_PIN, pinned, scope="chat"),
    endpoint("DELETE", _MESSAGE_PIN, unpinned, scope="chat"),
    endpoint("GET", "/api/sessions/{session}/rewrites", rewrites, scope="read"),
    endpoint("GET", "/api/sessions/{session}/rewrites/{epoch}/replaced", replaced, scope="read"),
    endpoint("POST", "/api/sessions/{session}/restore", restored, scope="chat"),
    endpoint("POST", "/api/sessions/{session}/clear", cleared, scope="chat"),
    endpoint("POST", "/api/sessions/{session}/compact", compacted, scope="chat"),
)
