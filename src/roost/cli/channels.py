"""`roost channels` and `roost pair`: messaging apps, and who may talk over them."""

import getpass
import sys
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console

from roost.cli.chat.words import one_line
from roost.cli.reach import Reached, work_on
from roost.cli.settings import Settings, flag
from roost.cli.started import as_started
from roost.cli.tables import minute, print_table
from roost.cli.user import person
from roost.core.config import ChannelSetup
from roost.core.errors import InvalidInput, NotFound
from roost.core.keys import Key
from roost.core.settings import (
    GroupsName,
    MembersName,
    ResetRule,
    ScopeName,
    SharingName,
    read_reset,
)
from roost.runtime.switchboard import Known
from roost.store.pairings import Pairing

_NO_FLAGS = Settings()
_BY = "cli"

channels = App(name="channels", help="Talk to Roost over messaging apps.")
pair = App(name="pair", help="See to who may talk over channels.")


@channels.command(name="list")
@channels.default
def list_channels(*, settings: Settings = _NO_FLAGS) -> None:
    """List channels, and how they are doing."""

    async def work(roost: Reached, out: Console) -> None:
        found = await roost.switchboard.all()
        if found:
            heads = ("Channel", "Kind", "State", "Known as", "To send", "Undelivered")
            print_table(out, heads, [_row(each) for each in found])
        else:
            out.print(
                as_started(
                    "There are no channels. Add one with `roost channels set telegram token`."
                )
            )

    work_on(settings, work)


@channels.command(name="set")
def set_channel(
    name: str,
    /,
    *options: Annotated[
        str, Parameter(help="token=… and the like; token alone asks for it, token= takes it out.")
    ],
    kind: Annotated[str | None, flag("KIND", "The platform, if that is not the name.")] = None,
    groups: Annotated[
        GroupsName | None, flag("WHEN", "In groups, listen when mentioned, to all, or to none.")
    ] = None,
    members: Annotated[
        MembersName | None, flag("WHO", "In groups, hear those who are paired, or all.")
    ] = None,
    sessions: Annotated[
        SharingName | None, flag("WHOSE", "In groups, one session for the group, or by user.")
    ] = None,
    reset: Annotated[str | None, flag("RULE", 'never, "idle 8h" or "daily 04:00".')] = None,
    settings: Settings = _NO_FLAGS,
) -> None:
    """Add a channel, or change one. What is left out stays."""
    given = dict([_option(each) for each in options])

    async def work(roost: Reached, out: Console) -> None:
        old = await _setup(roost, name)
        setup = ChannelSetup(
            kind=old.kind if kind is None else ScopeName(kind),
            groups=groups or old.groups,
            members=members or old.members,
            sessions=sessions or old.sessions,
            reset=old.reset if reset is None else _reset(reset),
            allow=old.allow,
            block=old.block,
            paused=old.paused,
        )
        known = await roost.switchboard.put(name, setup, given)
        out.print(as_started(f"{known.name} is set up. See how it is doing with `roost channels`."))

    work_on(settings, work, begins=True)


@channels.command
def remove(name: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Remove a channel, with its token."""

    async def work(roost: Reached, out: Console) -> None:
        await roost.switchboard.remove(name)
        out.print(f"{name} is removed.")

    work_on(settings, work)


@channels.command
def undelivered(
    *,
    retry: Annotated[bool, Parameter(help="Try to deliver all of them once more.")] = False,
    drop: Annotated[bool, Parameter(help="Let go of all of them.")] = False,
    settings: Settings = _NO_FLAGS,
) -> None:
    """List messages that a platform would not take."""
    if retry and drop:
        raise InvalidInput("--retry and --drop exclude one another. Give one of them.")

    async def work(roost: Reached, out: Console) -> None:
        found = await roost.contacts.undelivered()
        if not found:
            out.print("Nothing is undelivered.")
            return
        rows = [
            (minute(each.created_at), each.route, one_line(each.error), one_line(each.text)[:60])
            for each in found
        ]
        print_table(out, ("When", "Where", "Why", "What"), rows)
        for each in found:
            if retry:
                await roost.contacts.again(each.id)
            elif drop:
                await roost.contacts.drop(each.id)

    work_on(settings, work)


@pair.default
def approve(
    code: str,
    /,
    *,
    user: Annotated[str | None, flag("NAME", "Who they are; by default the owner.")] = None,
    settings: Settings = _NO_FLAGS,
) -> None:
    """Let in whoever was given this pairing code."""

    async def work(roost: Reached, out: Console) -> None:
        who = await person(roost.identities, user)
        paired = await roost.contacts.approve(code, who.id, by=_BY)
        said = f"{_name(paired)} can talk to Roost on {paired.channel} now, as {who.name}."
        out.print(one_line(said), markup=False)

    work_on(settings, work)


@pair.command(name="list")
def list_pairings(*, settings: Settings = _NO_FLAGS) -> None:
    """List who may talk, who is blocked, and whose code waits."""

    async def work(roost: Reached, out: Console) -> None:
        names = {each.id: each.name for each in await roost.identities.people.all()}
        rows = [
            (
                each.channel,
                each.sender,
                one_line(each.name or ""),
                each.state,
                "" if each.user is None else one_line(names.get(each.user, each.user)),
            )
            for each in await roost.contacts.pairings()
        ]
        if rows:
            print_table(out, ("Channel", "Sender", "Name", "State", "As"), rows)
        else:
            out.print(
                as_started(
                    "Nobody is paired. Who writes to a channel gets a code for `roost pair CODE`."
                )
            )

    work_on(settings, work)


@pair.command
def block(channel: str, sender: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Answer a sender, or a group, no more."""

    async def work(roost: Reached, out: Console) -> None:
        await roost.contacts.block(channel, sender, by=_BY)
        out.print(f"{sender} on {channel} is blocked.", markup=False)

    work_on(settings, work)


@pair.command
def forget(channel: str, sender: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Make a sender, or a group, unknown again."""

    async def work(roost: Reached, out: Console) -> None:
        await roost.contacts.forget(channel, sender)
        out.print(f"{sender} on {channel} is unknown again.", markup=False)

    work_on(settings, work)


async def _setup(roost: Reached, name: str) -> ChannelSetup:
    try:
        return (await roost.switchboard.get(name)).setup
    except NotFound:
        return ChannelSetup()


def _option(text: str) -> tuple[str, Key | None]:
    """A secret that is not given is asked for: what stands on a command line is seen by others."""
    name, equals, value = text.partition("=")
    if not equals:
        value = getpass.getpass(f"{name}: ") if sys.stdin.isatty() else sys.stdin.readline()
    elif not value:
        return name.strip().lower(), None
    try:
        return name.strip().lower(), Key(value)
    except ValueError:
        raise InvalidInput(f"{name} is one line of printable ASCII characters.") from None


def _reset(text: str) -> ResetRule:
    try:
        return read_reset(text)
    except ValueError:
        raise InvalidInput('A reset is "never", "idle 8h" or "daily 04:00".') from None


def _row(known: Known) -> tuple[str, ...]:
    status = known.status
    state = status.condition if status.detail is None else f"{status.condition}: {status.detail}"
    return (
        known.name,
        known.kind,
        one_line(state),
        one_line(status.bot or ""),
        str(known.waiting),
        str(known.undelivered),
    )


def _name(pairing: Pairing) -> str:
    return pairing.name or pairing.sender
