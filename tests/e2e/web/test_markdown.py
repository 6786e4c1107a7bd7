"""Diagrams and formulas: drawn under the policy of the page, and nothing in them runs."""

from playwright.async_api import Locator, expect

from roost.testing.models import say
from tests.e2e.web.stage import Stage
from tests.e2e.web.window import Window

DIAGRAM = """Look:

```mermaid
graph TD
  A[Nest] --> B[Branch]
  B --> C[Tree]
```
"""
HOSTILE = """Look:

```mermaid
%%{init: {"securityLevel": "loose", "themeCSS": "} body { display: none } #x {"}}%%
graph TD
  A["<img src=x onerror='window.broken = 1'><script>window.broken = 2</script>"] --> B[Branch]
  click A "javascript:window.broken=3"
  click B call broken()
  style B fill:#f00,background:url(https://example.invalid/track.png)
  classDef x fill:url(https://example.invalid/track.png)
```
"""
FORMULA = (
    "It is $\\frac{a}{b}$, and\n\n$$\\sum_{n=1}^{9} n^2 \\href{javascript:window.broken=4}{x}$$\n"
)


def _picture(window: Window) -> Locator:
    return window.conversation.get_by_role("img", name="Diagram")


async def test_diagram_is_drawn_in_the_styles_that_it_asks_for(stage: Stage) -> None:
    stage.plan(say(DIAGRAM))
    window = Window(await stage.page())
    await window.say("Draw it.")
    await expect(_picture(window)).not_to_have_js_property("naturalWidth", 0)
    source = await _picture(window).get_attribute("src") or ""
    assert source.startswith("data:image/svg+xml,")
    for word in ("Nest", "Branch", "Tree", "%3Cstyle%3E"):
        assert word in source
    await window.conversation.get_by_role("button", name="Source").click()
    await window.sees("A[Nest] --> B[Branch]")


async def test_hostile_diagram_runs_nothing_and_asks_nobody(stage: Stage) -> None:
    stage.plan(say(HOSTILE), say(DIAGRAM))
    window = Window(await stage.page())
    outside: list[str] = []
    window.page.on("request", lambda request: outside.append(request.url))
    await window.say("Draw it.")
    await window.is_idle()
    # Diagrams are drawn one after the other: once the second is there, the first is done with.
    await window.say("And another one.")
    await expect(_picture(window).last).not_to_have_js_property("naturalWidth", 0)
    assert await window.page.evaluate("window.broken") is None
    own = (stage.address, "blob:", "data:")
    assert [url for url in outside if not url.startswith(own)] == []
    await expect(window.composer).to_be_visible()
    native = "() => String(Element.prototype.setAttribute).includes('native code')"
    assert await window.page.evaluate(native)


async def test_formula_is_shown_as_one(stage: Stage) -> None:
    stage.plan(say(FORMULA))
    window = Window(await stage.page())
    await window.say("How much?")
    await expect(window.conversation.locator("math")).to_have_count(2)
    await expect(window.conversation.locator("math mfrac")).to_be_visible()
    await expect(window.conversation.locator("math [href]")).to_have_count(0)
