"""A user's sessions: open, list, rename, configure, end, delete."""

from collections.abc import Sequence

import msgspec

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.events import SessionUpdated, TurnUpdated
from roost.core.ids import SessionId, Token, TurnId, UserId
from roost.core.sessions import (
    NewSession,
    Parent,
    Session,
)
from roost.core.signature import AgentConfig, Signature
from roost.core.usage import Usage
from roost.store.operations import (
    Engine,
    Operation,
    Rows,
    every,
    maybe,
    query,
    reading,
    writing,
)
from roost.store.rows import SessionRow, session_of, sessions_of
from roost.store.writes import (
    add_usage,
    add_usage_late,
    check_session,
    enter,
    record,
    refuse_while_live,
)

PAGE = 200
"""The most sessions in one page of the list."""

_AFTER_DELETION = (
    "void_session_lease",
    "withdraw_marks",
    "withdraw_segments",
    "withdraw_noted",
    "leave_routes",
)


class SessionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """`title` is looked for anywhere in the title, whatever its case; `filed` is in any project, or
    in none; `route` is where something was said in them."""

    archived: bool = False
    pinned: bool | None = None
    project: str | None = None
    filed: bool | None = None
    title: str | None = None
    subagents: bool = False
    route: str | None = None


class Project(msgspec.Struct, frozen=True):
    """`sessions` is how many it has."""

    name: str
    sessions: int


class _ProjectRow(msgspec.Struct, frozen=True, array_like=True):
    name: str
    sessions: int


def _projects(rows: Rows) -> Sequence[Project]:
    return [Project(row.name, row.sessions) for row in every(rows, _ProjectRow)]


class ListCursor(msgspec.Struct, frozen=True):
    """The last session of a page: the next one begins after it."""

    active_at: int
    id: SessionId


class SessionPatch(msgspec.Struct, frozen=True, kw_only=True):
    """What a person changes about a session; what is UNSET stays. A title given here is a person's:
    no model will overwrite it."""

    title: str | msgspec.UnsetType | None = msgspec.UNSET
    project: str | msgspec.UnsetType | None = msgspec.UNSET
    pinned: bool | msgspec.UnsetType = msgspec.UNSET
    archived: bool | msgspec.UnsetType = msgspec.UNSET
    seen: int | msgspec.UnsetType = msgspec.UNSET


class Prompt(msgspec.Struct, frozen=True, array_like=True):
    """What a session sends before its messages, byte for byte; `tools` is a JSON list."""

    signature: Signature
    system: str
    tools: str


def load_session(user: UserId, session: SessionId) -> Operation[Session]:
    row = maybe((yield query("get_session", user=user, session=session)), SessionRow)
    if row is None:
        raise NotFound("session", session)
    return session_of(row)


def set_configuration(
    session: SessionId, revision: int, config: AgentConfig, prompt: Prompt
) -> Operation[SessionUpdated]:
    """The caller has raised the revision, and records the event."""
    yield query(
        "configure_session", session=session, config=_json(config), signature=prompt.signature
    )
    yield query(
        "insert_prompt",
        session=session,
        revision=revision,
        signature=prompt.signature,
        system=prompt.system,
        tools=prompt.tools,
    )
    return SessionUpdated(("config",))


def open_session(user: UserId, new: NewSession) -> Operation[None]:
    """Insert a session at revision 1."""
    inserted = yield query(
        "insert_session",
        session=new.id,
        user=user,
        origin=new.origin,
        title=new.title,
        title_by="person" if new.title else None,
        project=new.project,
        parent=_json(new.parent),
        parent_kind=new.parent.kind if new.parent else None,
        config=_json(new.config),
        signature=new.signature,
    )
    if not inserted:
        raise InvalidInput(f"The session id {new.id} is taken. Make a new one.")
    yield from record(new.id, 1, SessionUpdated(("created",)))


def open_once(user: UserId, new: NewSession) -> Operation[bool]:
    """Open a session, unless it is there, as where the same is sent to two servers at once; whether
    it was opened now."""
    try:
        yield from open_session(user, new)
    except InvalidInput:
        if not (yield query("get_session", user=user, session=new.id)):
            raise
        return False
    return True


