"""Whether there is a browser, and what it is started with."""

import asyncio
import os
from pathlib import Path

import pytest

from roost.core.errors import WorkspaceError
from roost.workspace.browser import Browser, executable, unavailable
from roost.workspace.inside.trees import below
from roost.workspace.tabs import AllTabs
from tests.browsing import browsing
from tests.network import Network

pytestmark = pytest.mark.timeout(180)


def test_chromium_is_found_by_any_of_its_names(tmp_path: Path) -> None:
    assert unavailable({"PATH": str(tmp_path)}) == (
        "There is no Chromium on the PATH. Install one (Debian: apt install chromium)."
    )
    for name in ("google-chrome", "chromium"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        assert executable({"PATH": str(tmp_path)}) == str(program)
    assert unavailable({"PATH": str(tmp_path)}) is None


async def test_without_chromium_it_says_so(tmp_path: Path) -> None:
    browser = Browser(Network().guard, tmp_path / "home", {"PATH": str(tmp_path)})
    with pytest.raises(WorkspaceError, match="There is no Chromium on the PATH"):
        await browser.open()
    await browser.close()
    with pytest.raises(WorkspaceError, match="Roost is stopping"):
        await browser.open()


async def test_a_chromium_that_does_not_start_is_tried_again(tmp_path: Path) -> None:
    (program := tmp_path / "chromium").write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    browser = Browser(Network().guard, tmp_path / "home", {"PATH": str(tmp_path)})
    for _ in range(2):
        with pytest.raises(WorkspaceError, match="Chromium did not start"):
            await browser.open()
    await browser.close()


async def test_failure_that_nobody_waited_for_is_not_the_last_word(tmp_path: Path) -> None:
    browser = Browser(Network().guard, tmp_path / "home", {"PATH": str(tmp_path)})
    tabs = await AllTabs(browser).make()

    async def use() -> None:
        async with tabs.use():
            pass

    opening = asyncio.create_task(use())
    await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    assert opening.cancelled()
    with pytest.raises(WorkspaceError, match="There is no Chromium"):
        await browser.open()  # by now the one before has failed too
    (program := tmp_path / "chromium").write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(WorkspaceError, match="Chromium did not start"):
        await use()
    await browser.close()


async def test_chromium_knows_nothing_of_the_environment_and_ends_with_its_last_tabs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with browsing(tmp_path) as browser:
        monkeypatch.setenv("SECRET_KEY", "abc")
        browser.site.page("/", "<h1>Here</h1>")
        await browser("open", url="http://example.com/")
        found = [pid for pid in below(os.getpid()) if b"--headless" in _read(pid, "cmdline")]
        assert found
        for pid in found:
            assert b"SECRET_KEY" not in _read(pid, "environ")
        await browser.workspaces.end(browser.session)
        async with asyncio.timeout(50):
            while any(b"--headless" in _read(pid, "cmdline") for pid in found):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        browser.site.asked.clear()
        assert "Here" in await browser("open", url="http://example.com/")


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


async def test_who_gives_up_waiting_leaves_nothing_half_open(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        browser.site.page("/", "<h1>Here</h1>")
        opening = asyncio.create_task(browser("open", url="http://example.com/"))
        tabs = await browser.current()
        while not tabs.is_busy:  # noqa: ASYNC110
            await asyncio.sleep(0)
        opening.cancel()
        await asyncio.wait([opening])
        assert opening.cancelled()
        assert "Here" in await browser("open", url="http://example.com/")
        assert tabs.current is not None
        chromium = tabs.current.context.browser
        assert chromium is not None
        assert len(chromium.contexts) == 1
