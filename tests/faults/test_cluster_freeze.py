"""A server that stands still for longer than its leases live, and wakes up."""

from pathlib import Path

import pytest

from roost.core.ids import TurnId
from roost.core.messages import TextPart
from roost.testing.models import ModelServer, say, stall
from tests.faults.cluster_fences import broken_fences
from tests.faults.cluster_scene import scene, writer
from tests.unit.http.page import Page
from tests.unit.http.served import EventReader


@pytest.mark.contract("B3", "D11")
@pytest.mark.timeout(180)
async def test_frozen_server_is_taken_over_and_what_it_writes_later_is_refused(
    tmp_path: Path,
) -> None:
    late = say("One two ", pace=0.01) + stall() + say("too late.")
    rest = say("and three ", pace=0.01) + stall() + say("and four.")
    # Long, so that nobody loses a lease who is only slow.
    async with ModelServer() as models, scene(tmp_path, models, servers=2, ttl=30) as set:
        models.plan(late, rest)
        here, there = set.cluster.servers
        session = await here.client.session()
        old, new = Page(), Page()
        async with here.client.watch(session) as at_old, there.client.watch(session) as at_new:
            turn = TurnId((await here.client.send(session, "Count."))["id"])
            await _read(old, at_old, "One two")
            await _read(new, at_new, "One two")  # it is durable, or nobody there would know
            here.freeze()
            await set.fences.ask("UPDATE leases SET until = 0 WHERE name LIKE 'session:%'")
            await _read(new, at_new, "and three")
            models.requests[0].release()
            await models.requests[0].closed()
            here.thaw()  # with a whole answer to write down, while the turn still runs elsewhere
            await _read(old, at_old, "and three")
            models.requests[1].release()
            await _end(new, at_new, turn)
            await _end(old, at_old, turn)
        second = TurnId((await here.client.send(session, "Thanks."))["id"])
        for page, client in ((old, here.client), (new, there.client)):
            await page.follow_to_the_end(client, session, second)
            await page.check_equals_what_is_stored(client, session)
        entries = await set.fences.entries()
    said = [each.parts for each in new.messages.values() if each.role == "assistant"]
    assert said[:2] == [(TextPart("One two "),), (TextPart("and three and four."),)]
    claims = [entry.writer for entry in entries if entry.what == "claim"]
    assert claims[:2] == [writer(0), writer(1)], "another took it over"
    assert list(broken_fences(entries)) == []


async def _read(page: Page, events: EventReader, words: str) -> None:
    while words not in page.text:
        page.take(await anext(events))


async def _end(page: Page, events: EventReader, turn: TurnId) -> None:
    while page.states.get(turn) != "completed":
        page.take(await anext(events))
