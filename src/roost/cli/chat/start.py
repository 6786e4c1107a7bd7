"""Opens Roost on the data folder and finds the session to talk in."""

import asyncio
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

import msgspec
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
from roost.core.config import Config
from roost.core.errors import InvalidInput
from roost.core.ids import SessionId
from roost.core.keys import Key
from roost.llm.providers import Providers
from roost.runtime.account import Account
from roost.wiring import running

HISTORY = "chat_history"


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
        raise InvalidInput('Say something: roost chat "..."')
    work = _chat(config, keys, environ, wish._replace(message=message))
    # uvloop would make the terminal non-blocking to read from it, and with it the output, which is
    # the same terminal: a long answer could not be written in one piece.
    return asyncio.run(work) if message is None else uvloop.run(work)


def _in_no_hurry(config: Config) -> Config:
    """Leaving is immediate: what is to be remembered is seen to after the next start."""
    memory = msgspec.structs.replace(config.memory, grace=timedelta(0))
    return msgspec.structs.replace(config, memory=memory)


async def _chat(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str], wish: Wish
) -> int:
    providers = Providers.of(config, keys, environ)
    if wish.model is not None:
        providers.resolve(wish.model)  # before anything is opened or ended
    async with running(_in_no_hurry(config), keys, environ) as roost:
        account = roost.app.of((await roost.app.owner()).id)
        with signals() as received:
            session = await _open(account, providers, wish)
            if wish.message is None:
                prompt = TerminalPrompt(config.data / HISTORY)
                with unechoed():
                    await _talk(Room(account, providers, session), prompt, received)
                return 0
            notes = terminal.err()
            found = await account.session(session)
            if is_tiny(providers.resolve(model_of(found, providers))):
                notes.print(TINY, style="dim")
            return await say(account, session, wish.message, received, Ends(sys.stdout, notes))


async def _open(account: Account, providers: Providers, wish: Wish) -> SessionId:
    """The session that was asked for, or the last one, or a first."""
    current = await account.current(ROUTE)
    if wish.session is not None:
        current = (await account.session(SessionId(wish.session))).id
        await account.point(ROUTE, current)
    elif current is None or (wish.new and not is_blank(await account.session(current))):
        current = (await account.reset(ROUTE, origin="cli")).id
    if wish.model is not None:
        target, found = providers.resolve(wish.model), await account.session(current)
        if found.config is None or model_of(found, providers) != str(target):
            await account.choose(current, model=wish.model)
    return current


async def _talk(room: Room, prompt: Prompt, received: Signals) -> None:
    """From session to session, until there is enough."""
    console = page_console()
    page = Page(console)
    await greet(room.account, room.providers, room.session, page)
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
        await introduce(room.account, room.providers, room.session, page)
