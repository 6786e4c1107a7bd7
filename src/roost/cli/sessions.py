"""`roost sessions`: the owner's sessions, to look at, to put in order, to take along."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from rich.console import Console

from roost.cli import terminal
from roost.cli.ask import harmless
from roost.cli.chat.words import one_line, title, usage
from roost.cli.ports import Account
from roost.cli.reach import Reached, work_on
from roost.cli.settings import Settings, count, flag
from roost.cli.tables import minute, print_table
from roost.core.amounts import amount
from roost.core.errors import InvalidInput
from roost.core.ids import SessionId
from roost.core.sessions import Session
from roost.store.sessions import ListCursor, SessionFilter, SessionPatch

_NO_FLAGS = Settings()
_PAGE = 200
_LISTED = 50
_FOUND = 20
_MOST_FOUND = 100
_LONGEST_TITLE = 500
_STATES = {"idle": "", "queued": "about to run", "running": "running", "waiting": "asks you"}

sessions = App(name="sessions", help="Look at sessions, put them in order, take them along.")


@sessions.command(name="list")
def list_sessions(
    *words: Annotated[str, Parameter(help="Only those with this in their title.")],
    project: Annotated[str | None, flag("NAME", "Only those of this project.")] = None,
    archived: Annotated[
        bool, Parameter(help="Those that were put away, instead of the others.")
    ] = False,
    limit: Annotated[int, count("How many at most.")] = _LISTED,
    settings: Settings = _NO_FLAGS,
) -> None:
    """List sessions, the latest activity first."""
    where = SessionFilter(archived=archived, project=project, title=" ".join(words) or None)

    async def work(roost: Reached, out: Console) -> None:
        found = await listed(roost.account, where, limit)
        if found:
            heads = ("Session", "Active", "State", "Turns", "Title")
            print_table(out, heads, [_row(each) for each in found])
        else:
            asked = words or project or archived
            out.print("No session is like that." if asked else "There are no sessions yet.")

    work_on(settings, work)


async def listed(
    account: Account, where: SessionFilter, limit: int, *, page: int = _PAGE
) -> list[Session]:
    """So many, page by page."""
    found: list[Session] = []
    while limit > len(found):
        wanted = min(page, limit - len(found))
        after = ListCursor(found[-1].active_at, found[-1].id) if found else None
        more = await account.sessions(where, after=after, limit=wanted)
        found += more
        if len(more) < wanted:
            break
    return found


def _row(session: Session) -> tuple[str, ...]:
    state = "ended" if session.ended_at is not None else _STATES[session.state]
    turns = amount(session.counters.turns, "turn")
    return session.id, minute(session.active_at), state or "open", turns, title(session)


@sessions.command
def show(id: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Show a session, and what was said in it."""

    async def work(roost: Reached, out: Console) -> None:
        session = await roost.account.session(SessionId(id))
        for name, value in _details(session):
            out.print(f"{name:<9}{one_line(value)}")
        if session.counters.messages:
            out.print()
            out.print(harmless(await roost.account.files.markdown(session.id)).rstrip())

    work_on(settings, work)


def _details(session: Session) -> Sequence[tuple[str, str]]:
    config = session.config
    ended = "" if session.ended_at is None else minute(session.ended_at)
    details = [
        ("Session", session.id),
        ("Title", title(session)),
        ("Project", session.project or ""),
        ("State", "" if ended else _STATES[session.state] or "open"),
        ("Model", "" if config is None else f"{config.provider}/{config.model}"),
        ("Opened", f"{minute(session.created_at)}, from {session.origin}"),
        ("Active", minute(session.active_at)),
        ("Ended", ended),
        ("Used", f"{amount(session.counters.turns, 'turn')}: {usage(session.counters)}"),
    ]
    return [(name, value) for name, value in details if value]


@sessions.command
def search(
    *words: Annotated[str, Parameter(help="Words that were said. All must be found.")],
    limit: Annotated[int, count("How many at most.")] = _FOUND,
    settings: Settings = _NO_FLAGS,
) -> None:
    """Search what was said in any session, the newest first.

    'her*' finds words that begin so, '"grey heron"' these words in this order.
    Of Chinese, Japanese and Korean any part is found, from two characters on.
    """
    asked = " ".join(words)
    if not asked.strip():
        raise InvalidInput("Say what to look for: `roost sessions search WORDS`")

    async def work(roost: Reached, out: Console) -> None:
        hits = await roost.account.search(asked, limit=min(limit, _MOST_FOUND))
        rows = [
            (each.session, minute(each.created_at), each.role, one_line(each.snippet.text))
            for each in hits
        ]
        if rows:
            print_table(out, ("Session", "Said", "By", "What"), rows)
        else:
            out.print("Nothing that was said matches.")

    work_on(settings, work)


