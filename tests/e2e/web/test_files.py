"""Pictures and files: pasted, dropped, sent, seen again, saved; and sessions that come as files."""

import base64
import re
import struct
import zlib
from pathlib import Path

from playwright.async_api import Locator, Page, expect

from roost.testing.models import call, say
from tests.boxes import need
from tests.e2e.web.stage import Stage
from tests.e2e.web.window import Window

GIVE = """([to, name, kind, content, events]) => {
    const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
    const carried = new DataTransfer();
    carried.items.add(new File([bytes], name, { type: kind }));
    const target = document.querySelector(to);
    const common = { bubbles: true, cancelable: true };
    for (const event of events)
        target.dispatchEvent(
            event === "paste"
                ? new ClipboardEvent(event, { ...common, clipboardData: carried })
                : new DragEvent(event, { ...common, dataTransfer: carried }),
        );
}"""
"""What the clipboard and the pointer bring can't be made by a person's means in a test."""


def picture(width: int) -> bytes:
    """A PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", width, width, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\xa9\x48\x1f" * width) * width)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


async def give(page: Page, name: str, kind: str, content: bytes, *events: str) -> None:
    target = "textarea" if "paste" in events else "main"
    await page.locator(target).first.wait_for()
    coded = base64.b64encode(content).decode()
    await page.evaluate(GIVE, [target, name, kind, coded, list(events)])


async def saved(page: Page, link: Locator) -> tuple[str, bytes]:
    async with page.expect_download() as coming:
        await link.click()
    download = await coming.value
    return download.suggested_filename, Path(await download.path()).read_bytes()


async def test_what_is_pasted_and_dropped_is_sent_and_there_again(stage: Stage) -> None:
    stage.plan(say("A brown square, and notes."))
    window = Window(await stage.page())
    page = window.page
    await give(page, "square.png", "image/png", picture(48), "paste")
    await give(page, "notes.txt", "text/plain", b"All is quiet.", "dragenter", "dragover")
    await expect(page.get_by_text("Drop to attach")).to_be_visible()
    await give(page, "notes.txt", "text/plain", b"All is quiet.", "drop")
    await expect(page.get_by_text("Drop to attach")).to_have_count(0)
    attached = page.get_by_label("Attached files").get_by_role("listitem")
    await expect(attached).to_have_count(2)
    await window.say("What do you see?")
    await window.sees("A brown square, and notes.")
    assert "image/png" in str(stage.model.requests[0].body)
    await page.reload()
    shown = window.conversation.get_by_role("img", name="square.png")
    await expect(shown).to_have_js_property("naturalWidth", 48)
    link = window.conversation.get_by_role("link", name="Download notes.txt")
    assert await saved(page, link) == ("notes.txt", b"All is quiet.")
    await expect(attached).to_have_count(0)


async def test_file_that_is_taken_off_is_not_sent(stage: Stage) -> None:
    stage.plan(say("Only words."))
    window = Window(await stage.page())
    await give(window.page, "secret.txt", "text/plain", b"Not for you.", "paste")
    await window.button("Remove secret.txt").click()
    await window.say("Anything there?")
    await window.sees("Only words.")
    await expect(window.conversation.get_by_role("link")).to_have_count(0)
    assert "secret.txt" not in str(stage.model.requests[0].body)


async def test_what_the_agent_wrote_is_in_the_panel_to_read_and_save(stage: Stage) -> None:
    await need("bubblewrap")
    stage.plan(
        call("write_file", {"path": "nest/owl.md", "content": "# The owl\n"}),
        say("Written."),
    )
    window = Window(await stage.page())
    page = window.page
    await window.say("Write of the owl.")
    await window.sees("Written.")
    await window.button("Show panel").click()
    panel = page.get_by_role("tabpanel")
    await panel.get_by_role("button", name=re.compile("nest")).click()
    await panel.get_by_role("button", name=re.compile("owl.md")).click()
    await expect(panel.get_by_text("# The owl")).to_be_visible()
    link = panel.get_by_role("link", name="Download")
    assert await saved(page, link) == ("owl.md", b"# The owl\n")


async def test_what_the_agent_sends_stands_in_the_conversation(stage: Stage) -> None:
    await need("bubblewrap")
    drawn = base64.b64encode(picture(48)).decode()
    stage.plan(
        call("terminal", {"command": f"echo {drawn} | base64 -d > owl.png"}),
        call("write_file", {"path": "owl.md", "content": "# The owl\n"}),
        call("send_file", {"path": "owl.png"}) + call("send_file", {"path": "owl.md"}),
        say("There they are."),
    )
    window = Window(await stage.page())
    await window.say("Draw the owl, and write of it.")
    await window.sees("There they are.")
    for _ in range(2):
        shown = window.conversation.get_by_role("img", name="owl.png")
        await expect(shown).to_have_js_property("naturalWidth", 48)
        link = window.conversation.get_by_role("link", name="Download owl.md")
        assert await saved(window.page, link) == ("owl.md", b"# The owl\n")
        await window.page.reload()


async def test_exported_session_comes_back_whole_for_another_user(stage: Stage) -> None:
    stage.plan(say("The owl sings."))
    window = Window(await stage.page())
    await window.say("What does it do?")
    await window.sees("The owl sings.")
    await window.is_idle()
    await window.button("Session menu").click()
    name, content = await saved(
        window.page, window.page.get_by_role("menuitem", name="Export as JSON")
    )
    await stage.add_user("bob")
    other = Window(await stage.page(user="bob"))
    await other.button("Import").click()
    dialog = other.page.get_by_role("dialog", name="Import sessions")
    async with other.page.expect_file_chooser() as asked:
        await dialog.get_by_role("button", name="choose files").click()
    await (await asked.value).set_files(
        {"name": name, "mimeType": "application/json", "buffer": content}
    )
    await dialog.get_by_role("button", name="Open").click()
    await other.sees("What does it do?", times=1)
    await other.sees("The owl sings.", times=1)
