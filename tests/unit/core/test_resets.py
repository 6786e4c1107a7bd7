"""When a route begins a conversation anew by itself."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from roost.core.resets import is_due, parse_reset

ZURICH = ZoneInfo("Europe/Zurich")


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZURICH).timestamp() * 1000)


@pytest.mark.parametrize(
    ("rule", "active", "now", "due"),
    [
        ("never", "2027-01-01T00:00", "2028-01-01T00:00", False),
        ("idle 8h", "2027-01-01T00:00", "2027-01-01T07:59", False),
        ("idle 8h", "2027-01-01T00:00", "2027-01-01T08:00", True),
        ("daily 04:00", "2027-01-01T23:00", "2027-01-02T03:59", False),
        ("daily 04:00", "2027-01-01T23:00", "2027-01-02T04:00", True),
        ("daily 04:00", "2027-01-02T04:30", "2027-01-02T23:00", False),
        ("daily 04:00", "2027-03-27T23:00", "2027-03-28T04:00", True),  # the night is shorter
    ],
)
def test_reset_is_due_when_its_time_has_come(rule: str, active: str, now: str, due: bool) -> None:
    reset = parse_reset(rule)
    found = is_due(reset, active_at=at(active), now=at(now), time_zone="Europe/Zurich")
    assert found is due


@pytest.mark.parametrize("rule", ["", "idle", "idle 0h", "daily 24:00", "daily 4:00", "hourly"])
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="no rule"):
        parse_reset(rule)
