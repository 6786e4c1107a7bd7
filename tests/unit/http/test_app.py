"""What the application answers by itself, over a real connection."""

import aiohttp

from roost import __version__
from tests.unit.http.served import Client, Served


async def test_healthz_says_ok_and_which_version(served: Served) -> None:
    async with served.stranger() as anyone:
        answer = await anyone.get("/healthz")
    assert answer == {"status": "ok", "version": __version__}


async def test_readyz_says_whether_the_store_answers(served: Served) -> None:
    async with served.stranger() as anyone:
        assert await anyone.get("/readyz") == {"status": "ready"}
        await served.engine.store.close()
        status, problem = await anyone.ask("GET", "/readyz")
    assert (status, problem["type"]) == (503, "urn:roost:store-closed")


async def test_unknown_path_is_a_problem(served: Served) -> None:
    async with served.stranger() as anyone:
        status, problem = await anyone.ask("GET", "/nowhere?token=secret")
    assert status == 404
    assert problem == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "There is nothing at /nowhere.",
    }


async def test_every_address_has_one_name(served: Served) -> None:
    async with served.stranger() as anyone:
        assert (await anyone.ask("GET", "/api/docs/"))[0] == 404


async def test_wrong_method_is_a_problem_that_says_which_are_allowed(served: Served) -> None:
    async with aiohttp.ClientSession() as connections:
        async with connections.post(served.url / "healthz") as answer:
            assert answer.status == 405
            assert answer.content_type == "application/problem+json"
            assert "GET" in answer.headers["allow"]
            assert (await answer.json(content_type=None))["detail"] == (
                "/healthz does not take POST."
            )
        async with connections.put(served.url / "api/sessions") as answer:
            assert answer.status == 405
            assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))


async def test_pages_run_no_inline_script_and_load_nothing_from_elsewhere(
    served: Served,
) -> None:
    async with aiohttp.ClientSession() as connections:
        for path in ("/", "/sign-in", "/api/docs"):
            async with connections.get(served.url.with_path(path)) as answer:
                page = await answer.text()
            assert (answer.status, answer.content_type) == (200, "text/html")
            policy = answer.headers["content-security-policy"]
            assert "script-src 'self'" in policy
            assert "unsafe" not in policy
            assert "<script>" not in page
            assert "//" not in page.replace("<!doctype html>", "")


async def test_document_lists_every_endpoint(browser: Client) -> None:
    document = await browser.get("/api/openapi.json")
    assert document["openapi"] == "3.1.0"
    assert {"get", "post"} <= set(document["paths"]["/api/sessions"])
    operations = [
        each["operationId"] for path in document["paths"].values() for each in path.values()
    ]
    assert len(operations) == len(set(operations))
