"""Makes the pictures in docs/images: a real Roost with a scripted model, seen in a real browser."""

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import Page

from roost.testing.models import call, say, think
from tests.e2e.chromium import launched
from tests.e2e.web.stage import DESK, PHONE, Stage, staged
from tests.e2e.web.test_channels import Settings, code_of
from tests.e2e.web.test_channels import opened as channels
from tests.e2e.web.test_schedules import opened as schedules
from tests.e2e.web.window import Window
from tests.fakes.telegram import fake_telegram

FOLDER = Path(__file__).parents[1] / "docs" / "images"
_ASKS = """
[approvals]
ask = ["terminal"]
"""
_QUESTION = "The nightly report is empty since Tuesday. Can you find out why?"
_ANSWER = """The report is empty because **the export runs before the import** since Tuesday.

| job | was | is |
|---|---|---|
| import | 02:00 | 03:30 |
| report | 03:00 | 03:00 |

Nothing is wrong in `report.py` itself. I moved the report to the end of the import:

```python
def after_import(day: date) -> None:
    \"\"\"The report of a day needs all of its rows.\"\"\"
    report(day)
```

1. Tonight's report will be whole again.
2. Those of Tuesday to Thursday can be made anew with `make reports`.
"""
_PLAN = [
    {"text": "Read the schedule", "state": "done"},
    {"text": "Compare with last week", "state": "done"},
    {"text": "Mend the order", "state": "done"},
]
_OTHERS = (
    ("A poem for Ada's birthday", "The bird that waits upon the wire."),
    ("Compare three mail hosts", "All three take your own domain."),
    ("Why is the balcony fern brown?", "It stands in the draught of the door."),
)
_BOB: dict[str, object] = {"id": 77, "type": "private", "first_name": "Bob"}
_SCHEDULES = (
    ("Morning news", "What is new about herons? Three lines.", "weekdays"),
    ("Backup", "Is the backup of last night there? Say so only if it is not.", "daily"),
)


# Everything that was asked for is there, and two frames have passed.
_STILL = """() => new Promise((done) => {
  const look = () => document.querySelector('[aria-busy=true], .skeleton')
    ? setTimeout(look, 50)
    : requestAnimationFrame(() => requestAnimationFrame(() => done(null)));
  document.fonts.ready.then(look);
})"""


async def make(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        async with launched() as browser, staged(Path(scratch), browser, _ASKS) as stage:
            await _others(stage)
            await _answer(stage, folder)
            await _approval(stage, folder)
            await _settings(stage, folder)
            await _channels(stage, folder)
            await _schedules(stage, folder)


async def _others(stage: Stage) -> None:
    """So that the list has something to show."""
    window = Window(await stage.page())
    for question, answer in _OTHERS:
        stage.model.plan(say(question), model="small")
        stage.plan(say(answer))
        await window.new_chat()
        await window.say(question)
        await window.sees(answer)
        await window.page.get_by_role("heading", name=question).wait_for()


async def _answer(stage: Stage, folder: Path) -> None:
    stage.model.plan(say("The empty nightly report"), model="small")
    stage.plan(
        think("The schedule changed on Tuesday. I compare it with last week's.")
        + call("todo", {"items": _PLAN}),
        call("write_file", {"path": "jobs.toml", "content": "[report]\nafter = 'import'\n"}),
        say(_ANSWER),
    )
    window = Window(await stage.page(size=DESK))
    await window.say(_QUESTION)
    await window.sees("Tonight's report")
    await window.is_idle()
    await window.page.get_by_role("heading", name="The empty nightly report").wait_for()
    await _picture(window.page, folder / "chat-light.png")
    await window.page.emulate_media(color_scheme="dark")
    await _picture(window.page, folder / "chat-dark.png")
    phone = await stage.page(size=PHONE)
    await phone.goto(window.page.url)
    await Window(phone).sees("Tonight's report")
    await _picture(phone, folder / "phone.png")


async def _approval(stage: Stage, folder: Path) -> None:
    stage.plan(call("terminal", {"command": "make reports FROM=tuesday"}))
    window = Window(await stage.page())
    await window.page.goto(f"{stage.address}/")
    await window.say("Then make the reports of Tuesday to Thursday anew.")
    await window.button("Allow once").wait_for()
    await _picture(window.page, folder / "approval.png")


async def _settings(stage: Stage, folder: Path) -> None:
    page = await stage.page()
    for section in ("models", "usage"):
        await page.goto(f"{stage.address}/settings/{section}")
        await page.get_by_role("heading", level=2).first.wait_for()
        await _picture(page, folder / f"settings-{section}.png")


async def _channels(stage: Stage, folder: Path) -> None:
    """Ann may talk; Bob has just asked."""
    async with fake_telegram() as telegram:
        settings = await channels(await stage.page(), stage)
        await settings.add_well(telegram)
        await settings.let_in(await code_of(telegram))
        await telegram.say("Hello?", chat=_BOB, **{"from": _BOB | {"is_bot": False}})
        await settings.sees("Bob")
        await settings.button("Close").click()  # what was said of Ann
        await _picture(settings.page, folder / "settings-channels.png")
        await _forget(settings)


async def _forget(settings: Settings) -> None:
    await settings.choose("telegram", "Remove")
    await settings.page.goto("about:blank")


async def _schedules(stage: Stage, folder: Path) -> None:
    settings = await schedules(await stage.page(), stage)
    stage.plan(say("Three herons were seen at the lake."))
    for name, text, repeat in _SCHEDULES:
        await settings.button("New schedule").first.click()
        await settings.fill("Name", name)
        await settings.fill("What to do", text)
        await settings.dialog.get_by_label("When").select_option(repeat)
        await settings.ahead.first.wait_for()
        await settings.save()
    await settings.button("Run now").first.click()
    await settings.page.get_by_text("done", exact=True).wait_for()
    await settings.button("Close").click()
    await _picture(settings.page, folder / "settings-schedules.png")


async def _picture(page: Page, file: Path) -> None:
    await page.mouse.move(0, 0)
    await page.evaluate(_STILL)
    await page.screenshot(path=file, animations="disabled", caret="hide")
    sys.stdout.write(f"{file.name}\n")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    asyncio.run(make(FOLDER))
