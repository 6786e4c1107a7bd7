"""`roost token`: by what programs use this Roost."""

from typing import Annotated

from cyclopts import App
from rich.console import Console

from roost.cli.chat.words import one_line
from roost.cli.reach import Reached, work_on
from roost.cli.settings import Settings, flag
from roost.cli.started import as_started
from roost.cli.tables import day, print_table
from roost.cli.user import person
from roost.core.identities import ApiToken, Scope, token_id
from roost.core.users import User
from roost.runtime.identities import DAY

_NO_FLAGS = Settings()

token = App(name="token", help="Let programs use Roost, and stop them.")


@token.command(name="list")
def list_tokens(
    *,
    user: Annotated[str | None, flag("NAME", "Whose; by default everybody's.")] = None,
    settings: Settings = _NO_FLAGS,
) -> None:
    """List the tokens that are of use."""

    async def work(roost: Reached, out: Console) -> None:
        identities = roost.identities
        whose = [await person(identities, user)] if user else await identities.people.all()
        found = [(each, made) for each in whose for made in await identities.tokens(each.id)]
        heads = ("Token", "Name", "User", "May", "Used", "Until")
        if found:
            print_table(out, heads, [_row(each, made) for each, made in found])
        else:
            out.print(as_started("There are no tokens. Make one with `roost token create NAME`."))

    work_on(settings, work)


@token.command
def create(
    name: str,
    /,
    *,
    user: Annotated[str | None, flag("NAME", "For whom it acts; by default the owner.")] = None,
    scope: Annotated[
        tuple[Scope, ...],
        flag("SCOPE", "read, chat (includes read), admin or metrics; may be given more than once."),
    ] = ("chat",),
    days: Annotated[float | None, flag("NUMBER", "For how long; by default for ever.")] = None,
    settings: Settings = _NO_FLAGS,
) -> None:
    """Make a token for a program, named after it. It is shown this once."""

    async def work(roost: Reached, out: Console) -> None:
        identities = roost.identities
        whose = await person(identities, user)
        seconds = None if days is None else days * DAY
        made = await identities.create_token(whose.id, name=name, scopes=scope, seconds=seconds)
        if out.is_terminal:
            out.print("Copy it now; it can't be shown again. Whoever has it acts for you.")
        out.print(made.secret.reveal())

    work_on(settings, work, begins=True)


@token.command
def revoke(id: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Make a token useless, by its id, or by what was found of it somewhere."""

    async def work(roost: Reached, out: Console) -> None:
        identities = roost.identities
        found = token_id(id)
        await identities.revoke_token(await identities.owner_of_token(found), found)
        out.print(f"{found} is of no use any more.")

    work_on(settings, work)


def _row(whose: User, made: ApiToken) -> tuple[str, ...]:
    return (
        made.id,
        one_line(made.name),
        one_line(whose.name),
        " ".join(sorted(made.scopes)),
        "never" if made.used_at is None else day(made.used_at),
        "for ever" if made.expires_at is None else day(made.expires_at),
    )
