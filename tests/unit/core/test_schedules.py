"""When schedules run: by the wall clock, whatever that does."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import InvalidInput
from roost.core.ids import new_schedule_id
from roost.core.schedules import (
    Kind,
    NewSchedule,
    When,
    check,
    check_ahead,
    moment,
    next_tick,
)

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def ticks(when: When, since: str, number: int, *, anchor: int = 0) -> list[str]:
    found: list[str] = []
    at = ms(since)
    for _ in range(number):
        following = next_tick(when, at, anchor=anchor)
        assert following is not None
        assert following > at
        at = following
        found.append(datetime.fromtimestamp(at / 1000, ZoneInfo(when.time_zone)).isoformat())
    return found


def cron(spec: str, zone: str) -> When:
    return When(kind="cron", spec=spec, time_zone=zone)


def test_it_is_nine_o_clock_in_summer_and_in_winter() -> None:
    assert ticks(cron("0 9 * * *", BERLIN), "2026-10-23T12:00+02:00", 3) == [
        "2026-10-24T09:00:00+02:00",
        "2026-10-25T09:00:00+01:00",
        "2026-10-26T09:00:00+01:00",
    ]


@pytest.mark.parametrize(
    ("zone", "spec", "since", "expected"),
    [
        (BERLIN, "30 2 * * *", "2026-03-28T12:00+01:00", "2026-03-29T03:00:00+02:00"),
        (NEW_YORK, "15 2 * * *", "2026-03-07T12:00-05:00", "2026-03-08T03:00:00-04:00"),
        (LORD_HOWE, "15 2 * * *", "2026-10-03T12:00+10:30", "2026-10-04T02:30:00+11:00"),
        # A whole day was left out.
        ("Pacific/Apia", "0 12 30 12 *", "2011-12-01T00:00-10:00", "2011-12-31T00:00:00+14:00"),
    ],
)
def test_a_time_that_is_jumped_over_runs_at_the_jump_once(
    zone: str, spec: str, since: str, expected: str
) -> None:
    first, second = ticks(cron(spec, zone), since, 2)
    assert first == expected
    assert second[:10] > first[:10]


def test_all_that_one_jump_leaves_out_is_one_run() -> None:
    assert ticks(cron("*/10 * * * *", LORD_HOWE), "2026-10-04T01:45+10:30", 3) == [
        "2026-10-04T01:50:00+10:30",
        "2026-10-04T02:30:00+11:00",
        "2026-10-04T02:40:00+11:00",
    ]


@pytest.mark.parametrize(
    ("zone", "spec", "since", "expected"),
    [
        (BERLIN, "30 2 * * *", "2026-10-24T12:00+02:00", "2026-10-25T02:30:00+02:00"),
        (NEW_YORK, "30 1 * * *", "2026-10-31T12:00-04:00", "2026-11-01T01:30:00-04:00"),
        (LORD_HOWE, "45 1 * * *", "2026-04-04T12:00+11:00", "2026-04-05T01:45:00+11:00"),
    ],
)
def test_a_time_that_comes_twice_runs_the_first_time_only(
    zone: str, spec: str, since: str, expected: str
) -> None:
    first, second = ticks(cron(spec, zone), since, 2)
    assert first == expected
    assert second[:10] > first[:10]


def test_in_the_second_half_past_two_the_next_is_after_it() -> None:
    assert ticks(cron("30 2,3 * * *", BERLIN), "2026-10-25T02:10+01:00", 2) == [
        "2026-10-25T03:30:00+01:00",
        "2026-10-26T02:30:00+01:00",
    ]


def test_every_hour_is_also_the_one_that_comes_twice() -> None:
    assert ticks(cron("0 * * * *", BERLIN), "2026-10-25T01:30+02:00", 3) == [
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T03:00:00+01:00",
    ]


@given(
    st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, "Pacific/Apia", "Africa/Casablanca", "UTC"]),
    st.datetimes(datetime(2010, 1, 1), datetime(2035, 1, 1)),  # noqa: DTZ001 (a wall clock's)
    st.integers(0, 3 * 86_400),
)
def test_moments_never_go_back_while_the_wall_clock_goes_on(
    zone: str, local: datetime, seconds: int
) -> None:
    there = ZoneInfo(zone)
    later = datetime.fromtimestamp(local.timestamp() + seconds)  # noqa: DTZ006
    earlier, later = sorted([local, later])
    assert moment(earlier, there) <= moment(later, there)


@given(
    st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE]),
    st.integers(ms("2026-01-01T00:00+00:00"), ms("2028-01-01T00:00+00:00")),
)
def test_every_ten_minutes_is_that_whatever_the_clocks_do(zone: str, after: int) -> None:
    at = next_tick(cron("*/10 * * * *", zone), after, anchor=0)
    assert at == after // 600_000 * 600_000 + 600_000


def test_every_so_often_counts_from_when_it_was_made() -> None:
    when, made = When(kind="every", spec="90m", time_zone="UTC"), ms("2026-11-15T19:50:10+00:00")
    first = made + 90 * 60_000
    assert next_tick(when, made, anchor=made) == first
    assert next_tick(when, first - 1, anchor=made) == first
    assert next_tick(when, first, anchor=made) == made + 180 * 60_000
    assert next_tick(when, made + 1000 * 60_000, anchor=made) == made + 1080 * 60_000


def test_once_is_a_time_of_the_zone_or_one_with_an_offset() -> None:
    here = When(kind="once", spec="2026-07-01T09:00", time_zone=BERLIN)
    assert next_tick(here, 0, anchor=0) == ms("2026-07-01T09:00+02:00")
    there = When(kind="once", spec="2026-07-01T09:00-05:00", time_zone=BERLIN)
    assert next_tick(there, 0, anchor=0) == ms("2026-07-01T14:00+00:00")
    jumped = When(kind="once", spec="2026-03-29T02:30", time_zone=BERLIN)
    assert next_tick(jumped, 0, anchor=0) == ms("2026-03-29T03:00+02:00")


def test_once_is_over_when_it_has_been() -> None:
    when = When(kind="once", spec="2026-07-01T09:00", time_zone="UTC")
    assert next_tick(when, ms("2026-07-01T09:00+00:00"), anchor=0) is None
    with pytest.raises(InvalidInput, match="passed"):
        check_ahead(when, None, 0)
    with pytest.raises(InvalidInput, match="ten years"):
        check_ahead(when, ms("2026-07-01T09:00+00:00"), 0)


@pytest.mark.parametrize(
    ("kind", "spec", "zone"),
    [
        ("cron", "61 * * * *", "UTC"),
        ("cron", "* * * * *", "Europe/Nowhere"),
        ("cron", "* * * * *", "../UTC"),
        ("every", "59s", "UTC"),
        ("every", "367d", "UTC"),
        ("every", "often", "UTC"),
        ("once", "2026-07-01", "UTC"),
        ("once", "tomorrow", "UTC"),
        ("once", "0001-01-01T00:00+14:00", "UTC"),
    ],
)
def test_times_that_make_no_sense_are_refused(kind: Kind, spec: str, zone: str) -> None:
    when = When(kind=kind, spec=spec, time_zone=zone)
    with pytest.raises(InvalidInput):
        check(NewSchedule(id=new_schedule_id(), name="x", when=when, text="x"))


@pytest.mark.parametrize(
    ("name", "text", "route"),
    [
        ("", "x", None),
        ("a\nb", "x", None),
        ("x" * 101, "x", None),
        ("x", " ", None),
        ("x", "x" * 50_001, None),
        ("x", "\ud800", None),
        ("x", "x", ""),
        ("x", "x", "a\nb"),
    ],
)
def test_words_that_make_no_sense_are_refused(name: str, text: str, route: str | None) -> None:
    when = When(kind="every", spec="1m", time_zone="UTC")
    new = NewSchedule(id=new_schedule_id(), name=name, when=when, text=text, route=route)
    with pytest.raises(InvalidInput):
        check(new)
