"""What happens while Roost works, told to whoever counts it or traces it."""

from collections.abc import Callable

import msgspec
import structlog

from roost.core.ids import SessionId, TurnId, UserId
from roost.core.turns import EndState, ToolCallState
from roost.core.usage import Usage

log = structlog.stdlib.get_logger("roost.happenings")


class TurnBegan(msgspec.Struct, frozen=True):
    """Told in the context of the turn's own task: what it asks and runs is told there too."""

    user: UserId
    session: SessionId
    turn: TurnId


class TurnOver(msgspec.Struct, frozen=True):
    """A `state` of None is none: the turn was parked, or taken away."""

    turn: TurnId
    state: EndState | None
    seconds: float


class ModelCalled(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model, however it went: `outcome` is `answered`, the code of an error, or
    `left` if nobody waited for the end. `first` are the seconds until something was said;
    `began_at` is in nanoseconds since 1970."""

    provider: str
    model: str
    outcome: str
    began_at: int
    seconds: float
    first: float | None = None
    usage: Usage | None = None


class ToolCalled(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a model made up has no name."""

    name: str | None
    state: ToolCallState
    began_at: int
    seconds: float


class Spent(msgspec.Struct, frozen=True):
    """What an answer used, with its price, once that is known."""

    usage: Usage


Happening = TurnBegan | TurnOver | ModelCalled | ToolCalled | Spent
Observer = Callable[[Happening], None]


class Observers:
    """They take note and do no more; one that fails harms nobody. Nothing is told per token."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []

    def add(self, observer: Observer) -> None:
        self._observers.append(observer)

    def remove(self, observer: Observer) -> None:
        self._observers.remove(observer)

    def tell(self, happening: Happening) -> None:
        for observer in self._observers:
            try:
                observer(happening)
            except Exception:
                log.exception("an observer failed", happening=type(happening).__name__)
