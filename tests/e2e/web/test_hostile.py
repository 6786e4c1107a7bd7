"""A transcript that means harm: nothing of it runs, and the page stays usable."""

import pytest
from playwright.async_api import expect

from roost.testing.models import say
from tests.e2e.web.stage import Stage
from tests.e2e.web.window import Window

SCRIPTS = """
<script>window.broken = 1</script> <img src=x onerror="window.broken = 2">
<svg onload="window.broken = 3"><script>window.broken = 4</script></svg>
<style>* { display: none !important }</style>
<iframe srcdoc="<script>top.broken = 5</script>"></iframe>
[click](javascript:window.broken=6) [data](data:text/html,<script>window.broken=7</script>)
![x](https://example.invalid/track.png) <a href="javascript:window.broken=8">press</a>
<form action="/api/sign-out" method="post"><button>Sign out</button></form>
<math><mtext><table><mglyph><style><img src=x onerror="window.broken = 9"></style></mglyph></table>
```mermaid
graph TD; A["<img src=x onerror='window.broken=10'>"] --> B
click A "javascript:window.broken=11"
```
"""
TRICKS = (
    "safe\u202egnp.exe\u202c zero\u200bwidth \u2066isolated\u2069 a\u0300\u0301\u0302"
    + "\u0489" * 200
)
NESTED = "\n".join(["  " * (n % 500) + "- deep" for n in range(10_000)])


@pytest.mark.parametrize(
    "text",
    [
        SCRIPTS,
        TRICKS,
        "x" * 1_000_000,
        NESTED,
        ">" * 10_000 + " quoted",
        "[" * 50_000,
        "*a " * 50_000,
    ],
    ids=["scripts", "tricks", "one-line", "lists", "quotes", "brackets", "stars"],
)
async def test_hostile_text_neither_runs_nor_breaks_anything(stage: Stage, text: str) -> None:
    stage.plan(say(text, size=0), say("Still here."))
    window = Window(await stage.page())
    outside: list[str] = []
    window.page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((stage.address, "blob:", "data:"))
            else outside.append(request.url)
        ),
    )
    await window.say("Show it.")
    await window.is_idle()
    await window.say("Are you there?")
    await window.sees("Still here.")
    assert await window.page.evaluate("window.broken") is None
    assert outside == []
    await expect(window.composer).to_be_visible()
    await window.page.reload()
    await window.sees("Still here.")
    assert await window.page.evaluate("window.broken") is None
