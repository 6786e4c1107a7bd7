"""Users over HTTP: what an admin can do for others, and nobody else."""

from roost.core.ids import UserId
from roost.core.users import User
from tests.unit.http.served import Client, Served


async def added(browser: Client, name: str = "Ada") -> str:
    status, user = await browser.post("/api/users", {"name": name})
    assert status == 201, user
    return f"/api/users/{user['id']}"


async def test_admin_gives_a_user_a_name_a_password_and_caps(
    served: Served, browser: Client
) -> None:
    path = await added(browser)
    assert (await browser.ask("PATCH", path, {"name": "Ada L."}))[1]["name"] == "Ada L."
    assert (await browser.ask("PUT", f"{path}/caps", {"day_tokens": 9}))[1] == {"day_tokens": 9}
    password = {"password": "a long password"}
    assert await browser.ask("PUT", f"{path}/password", password) == (204, None)
    async with served.stranger() as ada:
        signed_in = {"name": "ada l.", **password}
        assert await ada.post("/api/sign-in", signed_in) == (204, None)
        assert (await ada.get("/api/me"))["user"]["name"] == "Ada L."


async def test_change_that_is_refused_in_part_changes_nothing(browser: Client) -> None:
    (owner,) = (await browser.get("/api/users"))["users"]
    change = {"name": "x", "role": "member"}
    status, problem = await browser.ask("PATCH", f"/api/users/{owner['id']}", change)
    assert (status, problem["detail"][:26]) == (409, "This is the last admin. Ma")
    assert (await browser.get("/api/users"))["users"] == [owner]


async def test_link_lasts_as_long_as_was_said(browser: Client) -> None:
    path = await added(browser)
    assert (await browser.post(f"{path}/link"))[0] == 201
    assert (await browser.post(f"{path}/link", {"seconds": 86_400}))[0] == 201
    assert (await browser.post(f"{path}/link", {"seconds": 10**9}))[0] == 400


async def test_admin_sees_to_a_users_tokens(served: Served, browser: Client) -> None:
    path = await added(browser)
    status, made = await browser.post(f"{path}/tokens", {"name": "script", "scopes": ["read"]})
    assert status == 201
    headers = {"Authorization": f"Bearer {made['secret']}"}
    async with served.stranger() as program:
        assert (await program.ask("GET", "/api/me", headers=headers))[1]["user"]["name"] == "Ada"
        assert (await browser.get(f"{path}/tokens"))["tokens"][0]["id"] == made["token"]["id"]
        revoked = await browser.ask("DELETE", f"{path}/tokens/{made['token']['id']}")
        assert revoked == (204, None)
        assert (await program.ask("GET", "/api/me", headers=headers))[0] == 401
    admins = await browser.post(f"{path}/tokens", {"name": "x", "scopes": ["admin"]})
    assert admins[0] == 403  # she is none


async def test_token_gives_nobody_more_than_it_may_itself(served: Served, browser: Client) -> None:
    path = await added(browser)
    async with served.program("admin") as program:
        wanted = {"name": "more", "scopes": ["chat"]}
        assert (await program.post(f"{path}/tokens", wanted))[0] == 403


async def test_removed_user_is_out_and_gone(served: Served, browser: Client) -> None:
    path = await added(browser)
    id = path.rpartition("/")[2]
    async with served.browser(UserId(id)) as ada:
        await ada.session()
        assert await browser.ask("DELETE", path) == (204, None)
        assert (await ada.ask("GET", "/api/me"))[0] == 401
    assert len((await browser.get("/api/users"))["users"]) == 1
    assert (await browser.ask("DELETE", path))[0] == 404
    await added(browser)


async def test_nobody_removes_themselves(served: Served, browser: Client) -> None:
    bob = await served.identities.people.create("Bob", role="admin")
    async with served.browser(bob.id) as him:
        status, problem = await him.ask("DELETE", f"/api/users/{bob.id}")
        assert (status, problem["detail"][:12]) == (409, "This is you.")
        assert (await him.ask("DELETE", f"/api/users/{served.engine.owner.id}"))[0] == 409


async def test_member_sees_to_nobody(served: Served, browser: Client) -> None:
    path = await added(browser)
    other: User = await served.identities.people.create("Bob")
    async with served.browser(other.id) as bob:
        for method, end, body in (
            ("PUT", "/password", {"password": "a long password"}),
            ("GET", "/tokens", None),
            ("POST", "/tokens", {"name": "x", "scopes": ["read"]}),
            ("POST", "/link", {}),
            ("PATCH", "", {"name": "Eve"}),
            ("DELETE", "", None),
        ):
            assert (await bob.ask(method, path + end, body))[0] == 403, end


async def test_answerer_is_who_a_name_stands_for(browser: Client) -> None:
    found = await browser.get("/api/answerer")
    assert (found["name"].count("/"), found["tiny"]) == (1, False)
    assert await browser.get(f"/api/answerer?model={found['name']}") == found
    assert (await browser.ask("GET", "/api/answerer?model=zebra/"))[0] == 400
