"""axe, the accessibility checker, over the pages as people see them."""

from pathlib import Path

import pytest
from playwright.async_api import Page

from roost.testing.models import call, say, stall, think
from tests.e2e.web.stage import DESK, PHONE, Stage
from tests.e2e.web.window import Window

AXE = Path(__file__).parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
ANSWER = """
# A heading

Some *words* with `code` and a [link](https://example.org).

| bird | sound |
|---|---|
| owl | hoo |

```python
print("hoo")
```

- one
- two
"""


async def _violations(page: Page) -> list[str]:
    """Run as the developer tools would: the page's own policy lets no script in."""
    await page.evaluate(AXE.read_text())
    found = await page.evaluate(
        "(rules) => axe.run({ runOnly: rules }).then((found) => found.violations)", RULES
    )
    return [
        f"{each['id']} ({each['impact']}): {node['html'][:200]} {node['failureSummary'][:300]}"
        for each in found
        for node in each["nodes"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_a_chat_has_nothing_serious(stage: Stage, size: tuple[int, int], dark: bool) -> None:
    stage.plan(
        think("Let me see.") + call("todo", {"items": [{"text": "look", "state": "done"}]}),
        say(ANSWER),
        say("Still ") + stall(),
    )
    window = Window(await stage.page(size=size, dark=dark))
    await window.page.emulate_media(reduced_motion="reduce")  # what fades in has its colour at once
    assert await _violations(window.page) == []
    await window.composer.fill("What do birds say?")
    await window.button("Send").click()
    await window.sees("hoo")
    await window.is_idle()
    await window.composer.fill("And now?")
    await window.button("Send").click()
    await window.sees("Still")
    assert await _violations(window.page) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    "section",
    ["models", "tools", "memory", "channels", "account", "users", "appearance", "usage", "about"],
)
async def test_settings_have_nothing_serious(stage: Stage, section: str, dark: bool) -> None:
    page = await stage.page(dark=dark)
    await page.goto(f"{stage.address}/settings/{section}")
    await page.get_by_role("heading").first.wait_for()
    assert await _violations(page) == []


async def test_signing_in_has_nothing_serious(stage: Stage) -> None:
    page = await stage.page(signed_in=False)
    await page.goto(f"{stage.address}/sign-in")
    await page.get_by_role("button").first.wait_for()
    assert await _violations(page) == []
