"""Signing in and out, and what one is signed in with."""

import aiohttp
import pytest

from tests.unit.http.served import Client, Served

PASSWORD = "correct horse battery staple"  # noqa: S105


async def test_link_signs_in_one_browser_once(served: Served) -> None:
    secret = (await served.identities.link(served.engine.owner.id)).reveal()
    async with served.stranger() as one, served.stranger() as other:
        assert (await one.ask("GET", "/api/me"))[0] == 401
        assert await one.post("/api/sign-in", {"secret": secret}) == (204, None)
        assert (await other.post("/api/sign-in", {"secret": secret}))[0] == 403
        me = await one.get("/api/me")
    assert (me["user"]["name"], me["via"]) == ("owner", "browser")
    assert "admin" in me["scopes"]


async def test_cookie_is_out_of_reach_of_scripts_and_of_other_sites(served: Served) -> None:
    secret = (await served.identities.link(served.engine.owner.id)).reveal()
    url = served.url / "api/sign-in"
    async with (
        aiohttp.ClientSession() as connections,
        connections.post(url, json={"secret": secret}) as answer,
    ):
        name, *flags = answer.headers["set-cookie"].split("; ")
    assert name.startswith("roost=")
    assert {flag.lower().partition("=")[0] for flag in flags} == {
        "httponly",
        "max-age",
        "path",
        "samesite",
    }
    assert "SameSite=strict" in flags
    assert "Path=/" in flags


async def test_password_signs_in_after_it_was_set(served: Served, browser: Client) -> None:
    short = await browser.ask("PUT", "/api/me/password", {"new": "short"})
    assert short[0] == 400
    assert await browser.ask("PUT", "/api/me/password", {"new": PASSWORD}) == (204, None)
    async with served.stranger() as other:
        wrong = {"name": "owner", "password": "wrong horse"}
        assert (await other.post("/api/sign-in", wrong))[0] == 403
        assert await other.post("/api/sign-in", {"name": "owner", "password": PASSWORD}) == (
            204,
            None,
        )
        assert (await other.get("/api/me"))["user"]["has_password"]
    changed = {"old": "wrong horse", "new": PASSWORD + "s"}
    assert (await browser.ask("PUT", "/api/me/password", changed))[0] == 403


async def test_guessing_is_slowed_down(served: Served) -> None:
    async with served.stranger() as stranger:
        guess = {"name": "owner", "password": "guess"}
        answers = [await stranger.post("/api/sign-in", guess) for _ in range(30)]
    status, problem = answers[-1]
    assert (status, problem["type"]) == (429, "urn:roost:too-many-tries")


async def test_sign_in_needs_one_of_both(served: Served) -> None:
    async with served.stranger() as stranger:
        assert (await stranger.post("/api/sign-in", {"name": "owner"}))[0] == 400


async def test_signing_out_ends_the_sign_in(served: Served, browser: Client) -> None:
    cookies = browser.connections.cookie_jar.filter_cookies(served.url)
    kept = {name: morsel.value for name, morsel in cookies.items()}
    assert await browser.post("/api/sign-out") == (204, None)
    assert (await browser.ask("GET", "/api/me"))[0] == 401
    async with (
        aiohttp.ClientSession(cookies=kept) as thief,
        thief.get(served.url / "api/me") as answer,
    ):
        assert answer.status == 401


async def test_sign_ins_are_listed_and_revoked(served: Served, browser: Client) -> None:
    async with served.browser() as other:
        listed = (await browser.get("/api/sign-ins"))["sign_ins"]
        (elsewhere,) = [each for each in listed if not each["here"]]
        assert len(listed) == 2
        path = f"/api/sign-ins/{elsewhere['id']}"
        assert await browser.ask("DELETE", path) == (204, None)
        assert (await other.ask("GET", "/api/me"))[0] == 401
    assert (await browser.ask("GET", "/api/me"))[0] == 200


