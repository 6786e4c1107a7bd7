"""The commands, and what a person sees when one of them fails."""

import errno
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import structlog
from cyclopts import App, CycloptsError, Parameter

from roost import __version__
from roost.cli import terminal
from roost.cli.ask import ask as ask_model
from roost.cli.backup import back_up
from roost.cli.channels import channels, pair
from roost.cli.configured import configure, log_at
from roost.cli.doctor import diagnose, mend
from roost.cli.memory import (
    dropping,
    editing,
    forgetting,
    listing,
    reporting,
    retrying,
    showing,
)
from roost.cli.migrate import migrate_store
from roost.cli.mistakes import explain
from roost.cli.models import list_models
from roost.cli.reach import work_on
from roost.cli.run import run_server
from roost.cli.schedule import schedule
from roost.cli.sessions import sessions
from roost.cli.settings import Settings, flag, read_keys
from roost.cli.started import as_started
from roost.cli.token import token
from roost.cli.usage import Days, used_in
from roost.cli.user import user
from roost.core.errors import ConfigError, InvalidInput, RoostError
from roost.core.messages import check_text
from roost.testing.faults import arm_from_environment

log = structlog.stdlib.get_logger("roost.cli")


def _check(_: object, value: object) -> None:
    """A shell hands on whatever bytes it is given; only a file may be called so."""
    if isinstance(value, str):
        check_text(value, "command line")


app = App(
    name="roost",
    default_parameter=Parameter(negative=(), validator=_check),
    help="A self-hosted agent server whose sessions never lose a turn.",
    help_format="plaintext",
    version=f"Roost {__version__}",
)
_NO_FLAGS = Settings()


@app.default
@app.command
def run(
    *,
    host: Annotated[str | None, flag("HOST", "The address to listen on.")] = None,
    port: Annotated[str | None, flag("PORT", "The port to listen on; 0 takes a free one.")] = None,
    settings: Settings = _NO_FLAGS,
) -> None:
    """Start Roost, as `roost` alone does too."""
    config = configure(settings, host=host, port=port)
    run_server(config, read_keys(settings, os.environ), os.environ, terminal.out())


@app.command
def doctor(
    *,
    repair: Annotated[
        bool, Parameter(help="Mend a damaged store; a copy of it is made first.")
    ] = False,
    settings: Settings = _NO_FLAGS,
) -> int:
    """Check everything that Roost needs, and say what to do about what is wrong."""
    config = configure(settings)
    if repair:
        mend(config, terminal.out())
    return diagnose(config, read_keys(settings, os.environ), os.environ, terminal.out())


@app.command
def backup(
    destination: Annotated[
        Path | None, Parameter(help="A folder to make; by default one here, named after the time.")
    ] = None,
    /,
    *,
    settings: Settings = _NO_FLAGS,
) -> None:
    """Copy everything that Roost keeps, also while it runs."""
    back_up(configure(settings), destination, terminal.out())


@app.command
def migrate(
    *,
    verify: Annotated[bool, Parameter(help="Only compare with what was moved earlier.")] = False,
    settings: Settings = _NO_FLAGS,
) -> int:
    """Move everything from the data folder to the PostgreSQL database that ROOST_STORE names."""
    config = configure(settings, quiet=True)
    return migrate_store(config, os.environ, terminal.out(), only_verify=verify)


@app.command
def ask(
    question: Annotated[
        str | None, Parameter(help="What to ask; by default it is read from the input.")
    ] = None,
    /,
    *,
    model: Annotated[str | None, flag("NAME", "Whom to ask, as provider/model.")] = None,
    settings: Settings = _NO_FLAGS,
) -> None:
    """Ask a model one question."""
    config = configure(settings)
    ask_model(config, read_keys(settings, os.environ), os.environ, question, model)