def _json(value: Parent | AgentConfig | None) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


class _Child(msgspec.Struct, frozen=True, array_like=True):
    id: SessionId


class Route(msgspec.Struct, frozen=True, array_like=True):
    """A place on a channel, and the session that is current there; `sender` is who alone is at its
    other end, if it is private."""

    key: str
    session: SessionId | None
    sender: str | None


class _Policy(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a route does otherwise than its channel."""

    reset: str | None = None


_decode_policy = msgspec.json.Decoder(_Policy).decode


class _Route(msgspec.Struct, frozen=True, array_like=True):
    key: str


class _Removed(msgspec.Struct, frozen=True, array_like=True):
    id: TurnId


class Sessions:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @writing
    def create(self, new: NewSession) -> Operation[Session]:
        """Open a session. The same id again gives the session that is there."""
        if not (yield query("get_session", user=self._user, session=new.id)):
            if new.parent is not None:
                yield from load_session(self._user, new.parent.session)
            yield from open_once(self._user, new)
        return (yield from load_session(self._user, new.id))

    @reading
    def get(self, session: SessionId) -> Operation[Session]:
        return (yield from load_session(self._user, session))

    @reading
    def page(
        self,
        where: SessionFilter = SessionFilter(),  # noqa: B008 (frozen)
        *,
        after: ListCursor | None = None,
        limit: int = 50,
    ) -> Operation[Sequence[Session]]:
        """A page, latest activity first."""
        if not 1 <= limit <= PAGE:
            raise InvalidInput(f"A page has 1 to {PAGE} sessions, not {limit}.")
        rows = yield query(
            "list_sessions",
            user=self._user,
            archived=where.archived,
            pinned=where.pinned,
            project=where.project,
            filed=where.filed,
            title=where.title.casefold() if where.title else None,
            subagents=where.subagents,
            route=where.route,
            before_at=after.active_at if after else 1 << 62,
            before_id=after.id if after else "",
            limit=limit,
        )
        return sessions_of(rows)

    @reading
    def projects(self) -> Operation[Sequence[Project]]:
        """Those of sessions that are not archived."""
        return _projects((yield query("list_projects", user=self._user)))

    @reading
    def subagents(self, session: SessionId) -> Operation[Sequence[Session]]:
        """Those that work, or worked, for a session, the oldest first."""
        yield from load_session(self._user, session)
        return sessions_of((yield query("children_of", user=self._user, session=session)))

    @writing
    def update(self, session: SessionId, patch: SessionPatch) -> Operation[Session]:
        values = msgspec.structs.asdict(patch)
        changed = {name: value for name, value in values.items() if value is not msgspec.UNSET}
        if not changed:
            return (yield from load_session(self._user, session))
        head = yield from enter(self._user, session, None, active=False)
        yield query(
            "update_session",
            session=session,
            set_title="title" in changed,
            title=changed.get("title"),
            set_project="project" in changed,
            project=changed.get("project"),
            pinned=changed.get("pinned"),
            archived=changed.get("archived"),
            seen=changed.get("seen"),
        )
        yield from record(session, head.revision, SessionUpdated(tuple(changed)))
        return (yield from load_session(self._user, session))

    @writing
    def suggest_title(
        self, session: SessionId, title: str, usage: tuple[Usage, ...] = ()
    ) -> Operation[bool]:
        """A model's title: taken unless a person gave one (D9). What it cost is counted anyway."""
        source = f"title:{session}"
        try:
            found = yield from load_session(self._user, session)
        except NotFound:
            if not usage:
                raise
            yield from add_usage_late(self._user, session, source, usage)
            return False
        if (found.title, found.title_by) == (title, "model"):
            return True
        taken = yield query("title_by_model", user=self._user, session=session, title=title)
        if not taken and not usage:
            return False
        head = yield from enter(self._user, session, None, active=False)
        yield from add_usage(self._user, session, source, usage)
        changed = ("title",) if taken else ("counters",)
        yield from record(session, head.revision, SessionUpdated(changed))
        return bool(taken)

    @writing
    def configure(
        self, session: SessionId, token: Token, config: AgentConfig, prompt: Prompt
    ) -> Operation[None]:
        """Set what the session's agent is built from, and the prompt it sends from now on."""
        head = yield from enter(self._user, session, token, active=False)
        event = yield from set_configuration(session, head.revision, config, prompt)
        yield from record(session, head.revision, event)

    @reading
    def prompt(self, session: SessionId) -> Operation[Prompt | None]:
        return maybe((yield query("latest_prompt", user=self._user, session=session)), Prompt)

    @writing
    def end(self, session: SessionId, token: Token) -> Operation[None]:
        """Close a session. What still waits in its queue will not run."""
        yield from self._end(session, token)

    def _end(self, session: SessionId, token: Token | None) -> Operation[None]:
        head = yield from enter(self._user, session, token, active=False)
        yield query("end_session", session=session)
        removed = every((yield query("empty_queue", session=session)), _Removed)
        events = [TurnUpdated(turn.id, "removed") for turn in removed]
        yield from record(session, head.revision, *events, SessionUpdated(("ended_at",)))

    @writing
    def reset(
        self, route: str, old: SessionId | None, token: Token | None, new: NewSession
    ) -> Operation[Session]:
        """End a route's session, if it has one, and open another there, in one step. Of two resets
        at once the second is refused: its `old` is no longer the route's."""
        if (yield query("get_session", user=self._user, session=new.id)):
            return (yield from load_session(self._user, new.id))
        if old is not None:
            if token is None:
                raise InvalidInput(f"Session {old} is ended under its token.")
            yield from check_session(self._user, old)
            yield from self._end(old, token)
            yield from refuse_while_live(old)
        if (yield from self._target(route)) != old:
            raise Conflict(f"The session of {route} is another one by now.")
        yield from open_session(self._user, new)
        yield query("point_route", user=self._user, route=route, session=new.id)
        return (yield from load_session(self._user, new.id))

    @writing
    def delete(self, session: SessionId) -> Operation[None]:
        """Gone at once for everyone with its subagents' sessions, the writers shut out, what memory
        had not taken withdrawn. The rows follow in the background."""
        todo, deleted = [session], list[SessionId]()
        while todo:
            each = todo.pop()
            if (yield query("mark_deleted", user=self._user, session=each)):
                deleted.append(each)
                rows = yield query("subagents_of", user=self._user, session=each)
                todo += [row.id for row in every(rows, _Child)]
        if not deleted:
            raise NotFound("session", session)
        for each in reversed(deleted):
            for step in _AFTER_DELETION:
                yield query(step, session=each)

    @writing
    def point(self, route: str, session: SessionId) -> Operation[None]:
        """Make the session the current one on a route."""
        yield from load_session(self._user, session)
        yield query("point_route", user=self._user, route=route, session=session)

    @reading
    def current(self, route: str) -> Operation[SessionId | None]:
        return (yield from self._target(route))

    @reading
    def reset_rule(self, route: str) -> Operation[str | None]:
        """When a route begins anew by itself, if that was chosen for it."""
        found = maybe((yield query("route_policy", user=self._user, route=route)), str)
        return None if found is None else _decode_policy(found).reset

    @writing
    def set_reset_rule(self, route: str, rule: str | None) -> Operation[None]:
        """It holds whichever session is current there; a route that was never used has none."""
        policy = msgspec.json.encode(_Policy(rule)).decode()
        yield query("set_route_policy", user=self._user, route=route, policy=policy)

    @reading
    def has_route(self, route: str) -> Operation[bool]:
        """Whether a session of this user's was ever current there."""
        return bool((yield query("route_is_known", user=self._user, route=route)))

    @reading
    def channels(self, session: SessionId) -> Operation[Sequence[str]]:
        """The routes of channels on which a session is current."""
        rows = yield query("channel_routes", user=self._user, session=session)
        return [row.key for row in every(rows, _Route)]

    @reading
    def routes(self, *, limit: int) -> Operation[Sequence[Route]]:
        """The places on channels where this user talked, the last one first."""
        return every((yield query("user_routes", user=self._user, limit=limit)), Route)

    def _target(self, route: str) -> Operation[SessionId | None]:
        found = maybe((yield query("route_target", user=self._user, route=route)), str)
        return None if found is None else SessionId(found)