@sessions.command
def rename(id: str, title: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Give a session a title of your own."""

    async def work(roost: Reached, out: Console) -> None:
        renamed = await roost.account.update(SessionId(id), SessionPatch(title=title.strip()))
        out.print(f"{renamed.id} is called {one_line(renamed.title or '')} now.")

    if not 1 <= len(title.strip()) <= _LONGEST_TITLE:
        raise InvalidInput("A title is a text of 1 to 500 characters.")
    work_on(settings, work)


@sessions.command
def end(id: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Close a session: what runs in it is stopped. It can still be read."""

    async def work(roost: Reached, out: Console) -> None:
        session = await roost.account.session(SessionId(id))
        await roost.account.end(session.id)
        out.print(f"Ended {session.id}, {title(session)}.")

    work_on(settings, work)


@sessions.command
def delete(*ids: str, settings: Settings = _NO_FLAGS) -> None:
    """Delete sessions for good, with their files; memory forgets them too."""
    if not ids:
        raise InvalidInput("Name what is to be deleted: `roost sessions delete ID`")

    async def work(roost: Reached, out: Console) -> None:
        """All of them are looked up first: a slip of the pen in the last deletes none."""
        found = [await roost.account.session(SessionId(id)) for id in dict.fromkeys(ids)]
        for session in found:
            await roost.account.delete(session.id)
            out.print(f"Deleted {session.id}, {title(session)}.")

    work_on(settings, work)


@sessions.command
def export(
    id: str,
    file: Annotated[
        Path | None, Parameter(help="A file to make; by default it goes to the output.")
    ] = None,
    /,
    *,
    format: Annotated[
        Literal["json", "markdown"], flag("FORMAT", "json, which can be imported, or markdown.")
    ] = "json",
    settings: Settings = _NO_FLAGS,
) -> None:
    """Write a session out: all of it as JSON, or what was said as Markdown."""

    async def work(roost: Reached, out: Console) -> None:
        files, session = roost.account.files, SessionId(id)
        if format == "markdown":
            data = (await files.markdown(session)).encode()
        else:
            data = await files.export(session)
        if file is None:
            text = data.decode()
            with terminal.while_read():
                sys.stdout.write(harmless(text) if sys.stdout.isatty() else text)
                sys.stdout.write("" if text.endswith("\n") else "\n")
            return
        _write_new(file, data)
        out.print(f"Wrote {session} to {file}.")

    if file is not None:
        _refuse_if_taken(file)
    work_on(settings, work)


def _refuse_if_taken(file: Path) -> None:
    try:
        taken = file.exists()
    except OSError as error:
        raise _refused(file, "written", error) from error
    if taken:
        raise InvalidInput(f"{file} exists. Choose a new name.")


def _write_new(file: Path, data: bytes) -> None:
    try:
        with file.open("xb") as opened:
            file.chmod(0o600)
            opened.write(data)
    except OSError as error:
        raise _refused(file, "written", error) from error


def _refused(file: Path, what: Literal["read", "written"], error: OSError) -> InvalidInput:
    reason = (error.strerror or str(error)).lower()
    return InvalidInput(f"{file} can't be {what}: {reason}.")


@sessions.command(name="import")
def import_sessions(*files: Path, settings: Settings = _NO_FLAGS) -> None:
    """Take in sessions that were exported here or elsewhere."""
    if not files:
        raise InvalidInput("Name what is to be imported: `roost sessions import FILE`")
    documents = [(file, _read(file)) for file in files]

    async def work(roost: Reached, out: Console) -> None:
        for file, document in documents:
            try:
                loaded = await roost.account.files.load(document)
            except InvalidInput as error:
                raise InvalidInput(f"{file}: {error}") from error
            known = f"{loaded.session.id}, {title(loaded.session)}"
            took = f"Imported {known}." if loaded.created else f"{known} was here already."
            out.print(took if len(documents) == 1 else f"{file}: {took}")

    work_on(settings, work, begins=True)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise _refused(file, "read", error) from error
