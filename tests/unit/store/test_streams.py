"""What streams, read together: each who asks gets what is theirs, after where they are."""

import pytest
from msgspec.structs import replace

from roost.core.events import Deltas
from roost.core.ids import new_session_id, new_user_id
from roost.store import streams
from roost.store.streams import Stream
from tests.store_driver import Driver, Run, deltas

pytestmark = pytest.mark.both


def followed(user: Driver, run: Run, *, attempt: int = 1, after: int = 0) -> Stream:
    return Stream(user.user.id, run.session, run.turn, attempt, after)


async def test_each_is_told_what_came_after_where_it_is(ada: Driver, bob: Driver) -> None:
    runs = [(ada, await ada.run()), (bob, await bob.run()), (ada, await ada.run())]
    for user, run in runs:
        await user.stream(run, "abc")
        await user.stream(run, "de", first=4)
    await ada.stream(runs[2][1], "f", first=6)
    asked = [
        followed(user, run, after=after) for (user, run), after in zip(runs, (0, 3, 5), strict=True)
    ]
    stored = await ada.store.streams.after(asked)
    assert stored.complete
    assert [list(each) for each in stored.runs] == [
        [deltas("abc"), deltas("de", first=4)],
        [deltas("de", first=4)],
        [deltas("f", first=6)],
    ]


async def test_nothing_of_anothers_is_told_to_anyone(ada: Driver, bob: Driver) -> None:
    run, mine = await ada.run(), await bob.run()
    await ada.stream(run, "abc")
    await bob.stream(mine, "xyz")
    asked = [
        followed(bob, run),
        replace(followed(bob, run), session=mine.session),
        replace(followed(bob, run), user=new_user_id()),
        followed(bob, mine),
        followed(ada, run),
    ]
    stored = await ada.store.streams.after(asked)
    assert [list(each) for each in stored.runs] == [[], [], [], [deltas("xyz")], [deltas("abc")]]


async def test_what_streams_no_more_has_nothing(ada: Driver) -> None:
    ended, retried, deleted = await ada.run(), await ada.run(), await ada.run()
    for run in (ended, retried, deleted):
        await ada.stream(run, "abc")
    await ada.end(ended)
    await ada.retry(retried)
    await ada.sessions.delete(deleted.session)
    asked = [followed(ada, run) for run in (ended, retried, deleted)]
    unknown = replace(asked[0], session=new_session_id())
    stored = await ada.store.streams.after([*asked, unknown, followed(ada, retried, attempt=2)])
    assert stored.complete
    assert [list(each) for each in stored.runs] == [[]] * 5


async def test_what_is_up_to_date_has_nothing(ada: Driver) -> None:
    run = await ada.run()
    await ada.stream(run, "abc")
    stored = await ada.store.streams.after([followed(ada, run, after=3)])
    assert (list(stored.runs), stored.complete) == ([[]], True)
    assert await ada.store.streams.after([]) == streams.Stored([], complete=True)


async def test_what_is_too_much_comes_in_several_answers(
    ada: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST", 100)
    runs = [await ada.run(), await ada.run()]
    for first in (1, 4, 7):
        for run in runs:
            await ada.stream(run, "abc", first=first)
    found: list[list[Deltas]] = [[], []]
    answers, complete = 0, False
    while not complete:
        ends = [each[-1].last_seq if each else 0 for each in found]
        asked = [followed(ada, run, after=end) for run, end in zip(runs, ends, strict=True)]
        stored = await ada.store.streams.after(asked)
        found = [[*each, *new] for each, new in zip(found, stored.runs, strict=True)]
        complete, answers = stored.complete, answers + 1
    assert answers > 1
    assert found == [[deltas("abc", first=first) for first in (1, 4, 7)]] * 2
