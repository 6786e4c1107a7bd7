"""Settings over HTTP: what a user has settled for themselves."""

from roost.core.ids import SessionId
from roost.testing.models import ModelServer
from tests.unit.http.served import Client, Served

PATH = "/api/settings"


async def test_settings_are_changed_one_by_one(browser: Client) -> None:
    assert await browser.get(PATH) == {"model": None, "toolset": None, "appearance": {}}
    appearance = {"theme": "dark", "panes": [1, 2.5, None], "list": {"open": True}}
    await browser.ask("PATCH", PATH, {"appearance": appearance})
    await browser.ask("PATCH", PATH, {"toolset": "chat"})
    status, changed = await browser.ask("PATCH", PATH, {"model": "test/other"})
    assert (status, changed) == (200, await browser.get(PATH))
    assert changed == {"model": "test/other", "toolset": "chat", "appearance": appearance}
    _, changed = await browser.ask("PATCH", PATH, {"model": None})
    assert (changed["model"], changed["toolset"]) == (None, "chat")


async def test_new_sessions_begin_with_what_their_user_prefers(
    served: Served, browser: Client, server: ModelServer
) -> None:
    await browser.ask("PATCH", PATH, {"model": "test/other", "toolset": "chat"})
    session = await browser.session()
    opened = await browser.get(f"/api/sessions/{session}")
    assert (opened["model"], opened["toolset"]) == ("test/other", "chat")
    await served.engine.say(session)
    assert server.requests[0].model == "other"
    named = await browser.get(f"/api/sessions/{await browser.session(model='test/model')}")
    assert (named["model"], named["toolset"]) == ("test/model", "chat")
    _, after = await browser.post("/api/routes/web/reset")
    assert (await browser.get(f"/api/sessions/{SessionId(after['id'])}"))["model"] == "test/other"


async def test_model_that_is_gone_keeps_nobody_from_a_session(
    browser: Client, server: ModelServer
) -> None:
    setup = {"base_url": server.openai_url, "models": ["heron"]}
    await browser.ask("PUT", "/api/providers/nest", setup)
    await browser.ask("PATCH", PATH, {"model": "nest/heron"})
    await browser.ask("DELETE", "/api/providers/nest")
    opened = await browser.get(f"/api/sessions/{await browser.session()}")
    assert opened["model"] is None


async def test_what_can_not_be_used_or_kept_is_refused(browser: Client) -> None:
    refused: list[dict[str, object]] = [
        {"model": "no/body"},
        {"toolset": "wings"},
        {"appearance": {"noise": "x" * 17_000}},
        {"appearance": "dark"},
        {"colour": "blue"},
    ]
    for wrong in refused:
        assert (await browser.ask("PATCH", PATH, wrong))[0] == 400, wrong
    assert (await browser.get(PATH))["appearance"] == {}


async def test_settings_are_their_users_alone(served: Served, browser: Client) -> None:
    await browser.ask("PATCH", PATH, {"toolset": "chat"})
    other = await served.identities.people.create("wren")
    async with served.browser(other.id) as stranger:
        assert (await stranger.get(PATH))["toolset"] is None
