"""Figures of a store, for whoever watches over it: cheap to keep, and read when asked for."""

import msgspec


class CommitFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Since the start: commits that somebody waited for, the operations in them, the seconds they
    took together. As of now: operations that wait, and pages of log that are not in their place."""

    commits: int = 0
    operations: int = 0
    seconds: float = 0.0
    waiting: int = 0
    log_pages: int = 0


class Database(msgspec.Struct, frozen=True, kw_only=True):
    """What a store is in; `bytes` is what that takes on disk."""

    kind: str
    version: str
    bytes: int


class WorkFigures(msgspec.Struct, frozen=True, array_like=True):
    """Turns that wait for their turn, turns that wait for a person, and open questions."""

    queued: int
    parked: int
    asked: int