@app.command
def chat(
    message: Annotated[
        str | None,
        Parameter(help="Send this and print the answer; so does a message on the input."),
    ] = None,
    /,
    *,
    model: Annotated[str | None, flag("NAME", "Who is to answer, as provider/model.")] = None,
    new: Annotated[bool, Parameter(help="Open a new session instead of the last one.")] = False,
    session: Annotated[str | None, flag("ID", "Go on with this session.")] = None,
    settings: Settings = _NO_FLAGS,
) -> int:
    """Talk, in the session of the last time."""
    # Here, because prompt_toolkit takes a sixth of the time that `roost` needs to start.
    from roost.cli.chat.start import Wish
    from roost.cli.chat.start import chat as start_chat

    # What a person has to know is said in the conversation; the log is not to run through it.
    config = configure(settings, quiet=True)
    wish = Wish(message, model, new, session)
    return start_chat(config, read_keys(settings, os.environ), os.environ, wish)


@app.command
def models(
    word: Annotated[str | None, Parameter(help="Only those whose name has this in it.")] = None,
    /,
    *,
    settings: Settings = _NO_FLAGS,
) -> None:
    """List the models that can be asked now."""
    config = configure(settings)
    list_models(config, read_keys(settings, os.environ), os.environ, word, terminal.out())


memory = App(name="memory", help="Look at what Roost remembers; correct it, or take it back.")
app.command(memory)


@memory.command(name="list")
def memory_list(
    *words: Annotated[str, Parameter(help="Only what has one of these words.")],
    about: Annotated[str | None, flag("NAME", "Only what is about this person or thing.")] = None,
    settings: Settings = _NO_FLAGS,
) -> None:
    """List what is remembered, the newest first."""
    work_on(settings, listing(" ".join(words), about))


@memory.command(name="show")
def memory_show(id: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Show one memory: where it comes from, how far it is trusted."""
    work_on(settings, showing(id))


@memory.command(name="edit")
def memory_edit(id: str, text: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Put a memory in your own words."""
    work_on(settings, editing(id, text))


@memory.command(name="forget")
def memory_forget(*ids: str, settings: Settings = _NO_FLAGS) -> None:
    """Take memories back, for good."""
    work_on(settings, forgetting(ids))


@memory.command(name="status")
def memory_status(*, settings: Settings = _NO_FLAGS) -> None:
    """Say what waits to be remembered, what fails, and what can't all be true."""
    work_on(settings, reporting())


@memory.command(name="retry")
def memory_retry(*, settings: Settings = _NO_FLAGS) -> None:
    """Try again what could not be remembered, also what failed too often."""
    work_on(settings, retrying())


@memory.command(name="drop")
def memory_drop(*, settings: Settings = _NO_FLAGS) -> None:
    """Let go of what failed too often: it will not be remembered. The sessions stay."""
    work_on(settings, dropping())


app.command(sessions)
app.command(schedule)
app.command(channels)
app.command(pair)
app.command(user)
app.command(token)


@app.command
def usage(*, days: Days = 30, settings: Settings = _NO_FLAGS) -> None:
    """Say what was used in the last days, by day and model, and what it cost."""
    work_on(settings, used_in(days))


@app.command
def version() -> None:
    """Say which Roost this is."""
    terminal.out().print(f"Roost {__version__}")


def main() -> NoReturn:
    sys.exit(invoke(sys.argv[1:]))


def invoke(arguments: list[str]) -> int:
    """Run one command line; the exit code is 2 if it or the configuration can't be followed."""
    terminal.prepare_streams()
    log_at("info")
    try:
        arm_from_environment(os.environ)
        return _call(arguments)
    except CycloptsError as error:
        return _fail(explain(error, [*app]), 2)
    except (ConfigError, InvalidInput) as error:
        return _fail(str(error), 2)
    except RoostError as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            log.debug("a disk is full", exc_info=True)
            terminal.let_go(sys.stdout)
            return _fail("A disk is full: that of the output, or of the data. Free some of it.", 1)
        log.exception("unexpected error")
        return _fail("Roost stopped at an error it did not expect. The log above says more.", 1)


def _call(arguments: list[str]) -> int:
    result: object = app(
        arguments, exit_on_error=False, print_error=False, result_action="return_value"
    )
    return result if isinstance(result, int) else 0


def _fail(message: str, code: int) -> int:
    terminal.err().print(as_started(message))
    return code
