"""What long-term memory is, whoever keeps it: recall for a turn, commit what was said, forget."""

import re
from collections.abc import Sequence
from typing import Protocol

import msgspec

from roost.core.errors import InvalidInput
from roost.core.ids import SessionId, TurnId, UserId
from roost.core.messages import Message

SCOPE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
"""What the name of a provider or of a profile looks like: nothing that a path would split."""


class Scope(msgspec.Struct, frozen=True):
    """Whose memory it is, and where: turns belong to the one they ran under (C7)."""

    provider: str
    profile: str
    user: UserId

    def __str__(self) -> str:
        return f"{self.provider}/{self.profile}/{self.user}"


def parse_scope(text: str) -> Scope:
    """Read what `str(scope)` wrote."""
    match text.split("/"):
        case [provider, profile, user] if _is_name(provider) and _is_name(profile) and user:
            return Scope(provider, profile, UserId(user))
        case _:
            raise InvalidInput(f"{text!r} names no memory: it should be provider/profile/user.")


def _is_name(text: str) -> bool:
    return SCOPE_NAME.fullmatch(text) is not None


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """Completed turns that go to memory as one. Until a provider has taken it, it comes again with
    the same key, the same turns and the same messages."""

    key: str
    scope: Scope
    session: SessionId
    turns: tuple[TurnId, ...]
    messages: tuple[Message, ...]


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Something remembered, and the turn it comes from where that is known."""

    id: str
    text: str
    session: SessionId | None = None
    turn: TurnId | None = None
    created_at: int = 0


class MemoryProvider(Protocol):
    """Keeps memories. What it can't do just now it says by `MemoryFailed`; any call may be given up
    before it answers."""

    async def recall(self, scope: Scope, words: str, *, limit: int) -> Sequence[Memory]:
        """What may matter to someone who says these words, what matters most first."""
        ...

    async def commit(self, segment: Segment) -> None:
        """Take in a segment: once this returns it is kept. The same key again changes nothing."""
        ...

    async def forget(self, scope: Scope, id: str) -> None:
        """Remove one memory. One that is not there is no error."""
        ...

    async def withdraw(self, scope: Scope, session: SessionId) -> None:
        """The session was deleted: forget what came from it, as far as that is known."""
        ...

    async def health(self) -> str | None:
        """None if it is well; otherwise what is wrong, for a person."""
        ...

    async def close(self) -> None: ...
