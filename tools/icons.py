"""`python -m tools.icons` draws the app's icons anew from web/public/favicon.svg, by Chromium."""

import os
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

from roost.workspace.browser import executable

PUBLIC = Path(__file__).parents[1] / "web" / "public"


class Icon(NamedTuple):
    """Whoever masks an icon cuts off its edge, so the mark of a `masked` one is smaller, and its
    ground has no corners of its own."""

    name: str
    size: int
    masked: bool = False


ICONS = (
    Icon("icon-192.png", 192),
    Icon("icon-512.png", 512),
    Icon("icon-maskable-512.png", 512, masked=True),
)


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable(os.environ), chromium_sandbox=os.geteuid() != 0
        )
        for icon in ICONS:
            (PUBLIC / icon.name).write_bytes(_drawn(browser, icon))
            print(f"{icon.name} drawn.")


def _drawn(browser: Browser, icon: Icon) -> bytes:
    svg = (PUBLIC / "favicon.svg").read_text()
    if icon.masked:
        svg = svg.replace('rx="14"', "").replace(
            "<path", '<path transform="matrix(.7 0 0 .7 9.6 9.6)"'
        )
    page = browser.new_page(viewport={"width": icon.size, "height": icon.size})
    page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block }}</style>{svg}")
    return page.screenshot(omit_background=True)


if __name__ == "__main__":
    main()
