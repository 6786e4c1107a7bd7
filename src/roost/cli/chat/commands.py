"""What can be typed after a slash."""

import difflib
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from roost.cli.chat import words
from roost.cli.ports import Account
from roost.core.amounts import amount
from roost.core.errors import InvalidInput
from roost.core.ids import SESSION_ID, SessionId
from roost.core.messages import plain_text
from roost.core.sessions import Session
from roost.core.turns import Turn

ROUTE = "cli"
LISTED = 15


class Room(NamedTuple):
    """Where a command is given."""

    account: Account
    session: SessionId


class Outcome(NamedTuple):
    """What a command comes to: something to say, a turn that goes on, another session, the end."""

    say: str = ""
    turn: Turn | None = None
    session: SessionId | None = None
    leave: bool = False


class Command(NamedTuple):
    name: str
    argument: str
    help: str
    run: Callable[[Room, str], Awaitable[Outcome]]

    def __str__(self) -> str:
        return f"/{self.name} {self.argument}".rstrip()


def is_command(line: str) -> bool:
    """A path or a remark may begin with a slash too: a command is one plain word after it."""
    return (
        re.fullmatch(r"/[A-Za-z]*", line.split(maxsplit=1)[0] if line.split() else "") is not None
    )


async def run(room: Room, line: str) -> Outcome:
    """Do what a line that is a command says."""
    name, _, argument = line.strip().removeprefix("/").partition(" ")
    command = COMMANDS.get(name.lower()) or COMMANDS.get(_ALIASES.get(name.lower(), ""))
    if command is None:
        return Outcome(_unknown(name))
    return await command.run(room, argument.strip())


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name.lower(), COMMANDS, n=1, cutoff=0.5)
    hint = f" Did you mean /{close[0]}?" if close else ""
    names = ", ".join([f"/{each}" for each in COMMANDS])
    return f"There is no /{words.one_line(name)}.{hint} There are {names}."


# Sessions.


async def _new(room: Room, _: str) -> Outcome:
    found = await room.account.session(room.session)
    if is_blank(found):
        return Outcome("This session is new: nothing has been said in it.")
    opened = await room.account.reset(ROUTE, origin="cli")
    return Outcome(session=opened.id)


def is_blank(session: Session) -> bool:
    return session.counters.turns == 0 and session.queued == 0 and session.state == "idle"


async def _sessions(room: Room, _: str) -> Outcome:
    sessions = await room.account.sessions(limit=LISTED)
    names = [await name_of(room.account, each) for each in sessions]
    width = max([len(name) for name in names], default=0)
    lines = [
        f"{number:>3}  {name.ljust(width)}  {_state(each, room.session)}"
        for number, (name, each) in enumerate(zip(names, sessions, strict=True), 1)
    ]
    return Outcome("\n".join([*lines, "/resume NUMBER goes on with one."]))


