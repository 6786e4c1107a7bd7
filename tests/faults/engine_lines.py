"""What an engine in a process of its own is told, and what it says."""

import base64
import pickle

import msgspec

from roost.core.events import Cursor, SessionEvent
from roost.core.ids import SessionId, TurnId

BEAT = 0.02


class Watch(msgspec.Struct, frozen=True):
    """Watch a session, from a cursor on or from the beginning; `reader` names who does."""

    reader: int
    session: SessionId
    cursor: Cursor | None


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """For one life. Sessions that are not there yet are made; `idle` does nothing with them."""

    seed: int
    model: str
    sessions: tuple[SessionId, ...]
    watch: tuple[Watch, ...]
    faults: str = ""
    idle: bool = False


class Born(msgspec.Struct, frozen=True):
    pid: int


class Opened(msgspec.Struct, frozen=True):
    """Roost runs, and what its predecessor left has been taken up."""


class Sending(msgspec.Struct, frozen=True):
    """A message is about to be handed in."""

    session: SessionId
    turn: TurnId
    text: str


class Accepted(msgspec.Struct, frozen=True):
    """And was, with the answer that it is this turn."""

    asked: TurnId
    turn: TurnId


class Editing(msgspec.Struct, frozen=True):
    """A queued message that says `was` is about to be changed or, without a text, to be removed."""

    turn: TurnId
    was: str
    text: str | None


class Edited(msgspec.Struct, frozen=True):
    turn: TurnId
    text: str | None
    done: bool


class Rewriting(msgspec.Struct, frozen=True):
    """A turn is about to be taken back; with a text, that is said instead."""

    session: SessionId
    text: str | None


class Saw(msgspec.Struct, frozen=True):
    """What a reader was told, and when, by the clock that all processes share."""

    reader: int
    session: SessionId
    at: float
    event: SessionEvent


class Ticked(msgspec.Struct, frozen=True):
    """How long a checkpoint took; it has no end as long as it lasts."""

    began: float
    ended: float | None


class Beat(msgspec.Struct, frozen=True):
    """Every `BEAT` seconds, unless the machine does not let the process run."""

    at: float


class Broke(msgspec.Struct, frozen=True):
    """The process itself saw something that must not be."""

    why: str


class Died(msgspec.Struct, frozen=True):
    """`at` is when, not when somebody comes to read of it."""

    pid: int
    status: int
    at: float


Line = (
    Born
    | Opened
    | Sending
    | Accepted
    | Editing
    | Edited
    | Rewriting
    | Saw
    | Ticked
    | Beat
    | Broke
    | Died
)


def encode(line: Line | Orders) -> bytes:
    """Stored parts that nobody can read have no JSON form, and this goes from us to us."""
    return base64.b64encode(pickle.dumps(line)) + b"\n"


def decode(line: bytes) -> object:
    """None if it is not whole: its writer died in the middle of it."""
    try:
        return pickle.loads(base64.b64decode(line, validate=True))  # noqa: S301 (our own child)
    except (ValueError, EOFError, pickle.UnpicklingError, IndexError, KeyError):
        return None
