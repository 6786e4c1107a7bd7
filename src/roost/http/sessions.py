"""Sessions: list, search, open, change, branch, end, delete."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from roost.core.ids import SessionId
from roost.core.messages import Role
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import GivenMessage, GivenSession, Number, OwnSession, Phrase, Text
from roost.http.views import SessionView, session_view
from roost.store.search import Hit, SearchFilter
from roost.store.sessions import ListCursor, Project, SessionFilter, SessionPatch
from roost.store.usage import Used


class SessionQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`filed` are those of any project, or of none. `after_at` and `after` are `active_at` and `id`
    of the last session of the page before."""

    archived: bool = False
    pinned: bool | None = None
    project: Phrase | None = None
    filed: bool | None = None
    title: Phrase | None = None
    after_at: Number | None = None
    after: GivenSession | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50


class SessionList(msgspec.Struct, frozen=True):
    sessions: Sequence[SessionView]


class ProjectList(msgspec.Struct, frozen=True):
    projects: Sequence[Project]


class OpenSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`previous` is the session that this one takes the place of on someone's screen: it stays
    open, and what was said there goes to memory. With an `id` of one's own, asking again is
    harmless."""

    id: OwnSession | None = None
    title: Phrase | None = None
    project: Phrase | None = None
    model: Phrase | None = None
    toolset: Phrase | None = None
    instructions: Text = ""
    previous: GivenSession | None = None


class ChangeSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays. `seen` is the revision up to which someone has read it. Another model
    or toolset counts from the next turn on."""

    title: Phrase | msgspec.UnsetType | None = msgspec.UNSET
    project: Phrase | msgspec.UnsetType | None = msgspec.UNSET
    pinned: bool | msgspec.UnsetType = msgspec.UNSET
    archived: bool | msgspec.UnsetType = msgspec.UNSET
    seen: Number | msgspec.UnsetType = msgspec.UNSET
    model: Phrase | msgspec.UnsetType = msgspec.UNSET
    toolset: Phrase | msgspec.UnsetType = msgspec.UNSET


class BranchAt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last message that the branch has; without one it has all."""

    at: GivenMessage | None = None


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times are milliseconds. `before` is the last `seq` of the page before."""

    words: Phrase
    session: GivenSession | None = None
    role: Role | None = None
    project: Phrase | None = None
    archived: bool | None = None
    since: Number | None = None
    until: Number | None = None
    before: Number | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20


class Hits(msgspec.Struct, frozen=True):
    hits: Sequence[Hit]


class SessionUsage(msgspec.Struct, frozen=True):
    models: Sequence[Used]


async def listed(call: Call, query: SessionQuery) -> SessionList:
    """List sessions, the latest activity first."""
    where = SessionFilter(
        archived=query.archived,
        pinned=query.pinned,
        project=query.project,
        filed=query.filed,
        title=query.title,
    )
    after = None
    if query.after_at is not None:
        after = ListCursor(query.after_at, query.after or SessionId(""))
    found = await call.account.sessions(where, after=after, limit=query.limit)
    return SessionList([session_view(session, call.providers) for session in found])


async def projects(call: Call) -> ProjectList:
    """List the projects that sessions are filed under, with how many sessions each has. Archived
    ones don't count."""
    return ProjectList(await call.account.projects())


async def opened(call: Call, body: OpenSession) -> SessionView:
    """Open a session."""
    call.check_model(body.model)
    created = await call.account.create(
        origin=call.surface,
        id=body.id,
        model=body.model,
        instructions=body.instructions,
        toolset=body.toolset,
        title=body.title,
        project=body.project,
        previous=body.previous,
    )
    return session_view(created, call.providers)


async def found(call: Call, session: SessionId) -> SessionView:
    """Read a session, without its messages."""
    return session_view(await call.account.session(session), call.providers)


async def changed(call: Call, session: SessionId, body: ChangeSession) -> SessionView:
    """Rename a session, pin it, archive it, file it under a project, mark it as read, or choose
    another model or toolset for it."""
    call.check_model(body.model)
    account = call.account
    chosen = body.model or None, body.toolset or None
    if chosen != (None, None):
        await account.choose(session, model=chosen[0], toolset=chosen[1])
    seen = body.seen
    if seen is not msgspec.UNSET:
        # What is yet to come has not been read.
        seen = min(seen, (await account.session(session)).revision)
    patch = SessionPatch(
        title=body.title,
        project=body.project,
        pinned=body.pinned,
        archived=body.archived,
        seen=seen,
    )
    return session_view(await account.update(session, patch), call.providers)


async def deleted(call: Call, session: SessionId) -> None:
    """Delete a session, with all that was said in it and its files; memory forgets it too."""
    await call.account.delete(session)


async def branched(call: Call, session: SessionId, body: BranchAt) -> SessionView:
    """Open a session that begins with this one's history."""
    return session_view(await call.account.branch(session, at=body.at), call.providers)


async def ended(call: Call, session: SessionId) -> SessionView:
    """Close a session: a turn under way is cancelled, what waits will not run.

    It can still be read, and goes on with the next message.
    """
    await call.account.end(session)
    return session_view(await call.account.session(session), call.providers)


async def subagents(call: Call, session: SessionId) -> SessionList:
    """List the sessions of the subagents that worked for this one."""
    found = await call.account.subagents(session)
    return SessionList([session_view(each, call.providers) for each in found])


async def used(call: Call, session: SessionId) -> SessionUsage:
    """What a session has used, by model. Costs are in billionths of a dollar."""
    return SessionUsage(await call.account.usage(session))


async def searched(call: Call, query: SearchQuery) -> Hits:
    """Search what was said in any session, newest first."""
    where = SearchFilter(
        session=query.session,
        role=query.role,
        project=query.project,
        archived=query.archived,
        since=query.since,
        until=query.until,
    )
    found = await call.account.search(query.words, where, before=query.before, limit=query.limit)
    return Hits(found)


ENDPOINTS = (
    endpoint("GET", "/api/sessions", listed, scope="read"),
    endpoint("POST", "/api/sessions", opened, scope="chat", status=201),
    endpoint("GET", "/api/projects", projects, scope="read"),
    endpoint("GET", "/api/sessions/{session}", found, scope="read"),
    endpoint("PATCH", "/api/sessions/{session}", changed, scope="chat"),
    endpoint("DELETE", "/api/sessions/{session}", deleted, scope="chat"),
    endpoint("POST", "/api/sessions/{session}/branch", branched, scope="chat", status=201),
    endpoint("POST", "/api/sessions/{session}/end", ended, scope="chat"),
    endpoint("GET", "/api/sessions/{session}/subagents", subagents, scope="read"),
    endpoint("GET", "/api/sessions/{session}/usage", used, scope="read"),
    endpoint("GET", "/api/search", searched, scope="read"),
)
