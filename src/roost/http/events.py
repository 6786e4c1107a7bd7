"""The streams of events: one session's, and one user's list of sessions."""

from functools import partial
from typing import Annotated

import msgspec

from roost.core.events import SessionEvent, parse_cursor
from roost.core.ids import SessionId
from roost.http.calls import Call
from roost.http.endpoint import Header, endpoint
from roost.http.stream import MEDIA_TYPE, End, EventStream, event
from roost.http.views import (
    ApprovalView,
    EventView,
    SessionView,
    approval_view,
    event_view,
    session_view,
)
from roost.llm.providers import Providers
from roost.runtime.feed import (
    ApprovalSeen,
    FeedEvent,
    Ready,
    Refetch,
    SessionRemoved,
    SessionSeen,
)

_encode = msgspec.json.Encoder().encode
_LastId = Annotated[str | None, Header("Last-Event-ID")]


class After(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event's id, for clients that can't send the header on their first connection."""

    after: Annotated[str, msgspec.Meta(max_length=200)] | None = None


class SessionSeenView(msgspec.Struct, frozen=True, tag_field="kind", tag="session"):
    session: SessionView


class ApprovalSeenView(msgspec.Struct, frozen=True, tag_field="kind", tag="approval"):
    approval: ApprovalView


FeedView = Ready | SessionSeenView | SessionRemoved | ApprovalSeenView | Refetch


async def session_events(
    call: Call, session: SessionId, query: After, last: _LastId
) -> EventStream[SessionEvent]:
    """Follow a session live: a snapshot, then everything that happens.

    Server-sent events, each with an id. Coming back with the last one in `Last-Event-ID` (or
    `after`), one is told what came after it, each durable event once. `streamed` text is
    provisional: a message takes its place, or a `rewound` withdraws it. `end` says why the stream
    ends.
    """
    at = last or query.after
    cursor = None if not at else parse_cursor(at)
    encode = partial(encode_event, call.providers)
    return call.stream(call.account.watch(session, cursor), encode)


async def user_events(call: Call) -> EventStream[FeedEvent]:
    """Follow what happens to your sessions and to what waits for your answer.

    Server-sent events. After `ready` nothing is missed: read the lists then, and bring them up to
    date with `session`, `removed` and `approval`. After a `refetch`, read them anew.
    """
    return call.stream(call.account.feed(), partial(_encode_feed, call.providers))


def encode_event(known: Providers, told: SessionEvent) -> bytes:
    view = event_view(told, known)
    return event(_kind(type(view)), _encode(view), str(told.cursor))


def _encode_feed(known: Providers, told: FeedEvent) -> bytes:
    view = feed_view(told, known)
    return event(_kind(type(view)), _encode(view))


def feed_view(told: FeedEvent, known: Providers) -> FeedView:
    match told:
        case SessionSeen():
            return SessionSeenView(session_view(told.session, known))
        case ApprovalSeen():
            return ApprovalSeenView(approval_view(told.approval))
        case _:
            return told


def _kind(view: type[EventView | FeedView]) -> str:
    return str(view.__struct_config__.tag)


_events = partial(endpoint, "GET", scope="read", answers=MEDIA_TYPE)

ENDPOINTS = (
    _events("/api/sessions/{session}/events", session_events, sends=EventView | End),
    _events("/api/events", user_events, sends=FeedView | End),
)
