"""When a route begins a conversation anew by itself."""

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec


class Reset(msgspec.Struct, frozen=True):
    """After so many hours without a word, or every day at a time; with neither, never."""

    idle_hours: int | None = None
    daily_at: str | None = None

    def when(self) -> str:
        """For people, from now on."""
        if self.idle_hours is not None:
            return f"A new conversation begins after {self._hours()} without a word."
        if self.daily_at is not None:
            return f"A new conversation begins every day at {self.daily_at}, by your clock."
        return "This conversation goes on until you say /new."

    def _hours(self) -> str:
        return f"{self.idle_hours} {'hour' if self.idle_hours == 1 else 'hours'}"

    def why(self) -> str:
        if self.idle_hours is not None:
            return f"nothing was said for {self._hours()}"
        return f"it is past {self.daily_at}"


_IDLE = re.compile(r"idle ([1-9][0-9]{0,3})h")
_DAILY = re.compile(r"daily ([01][0-9]|2[0-3]):([0-5][0-9])")


def parse_reset(text: str) -> Reset:
    """Reads "never", "idle 8h" or "daily 04:00"; anything else is a ValueError."""
    if text == "never":
        return Reset()
    if match := _IDLE.fullmatch(text):
        return Reset(idle_hours=int(match[1]))
    if match := _DAILY.fullmatch(text):
        return Reset(daily_at=f"{match[1]}:{match[2]}")
    raise ValueError(f"{text!r} is no rule for resets")


def is_due(reset: Reset, *, active_at: int, now: int, time_zone: str) -> bool:
    """Whether a conversation that was last active then is over now; times are in milliseconds."""
    if reset.idle_hours is not None:
        return now - active_at >= reset.idle_hours * 3_600_000
    if reset.daily_at is None:
        return False
    return active_at < _last_boundary(reset.daily_at, now, time_zone) <= now


def _last_boundary(daily_at: str, now: int, time_zone: str) -> int:
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = UTC
    here = datetime.fromtimestamp(now / 1000, zone)
    boundary = datetime.combine(here.date(), time.fromisoformat(daily_at), zone)
    if boundary > here:
        boundary = datetime.combine(
            here.date() - timedelta(days=1), time.fromisoformat(daily_at), zone
        )
    return round(boundary.timestamp() * 1000)