async def test_token_does_what_its_scopes_say_until_it_is_revoked(
    served: Served, browser: Client
) -> None:
    status, made = await browser.post("/api/tokens", {"name": "script", "scopes": ["read"]})
    assert status == 201
    headers = {"Authorization": f"Bearer {made['secret']}"}
    async with served.stranger() as program:
        assert (await program.ask("GET", "/api/sessions", headers=headers))[0] == 200
        status, problem = await program.post("/api/sessions", headers=headers)
        assert (status, problem["type"]) == (403, "urn:roost:not-allowed")
        (listed,) = (await browser.get("/api/tokens"))["tokens"]
        assert listed["id"] == made["token"]["id"]
        assert "secret" not in listed
        assert await browser.ask("DELETE", f"/api/tokens/{listed['id']}") == (204, None)
        assert (await program.ask("GET", "/api/sessions", headers=headers))[0] == 401


async def test_token_can_not_make_one_that_may_do_more(served: Served) -> None:
    async with served.program("admin") as program:
        more = {"name": "more", "scopes": ["chat"]}
        assert (await program.post("/api/tokens", more))[0] == 403
        assert (await program.post("/api/tokens", {"name": "same", "scopes": ["admin"]}))[0] == 201


async def test_token_that_may_talk_does_not_see_to_the_account(served: Served) -> None:
    async with served.program("read", "chat") as program:
        for method, path, body in (
            ("PATCH", "/api/me", {"name": "Mallory"}),
            ("PUT", "/api/me/password", {"new": PASSWORD}),
            ("GET", "/api/sign-ins", None),
            ("GET", "/api/tokens", None),
            ("POST", "/api/tokens", {"name": "x", "scopes": ["chat"]}),
        ):
            status, problem = await program.ask(method, path, body)
            assert (path, status) == (path, 403)
            assert "signed in with a browser" in problem["detail"]
        assert (await program.get("/api/me"))["user"]["name"] == "owner"


async def test_token_can_not_make_one_that_outlasts_it(served: Served, browser: Client) -> None:
    wanted = {"name": "script", "scopes": ["admin"]}
    _, made = await browser.post("/api/tokens", wanted | {"seconds": 1000})
    headers = {"Authorization": f"Bearer {made['secret']}"}
    async with served.stranger() as program:
        for seconds, expected in ((None, 400), (2000, 400), (500, 201)):
            asked = wanted | {"seconds": seconds}
            status, _ = await program.post("/api/tokens", asked, headers=headers)
            assert (seconds, status) == (seconds, expected)


async def test_profile_is_changed(browser: Client) -> None:
    status, changed = await browser.ask("PATCH", "/api/me", {"time_zone": "Europe/Zurich"})
    assert (status, changed["time_zone"]) == (200, "Europe/Zurich")
    assert (await browser.ask("PATCH", "/api/me", {"time_zone": "Mars/Base"}))[0] == 400


async def test_admin_adds_users_who_sign_in_by_a_link(served: Served, browser: Client) -> None:
    status, bob = await browser.post("/api/users", {"name": "Bob"})
    assert (status, bob["role"]) == (201, "member")
    status, link = await browser.post(f"/api/users/{bob['id']}/link")
    assert status == 201
    secret = link["path"].removeprefix("/sign-in#")
    async with served.stranger() as other:
        assert (await other.post("/api/sign-in", {"secret": secret}))[0] == 204
        assert (await other.get("/api/me"))["user"]["name"] == "Bob"
        assert (await other.ask("GET", "/api/users"))[0] == 403
        caps = f"/api/users/{bob['id']}/caps"
        assert (await browser.ask("PUT", caps, {"day_cost": 2.5}))[1] == {"day_cost": 2.5}
        change = {"disabled": True}
        _, disabled = await browser.ask("PATCH", f"/api/users/{bob['id']}", change)
        assert disabled["disabled"]
        assert (await other.ask("GET", "/api/me"))[0] == 401
    assert len((await browser.get("/api/users"))["users"]) == 2


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "evil.example"}, 421),
        ({}, 201),
    ],
)
async def test_browser_is_heard_only_from_our_own_pages(
    browser: Client, headers: dict[str, str], status: int
) -> None:
    assert (await browser.post("/api/sessions", headers=headers))[0] == status


async def test_cookie_without_an_origin_changes_nothing(served: Served, browser: Client) -> None:
    cookies = browser.connections.cookie_jar.filter_cookies(served.url)
    kept = {name: morsel.value for name, morsel in cookies.items()}
    async with aiohttp.ClientSession(cookies=kept) as somewhere:
        async with somewhere.post(served.url / "api/sessions", json={}) as answer:
            assert answer.status == 403
        async with somewhere.get(served.url / "api/sessions") as answer:
            assert answer.status == 200