def _state(session: Session, current: SessionId) -> str:
    state = {"idle": "", "queued": "about to run", "running": "running", "waiting": "asks you"}
    marks = [words.ago(session.active_at, time.time_ns() // 1_000_000), state[session.state]]
    if session.id == current:
        marks.append("this one")
    return ", ".join([mark for mark in marks if mark])


async def name_of(account: Account, session: Session, longest: int = 48) -> str:
    """Its title, or the first words that were said in it."""
    name = words.one_line(session.title or "")
    if not name and session.counters.turns:
        first = (await account.turns(session.id))[:1]
        name = words.one_line(plain_text(first[0].parts)) if first else ""
    name = name or "new session"
    return name if len(name) <= longest else name[: longest - 1] + "…"


async def _resume(room: Room, argument: str) -> Outcome:
    if not argument:
        return await _sessions(room, "")
    session = await _named(room.account, argument)
    if session == room.session:
        return Outcome("You are in this session.")
    await room.account.point(ROUTE, session)
    return Outcome(session=session)


async def _named(account: Account, argument: str) -> SessionId:
    if re.match(SESSION_ID, argument):
        return (await account.session(SessionId(argument))).id
    sessions = await account.sessions(limit=LISTED)
    if argument.isdecimal() and 1 <= int(argument) <= len(sessions):
        return sessions[int(argument) - 1].id
    raise InvalidInput(f"There is no session {words.one_line(argument)}. /sessions lists them.")


# Turns.


async def _undo(room: Room, _: str) -> Outcome:
    turn = await room.account.history.undo(room.session)
    return Outcome(f"Taken back: {_words(turn)} /restore brings it back.")


async def _restore(room: Room, _: str) -> Outcome:
    await room.account.history.restore(room.session)
    return Outcome("It is back.")


async def _retry(room: Room, _: str) -> Outcome:
    return Outcome(turn=await room.account.history.retry(room.session))


async def _continue(room: Room, _: str) -> Outcome:
    return Outcome(turn=await room.account.proceed(room.session))


async def _stop(room: Room, _: str) -> Outcome:
    stopped = await room.account.cancel(room.session)
    return Outcome("" if stopped else "Nothing is under way.")


def _words(turn: Turn) -> str:
    text = words.one_line(plain_text(turn.parts))
    return f"“{text if len(text) <= 60 else text[:59] + '…'}”."


# The rest.


async def _model(room: Room, argument: str) -> Outcome:
    before = await model_of(room.account, await room.account.session(room.session))
    if not argument:
        return Outcome(f"{before}. /model NAME chooses another.")
    wanted = (await room.account.answerer(argument)).name
    if wanted == before:
        return Outcome(f"{wanted} answers already.")
    await room.account.choose(room.session, model=argument)
    return Outcome(f"{wanted} answers from now on.")


async def model_of(account: Account, session: Session) -> str:
    """Who answers in a session: its own choice, or the default."""
    if (config := session.config) is not None:
        return f"{config.provider}/{config.model}"
    return (await account.answerer()).name


async def _compact(room: Room, argument: str) -> Outcome:
    made = await room.account.history.compact(room.session, focus=argument or None)
    if made is None:
        return Outcome("There is nothing to gain: the conversation is short.")
    left_out = amount(len(made.replaced), "message")
    sizes = f"{made.tokens_before} tokens before, {made.tokens_after} after"
    how = f"summed up by {made.model}" if made.model else "cut down"
    return Outcome(f"{left_out} {how}: {sizes}. /restore brings them back.")


async def _usage(room: Room, _: str) -> Outcome:
    counters = (await room.account.session(room.session)).counters
    if not counters.turns:
        return Outcome("Nothing has been used yet.")
    return Outcome(f"{amount(counters.turns, 'turn')}: {words.usage(counters)}")


async def _help(_: Room, __: str) -> Outcome:
    width = max([len(str(command)) for command in COMMANDS.values()])
    lines = [f"{str(each).ljust(width)}  {each.help}" for each in COMMANDS.values()]
    keys = [
        ("Enter", "send"),
        ("Alt+Enter", "begin a new line; Esc, then Enter does the same"),
        ("Ctrl-C", "stop the answer; once more, leave"),
        ("Ctrl-D", "leave"),
    ]
    return Outcome("\n".join([*lines, "", *[f"{key.ljust(width)}  {what}" for key, what in keys]]))


async def _quit(_: Room, __: str) -> Outcome:
    return Outcome(leave=True)


_TABLE = (
    Command("new", "", "end this session and open another", _new),
    Command("sessions", "", "list the latest sessions", _sessions),
    Command("resume", "[NUMBER|ID]", "go on with another session", _resume),
    Command("undo", "", "take back your last message and its answer", _undo),
    Command("restore", "", "take back the undo, or the last compaction", _restore),
    Command("retry", "", "ask the last message again", _retry),
    Command("continue", "", "go on with an answer that stopped short", _continue),
    Command("model", "[NAME]", "show or choose who answers", _model),
    Command("compact", "[FOCUS]", "make room in a long conversation", _compact),
    Command("usage", "", "what this session has used", _usage),
    Command("stop", "", "stop what is under way", _stop),
    Command("help", "", "show this", _help),
    Command("quit", "", "leave; the session stays", _quit),
)
COMMANDS: Mapping[str, Command] = {command.name: command for command in _TABLE}
_ALIASES = {"reset": "new", "exit": "quit", "q": "quit", "h": "help", "": "help"}
