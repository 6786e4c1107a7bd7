"""What is said first: who answers, which session this is, and how it was left."""

from contextlib import suppress

from roost import __version__
from roost.cli.ask import TINY
from roost.cli.chat.commands import is_blank, model_of, name_of
from roost.cli.chat.page import Page
from roost.cli.chat.words import because
from roost.cli.ports import Account
from roost.core.errors import RoostError
from roost.core.ids import SessionId
from roost.core.turns import Turn

_SHORT: dict[str, str] = {
    "interrupted": "The last answer was interrupted.",
    "failed": "The last turn failed.",
    "cancelled": "The last answer was stopped.",
}


async def is_tiny(account: Account, session: SessionId) -> bool:
    """Whether the model that comes with Roost answers in a session."""
    name = await model_of(account, await account.session(session))
    return (await account.answerer(name)).tiny


async def greet(account: Account, session: SessionId, page: Page, *, where: str | None) -> None:
    """`where` is the server's address, if there is one."""
    at = f", at {where}" if where else ""
    page.note(f"Roost {__version__}{at}. /help shows what there is, Ctrl-D leaves.")
    await introduce(account, session, page)
    with suppress(RoostError):
        if await is_tiny(account, session):
            page.note(TINY)


async def introduce(account: Account, session: SessionId, page: Page) -> None:
    """One session: its name, who answers in it, where one was, and what is left to do."""
    found = await account.session(session)
    name = "New session" if is_blank(found) else await name_of(account, found)
    try:
        page.note(f"{name}, with {await model_of(account, found)}.")
    except RoostError as error:
        # There may be no model; what was said can be read nevertheless.
        page.note(f"{name}.")
        page.note(str(error), dim=False)
    snapshot = await account.snapshot(session, limit=50)
    page.recall(snapshot.messages)
    if snapshot.turn is None and (left := await _left(account, session)):
        page.note(left, dim=False)


async def _left(account: Account, session: SessionId) -> str:
    """How the last turn ended, if it stopped short."""
    turns = [turn for turn in await account.turns(session) if _counts(turn)]
    if not turns or turns[-1].state not in _SHORT:
        return ""
    last = turns[-1]
    why = because(last.reason) if last.state != "cancelled" else ""
    what = why if last.state == "failed" and why else f"{_SHORT[last.state]} {why}".strip()
    return f"{what} /continue goes on with it, /retry asks again."


def _counts(turn: Turn) -> bool:
    return turn.undone is None and turn.state not in ("removed", "merged")
