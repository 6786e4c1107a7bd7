"""Signing in on another device, by a link of one's own."""

from tests.unit.http.served import Client, Served


async def test_link_signs_in_another_browser_once(served: Served, browser: Client) -> None:
    status, link = await browser.post("/api/me/link")
    assert status == 201
    secret = link["path"].removeprefix("/sign-in#")
    async with served.stranger() as phone:
        origin = {"Origin": str(served.url.origin())}
        body = {"secret": secret}
        assert await phone.post("/api/sign-in", body, headers=origin) == (204, None)
        assert (await phone.get("/api/me"))["user"]["id"] == served.engine.owner.id
        assert (await phone.post("/api/sign-in", body, headers=origin))[0] == 403


async def test_newer_link_voids_the_one_before(served: Served, browser: Client) -> None:
    old, new = [(await browser.post("/api/me/link"))[1]["path"] for _ in range(2)]
    origin = {"Origin": str(served.url.origin())}
    async with served.stranger() as phone:
        for path, status in ((old, 403), (new, 204)):
            body = {"secret": path.removeprefix("/sign-in#")}
            assert (await phone.post("/api/sign-in", body, headers=origin))[0] == status


async def test_program_gets_no_link(served: Served) -> None:
    for scopes in (("chat",), ("chat", "admin")):
        async with served.program(*scopes) as program:
            assert (await program.post("/api/me/link"))[0] == 403
