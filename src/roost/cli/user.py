"""`roost user`: who may use this Roost."""

import getpass
import sys
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console

from roost.cli.chat.words import one_line
from roost.cli.ports import Identities
from roost.cli.reach import Reached, work_on
from roost.cli.settings import Settings, flag
from roost.cli.tables import day, print_table
from roost.core.config import Config
from roost.core.errors import InvalidInput
from roost.core.keys import Key
from roost.core.users import Caps, Profile, User, UserRole
from roost.runtime.identities import DAY

_NO_FLAGS = Settings()
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 (what is shown instead of it)

user = App(name="user", help="See to who may use Roost.")


async def person(identities: Identities, name: str | None) -> User:
    """The user by that name, or the owner."""
    people = identities.people
    return await (people.owner() if name is None else people.named(name))


def sign_in_url(base: str, secret: Key) -> str:
    """After the #, which browsers send to nobody: it stands in no server's log."""
    return f"{base}/sign-in#{secret.reveal()}"


def base_url(config: Config) -> str:
    host, port = config.server.host, config.server.port
    shown = _EVERYWHERE.get(host, f"[{host}]" if ":" in host else host)
    scheme = "http" if config.server.tls_cert is None else "https"
    return f"{scheme}://{shown}:{port}"


@user.command(name="list")
def list_users(*, settings: Settings = _NO_FLAGS) -> None:
    """List everybody who may use Roost."""

    async def work(roost: Reached, out: Console) -> None:
        rows = [
            (one_line(each.name), each.role, _signs_in(each), day(each.created_at))
            for each in await roost.identities.people.all()
        ]
        print_table(out, ("Name", "Role", "Signs in by", "Since"), rows)

    work_on(settings, work)


@user.command
def add(
    name: str,
    /,
    *,
    admin: Annotated[
        bool, Parameter(help="They may see to users, providers and settings too.")
    ] = False,
    settings: Settings = _NO_FLAGS,
) -> None:
    """Add a user, and print a link for them to sign in with."""

    async def work(roost: Reached, out: Console) -> None:
        made = await roost.identities.people.create(name, role="admin" if admin else "member")
        if out.is_terminal:
            out.print(f"Added {made.name}. To sign in, once and within a day:")
        await _print_link(roost, made, out)

    work_on(settings, work, begins=True)


@user.command
def link(name: str | None = None, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Print a link that signs in one browser, once, within a day; by default the owner's."""

    async def work(roost: Reached, out: Console) -> None:
        await _print_link(roost, await person(roost.identities, name), out)

    work_on(settings, work, begins=True)


@user.command
def password(name: str | None = None, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Set a user's password, by default the owner's; it is asked for, or read from the input."""
    given = _read_password()

    async def work(roost: Reached, out: Console) -> None:
        found = await person(roost.identities, name)
        await roost.identities.people.set_password(found.id, given)
        out.print(f"The password of {found.name} is set. Whoever was signed in is not any more.")

    work_on(settings, work, begins=True)


@user.command
def role(name: str, role: UserRole, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Make a user an admin, or a member."""

    async def work(roost: Reached, out: Console) -> None:
        found = await person(roost.identities, name)
        await roost.identities.people.set_role(found.id, role)
        out.print(f"{found.name} is {'an admin' if role == 'admin' else 'a member'} now.")

    work_on(settings, work)


@user.command
def rename(name: str, new: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Give a user another name."""

    async def work(roost: Reached, out: Console) -> None:
        found = await person(roost.identities, name)
        renamed = await roost.identities.people.change(found.id, Profile(name=new))
        out.print(f"{found.name} is called {renamed.name} now.")

    work_on(settings, work)


@user.command
def cap(
    name: str,
    /,
    *,
    day_tokens: Annotated[int | None, flag("NUMBER", "Tokens, read and written, a day.")] = None,
    day_cost: Annotated[float | None, flag("DOLLARS", "What a day may cost.")] = None,
    settings: Settings = _NO_FLAGS,
) -> None:
    """Say how much a user may take in a day (UTC); what is left out has no cap of theirs."""

    async def work(roost: Reached, out: Console) -> None:
        found = await person(roost.identities, name)
        caps = Caps(day_tokens=day_tokens, day_cost=day_cost)
        await roost.identities.people.set_caps(found.id, caps)
        tokens = "any number of" if day_tokens is None else f"{day_tokens:,}"
        cost = "" if day_cost is None else f" and ${day_cost:g}"
        out.print(f"{found.name} may take {tokens} tokens{cost} a day.")

    work_on(settings, work)


@user.command
def disable(name: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Shut a user out at once. What is theirs stays."""

    async def work(roost: Reached, out: Console) -> None:
        found = await person(roost.identities, name)
        await roost.identities.people.disable(found.id)
        out.print(f"{found.name} is shut out: no sign-in, link or token of theirs works any more.")

    work_on(settings, work)


@user.command
def enable(name: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Let a user in again, by their password or a new link."""

    async def work(roost: Reached, out: Console) -> None:
        found = await person(roost.identities, name)
        await roost.identities.people.enable(found.id)
        out.print(f"{found.name} may sign in again.")

    work_on(settings, work)


@user.command
def remove(name: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Remove a user for good, with their sessions, files and memory."""

    async def work(roost: Reached, out: Console) -> None:
        found = await person(roost.identities, name)
        await roost.identities.people.remove(found.id)
        out.print(f"{found.name} is gone, and all that was theirs.")

    work_on(settings, work)


async def _print_link(roost: Reached, who: User, out: Console) -> None:
    secret = await roost.identities.link(who.id, seconds=DAY)
    place = roost.place
    base = base_url(roost.config) if place is None else str(place.url.origin())
    out.print(sign_in_url(base, secret))


def _read_password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass.getpass("New password: ")
    if getpass.getpass("Once more: ") != first:
        raise InvalidInput("They are not the same. Nothing was changed.")
    return first


def _signs_in(who: User) -> str:
    if who.disabled_at is not None:
        return "disabled"
    return "password" if who.has_password else "link"
