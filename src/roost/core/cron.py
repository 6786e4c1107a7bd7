"""Cron expressions, as Debian's cron reads them: `cronsim` does, this says what is wrong."""

from collections.abc import Mapping
from datetime import datetime

from cronsim import CronSim, CronSimError

from roost.core.errors import InvalidInput

_LONGEST = 200
_FIELDS = 5
_NICKNAMES: Mapping[str, str] = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def next_time(text: str, after: datetime) -> datetime | None:
    """The first time after a moment, which has a time zone. Raises if it is no expression, or names
    a day that never comes.

    If neither minute nor hour begins with a star, it is a time of day: one that the clocks jump
    over is the moment of the jump, and one that comes twice is the first. Otherwise it goes by what
    has passed: every quarter of an hour is that, whatever the clocks do."""
    try:
        times = CronSim(_expression(text), after)
        # In an hour that comes twice, the first that a time of day names may have been before.
        return next(each for each in times if each.timestamp() > after.timestamp())
    except CronSimError as error:
        raise InvalidInput(f"{text!r} is no cron expression: {error}. {_WRITE}") from None
    except StopIteration:
        raise InvalidInput(f"{text!r} names a day that never comes.") from None
    except OverflowError:
        return None


_WRITE = "Write five fields: minute hour day month weekday."


def _expression(text: str) -> str:
    fields = _NICKNAMES.get(text.strip().lower(), text).split()
    if len(text) > _LONGEST or len(fields) != _FIELDS:
        raise InvalidInput(f"{text[:_LONGEST]!r} is no cron expression. {_WRITE}")
    return " ".join(fields)
