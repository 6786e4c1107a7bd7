"""axe, the accessibility checker, in a page."""

from pathlib import Path

from playwright.async_api import Page

AXE = Path(__file__).parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


async def violations(page: Page) -> list[str]:
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
