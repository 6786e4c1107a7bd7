"""Cron expressions: what they mean, held against a look at every single minute."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.cron import next_time
from roost.core.errors import InvalidInput

MINUTE = timedelta(minutes=1)
BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def after(expression: str, moment: str) -> str:
    found = next_time(expression, at(moment))
    assert found is not None
    return f"{found:%Y-%m-%dT%H:%M}"


@pytest.mark.parametrize(
    ("expression", "moment", "expected"),
    [
        ("* * * * *", "2026-11-15T19:50", "2026-11-15T19:51"),
        ("* * * * *", "2026-11-15T19:50:59", "2026-11-15T19:51"),
        ("*/15 * * * *", "2026-11-15T19:45", "2026-11-15T20:00"),
        ("5/20 * * * *", "2026-11-15T19:45", "2026-11-15T20:05"),
        ("0 9 * * mon-fri", "2026-11-13T09:00", "2026-11-16T09:00"),
        ("0 9 * * MON,wed", "2026-11-16T09:00", "2026-11-18T09:00"),
        ("0 9 * * 7", "2026-11-16T09:00", "2026-11-22T09:00"),
        ("0 9 * * 0", "2026-11-16T09:00", "2026-11-22T09:00"),
        ("30 6 1 jan *", "2026-11-16T09:00", "2027-01-01T06:30"),
        ("0 0 31 * *", "2026-11-16T09:00", "2026-12-31T00:00"),
        ("0 0 29 2 *", "2097-01-01T00:00", "2104-02-29T00:00"),
        ("0 0 */28 2 1", "2097-01-01T00:00", "2100-02-01T00:00"),
        ("59 23 31 12 *", "2026-12-31T23:59", "2027-12-31T23:59"),
        ("@daily", "2026-11-16T09:00", "2026-11-17T00:00"),
        ("@yearly", "2026-11-16T09:00", "2027-01-01T00:00"),
        ("0 9 L * *", "2026-11-16T09:00", "2026-11-30T09:00"),
        ("0 9 * * fri#2", "2026-11-16T09:00", "2026-12-11T09:00"),
    ],
)
def test_next_minute_that_an_expression_names(expression: str, moment: str, expected: str) -> None:
    assert after(expression, moment) == expected


def test_either_day_suffices_if_both_are_restricted() -> None:
    """As in every cron: the 13th, and every Friday."""
    assert after("0 0 13 * 5", "2026-11-15T00:00") == "2026-11-20T00:00"
    assert after("0 0 13 * 5", "2026-12-12T00:00") == "2026-12-13T00:00"


def test_a_day_with_a_star_restricts_even_with_a_step() -> None:
    """Mondays that are odd days: either alone does not suffice, as in Vixie's cron."""
    assert after("0 0 */2 * 1", "2026-11-15T00:00") == "2026-11-23T00:00"


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "5-1 * * * *",
        "*/0 * * * *",
        "1,,2 * * * *",
        "-1 * * * *",
        "1-2-3 * * * *",
        "mon * * * *",
        "* * * * jan",
        "0 0 30 2 *",
        "0 0 31 feb,apr *",
        "@reboot",
        "٣ * * * *",
        "* " * 200,
    ],
)
def test_what_is_no_expression_is_refused(expression: str) -> None:
    with pytest.raises(InvalidInput):
        next_time(expression, at("2026-11-15T19:50"))


def test_nothing_is_named_after_the_end_of_time() -> None:
    assert next_time("* * * * *", at("9999-12-31T23:59")) is None


@st.composite
def items(draw: st.DrawFn, low: int, high: int) -> tuple[str, frozenset[int]]:
    """A field's item, and the numbers that it stands for."""
    first = draw(st.integers(low, high - 1))
    last = draw(st.integers(first + 1, high))  # a range of one with a step is one without an end
    step = draw(st.integers(1, high))
    return draw(
        st.sampled_from(
            [
                (f"{first}", frozenset({first})),
                (f"{first}-{last}", frozenset(range(first, last + 1))),
                (f"{first}-{last}/{step}", frozenset(range(first, last + 1, step))),
                (f"{first}/{step}", frozenset(range(first, high + 1, step))),
                (f"*/{step}", frozenset(range(low, high + 1, step))),
                ("*", frozenset(range(low, high + 1))),
            ]
        )
    )


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> tuple[str, frozenset[int]]:
    found = draw(st.lists(items(low, high), min_size=1, max_size=3))
    numbers = frozenset([number for _, part in found for number in part])
    return ",".join(text for text, _ in found), numbers


@st.composite
def expressions(draw: st.DrawFn) -> tuple[str, Callable[[datetime], bool], time]:
    """An expression, whether it names a minute, worked out in the plainest way, and a time of day
    that it does name, if any."""
    chosen = [draw(fields(low, high)) for low, high in BOUNDS]
    texts, (minutes, hours, days, months, weekdays) = zip(*chosen, strict=True)
    either = not texts[2].startswith("*") and not texts[4].startswith("*")

    def names(moment: datetime) -> bool:
        weekday = moment.isoweekday()
        by_day = moment.day in days
        by_weekday = weekday in weekdays or (weekday == 7 and 0 in weekdays)
        on_day = by_day or by_weekday if either else by_day and by_weekday
        in_time = moment.minute in minutes and moment.hour in hours
        return in_time and on_day and moment.month in months

    return " ".join(texts), names, time(max(hours), max(minutes))


DAYS = [date(2000, 1, 1) + timedelta(days=number) for number in range(366 * 28)]
"""In which every date is every weekday."""
MOMENTS = st.datetimes(
    datetime.combine(date(2020, 1, 1), time()),
    datetime.combine(date(2032, 1, 1), time()),
    timezones=st.just(UTC),
)


@given(expressions(), MOMENTS)
def test_the_next_is_the_first_that_a_look_at_every_minute_finds(
    expression: tuple[str, Callable[[datetime], bool], time], moment: datetime
) -> None:
    text, names, clock = expression
    if not any(names(datetime.combine(day, clock, UTC)) for day in DAYS):
        with pytest.raises(InvalidInput):
            next_time(text, moment)
        return
    found = next_time(text, moment)
    assert found is not None
    assert names(found), text
    minute = moment.replace(second=0, microsecond=0) + MINUTE
    while minute < found and minute < moment + timedelta(days=3):
        assert not names(minute), f"{minute} was passed over"
        minute += MINUTE
    # Of a long way, the days.
    while minute.date() < found.date():
        assert not names(datetime.combine(minute, found.time(), UTC)), f"{minute} was passed over"
        minute += timedelta(days=1)
