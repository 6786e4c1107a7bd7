"""Streams of events, as browsers follow them."""

from roost.http.views import ChangedView, SnapshotView
from tests.unit.http.served import Client


async def test_session_is_followed_from_its_snapshot_to_the_end_of_a_turn(browser: Client) -> None:
    session = await browser.session()
    async with browser.watch(session) as events:
        first = await anext(events)
        assert isinstance(first.view, SnapshotView)
        turn = await browser.send(session)
        async for told in events:
            view = told.view
            if isinstance(view, ChangedView) and any(
                t.id == turn["id"] and t.state == "completed" for t in view.turns
            ):
                break
    messages = (await browser.get(f"/api/sessions/{session}/messages"))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
