"""Users who are removed: gone at once for everyone, their rows soon after."""

from collections.abc import Sequence

import msgspec

from roost.core.ids import SessionId, UserId
from roost.store.operations import Operation, every, maybe, one, query

_MARK = "removed/"

_AFTER_DELETION = ("void_session_leases", "withdraw_all_marks", "withdraw_all_segments")
_MANY = (
    "drop_entity_names",
    "drop_entities",
    "drop_applied",
    "drop_schedule_runs",
    "drop_usage",
)
_FEW = (
    "drop_rules",
    "drop_routes",
    "drop_pairings",
    "drop_schedules",
    "drop_secrets",
    "drop_sign_ins",
    "drop_tokens",
    "drop_settings",
)
"""In the order in which rows name one another."""


class _Session(msgspec.Struct, frozen=True, array_like=True):
    id: SessionId


class _User(msgspec.Struct, frozen=True, array_like=True):
    id: UserId


class _Entry(msgspec.Struct, frozen=True, array_like=True):
    id: str


class _Seq(msgspec.Struct, frozen=True, array_like=True):
    seq: int


def depart(user: UserId) -> Operation[Sequence[SessionId] | None]:
    """Make nobody of a user, and delete their sessions, which are returned; memory is to forget
    those. None if they are the last admin."""
    if not (yield query("depart", user=user)):
        return None
    yield query("put_setting", user="", key=_MARK + user, value="true")
    return (yield from _delete_sessions(user))


def _delete_sessions(user: UserId) -> Operation[Sequence[SessionId]]:
    deleted = every((yield query("delete_sessions_of", user=user)), _Session)
    sessions = [row.id for row in deleted]
    for statement in _AFTER_DELETION:
        yield query(statement, sessions=msgspec.json.encode(sessions).decode())
    return sessions


def is_removed(user: UserId) -> Operation[bool]:
    return maybe((yield query("get_setting", user="", key=_MARK + user)), str) is not None


def removed_users() -> Operation[Sequence[UserId]]:
    return [row.id for row in every((yield query("removed_users")), _User)]


def purge_rows(user: UserId) -> Operation[bool]:
    """Some of what was remembered for a removed user, or of what else there may be much of; whether
    there was any."""
    rows = every((yield query("facts_to_purge", user=user)), _Seq)
    seqs = msgspec.json.encode([row.seq for row in rows]).decode()
    for statement in ("unindex_facts", "purge_vectors", "purge_names_of_facts", "purge_facts"):
        yield query(statement, seqs=seqs)
    if rows:
        return True
    for statement in _MANY:
        if (yield query(statement, user=user)):
            return True
    return (yield from _purge_outbox(user))


def _purge_outbox(user: UserId) -> Operation[bool]:
    rows = every((yield query("outbox_of_user", user=user)), _Entry)
    ids = msgspec.json.encode([row.id for row in rows]).decode()
    for statement in ("drop_outbox_pieces", "drop_outbox"):
        yield query(statement, ids=ids)
    return bool(rows)


def purge_user(user: UserId) -> Operation[bool]:
    """All else, and themselves once no session and no attachment of theirs is left; whether they
    are gone."""
    # Something may have been opened, or used, just before.
    yield from _delete_sessions(user)
    if (yield from purge_rows(user)):
        return False
    for statement in _FEW:
        yield query(statement, user=user)
    if one((yield query("is_still_named", user=user)), int):
        return False
    yield query("drop_user", user=user)
    yield query("drop_mark", user=user)
    return True
