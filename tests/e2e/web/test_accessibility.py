"""axe, the accessibility checker, over the pages as people see them."""

import pytest

from roost.testing.models import call, say, stall, think
from tests.e2e.web.axe import violations
from tests.e2e.web.stage import DESK, PHONE, Stage
from tests.e2e.web.window import Window

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
    assert await violations(window.page) == []
    await window.composer.fill("What do birds say?")
    await window.button("Send").click()
    await window.sees("hoo")
    await window.is_idle()
    await window.composer.fill("And now?")
    await window.button("Send").click()
    await window.sees("Still")
    assert await violations(window.page) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    "section",
    [
        "models",
        "tools",
        "memory",
        "channels",
        "schedules",
        "account",
        "users",
        "appearance",
        "usage",
        "about",
    ],
)
async def test_settings_have_nothing_serious(stage: Stage, section: str, dark: bool) -> None:
    page = await stage.page(dark=dark)
    await page.emulate_media(reduced_motion="reduce")
    await page.goto(f"{stage.address}/settings/{section}")
    await page.get_by_role("heading").first.wait_for()
    assert await violations(page) == []


async def test_signing_in_has_nothing_serious(stage: Stage) -> None:
    page = await stage.page(signed_in=False)
    await page.emulate_media(reduced_motion="reduce")
    await page.goto(f"{stage.address}/sign-in")
    await page.get_by_role("button").first.wait_for()
    assert await violations(page) == []
