"""Observers: told of everything, harming nobody."""

from structlog.testing import capture_logs

from roost.core.happenings import Happening, Observers, TurnOver
from roost.core.ids import new_turn_id


def test_observer_that_fails_keeps_nobody_else_from_knowing() -> None:
    told: list[Happening] = []

    def fail(happening: Happening) -> None:
        raise LookupError

    observers = Observers()
    observers.add(fail)
    observers.add(told.append)
    over = TurnOver(new_turn_id(), "completed", 0.1)
    with capture_logs() as logs:
        observers.tell(over)
    assert told == [over]
    assert [line["event"] for line in logs] == ["an observer failed"]
