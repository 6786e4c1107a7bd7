"""Goes to Roost, wherever it is, and finds the session to talk in."""

import asyncio
import shlex
import sys
from collections.abc import Mapping
from typing import NamedTuple

import uvloop

from roost.cli import terminal
from roost.cli.ask import TINY
from roost.cli.chat.commands import ROUTE, Room, is_blank, model_of
from roost.cli.chat.feed import Feed
from roost.cli.chat.greeting import greet, introduce, is_tiny
from roost.cli.chat.keys import Signals, signals, unechoed
from roost.cli.chat.page import Page
from roost.cli.chat.pipe import Ends, say
from roost.cli.chat.prompt import Prompt, TerminalPrompt
from roost.cli.chat.prose import page_console
from roost.cli.chat.sitting import Sitting
from roost.cli.ports import Account
from roost.cli.reach import Reached, reached_to_talk
from roost.core.config import Config
from roost.core.errors import Conflict, InvalidInput
from roost.core.ids import SessionId
from roost.core.keys import Key

HISTORY = "chat_history"

_ABSENCE = 300.0
"""Seconds for which one message waits for a server that stopped; a person can leave at any time."""


class Wish(NamedTuple):
    """What was asked for on the command line."""

    message: str | None = None
    model: str | None = None
    new: bool = False
    session: str | None = None


def chat(config: Config, keys: Mapping[str, Key], environ: Mapping[str, str], wish: Wish) -> int:
    if wish.new and wish.session is not None:
        raise InvalidInput("--new and --session exclude one another. Give one of them.")
    message = wish.message
    if message is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        message = sys.stdin.read().removesuffix("\n")
    if message is not None and not message.strip():
        raise InvalidInput('Say something: `roost chat "..."`')
    work = _chat(config, keys, environ, wish._replace(message=message))
    # uvloop would make the terminal non-blocking to read from it, and with it the output, which is
    # the same terminal: a long answer could not be written in one piece.
    return asyncio.run(work) if message is None else uvloop.run(work)


async def _chat(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str], wish: Wish
) -> int:
    absence = None if wish.message is None else _ABSENCE
    async with reached_to_talk(config, keys, environ, absence=absence) as roost:
        account = roost.account
        await _refuse_if_shut_out(roost)
        with signals() as received:
            session = await _open(account, wish)
            if wish.message is None:
                prompt = TerminalPrompt(config.data / HISTORY)
                where = None if roost.place is None else str(roost.place.url.origin())
                with unechoed():
                    await _talk(Room(account, session), prompt, received, where=where)
                return 0
            notes = terminal.err()
            if await is_tiny(account, session):
                notes.print(TINY, style="dim")
            return await say(account, session, wish.message, received, Ends(sys.stdout, notes))


async def _refuse_if_shut_out(roost: Reached) -> None:
    """No turn of theirs would begin."""
    owner = await roost.identities.people.owner()
    if owner.disabled_at is not None:
        how = f"`roost user enable {shlex.quote(owner.name)}`"
        raise Conflict(f"{owner.name} is shut out, and gets no answers. Let them in with {how}.")


async def _open(account: Account, wish: Wish) -> SessionId:
    """The session that was asked for, or the last one, or a first."""
    # Before anything is opened or ended.
    wanted = None if wish.model is None else (await account.answerer(wish.model)).name
    current = await account.current(ROUTE)
    if wish.session is not None:
        current = (await account.session(SessionId(wish.session))).id
        await account.point(ROUTE, current)
    elif current is None or (wish.new and not is_blank(await account.session(current))):
        current = (await account.reset(ROUTE, origin="cli")).id
    if wanted is not None:
        found = await account.session(current)
        if found.config is None or await model_of(account, found) != wanted:
            await account.choose(current, model=wish.model)
    return current


async def _talk(room: Room, prompt: Prompt, received: Signals, *, where: str | None) -> None:
    """From session to session, until there is enough."""
    console = page_console()
    page = Page(console)
    await greet(room.account, room.session, page, where=where)
    while True:
        async with room.account.watch(room.session) as events:
            feed = Feed(events)
            try:
                chosen = await Sitting(room, feed, page, prompt, received).run()
            finally:
                await feed.close()
        if chosen is None:
            return
        room = room._replace(session=chosen)
        page = Page(console)
        page.typed()
        await introduce(room.account, room.session, page)
