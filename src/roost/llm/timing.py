"""How long a model took, told to whoever counts."""

import time
from types import TracebackType

from roost.core.errors import RoostError
from roost.core.happenings import ModelCalled, Observers
from roost.llm.base import Finished, StreamEvent


class Timed:
    """One request to a model, from its sending to its end, however that comes."""

    __slots__ = ("_began", "_began_at", "_first", "_model", "_observers", "_provider", "last")

    def __init__(self, observers: Observers, provider: str, model: str) -> None:
        self._observers = observers
        self._provider = provider
        self._model = model
        self._first: float | None = None
        self.last: StreamEvent | None = None

    def __enter__(self) -> "Timed":
        self._began_at = time.time_ns()
        self._began = time.monotonic()
        return self

    def first_word(self) -> None:
        self._first = time.monotonic() - self._began

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._observers.tell(
            ModelCalled(
                provider=self._provider,
                model=self._model,
                outcome=_outcome(error),
                began_at=self._began_at,
                seconds=time.monotonic() - self._began,
                first=self._first,
                usage=self.last.usage if isinstance(self.last, Finished) else None,
            )
        )


def _outcome(error: BaseException | None) -> str:
    if error is None:
        return "answered"
    if isinstance(error, RoostError):
        return error.code
    return "error" if isinstance(error, Exception) else "left"
