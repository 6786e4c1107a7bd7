"""What is added to a user's message for its turn, and stays with it as it was."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from roost.core.messages import ContextPart


def turn_context(now: int, time_zone: str, route: str | None) -> tuple[ContextPart, ...]:
    """The time where the user is and, if the message came from a channel, which."""
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone, time_zone = UTC, "UTC"
    moment = datetime.fromtimestamp(now / 1000, zone)
    parts = [ContextPart("time", f"{moment:%A, %Y-%m-%d %H:%M} ({time_zone})")]
    if route is not None and ":" in route:
        parts.append(ContextPart("route", route))
    return tuple(parts)
