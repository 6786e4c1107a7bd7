"""What is wrong with a command line, in words of the person who typed it."""

import difflib
from collections.abc import Collection
from typing import Literal, get_args, get_origin

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

_KINDS: dict[object, str] = {int: "a whole number", float: "a number"}


def explain(error: CycloptsError, commands: Collection[str]) -> str:
    """One sentence or two. `commands` are those that `roost` has."""
    if isinstance(error, UnusedCliTokensError | UnknownCommandError) and error.unused_tokens:
        word = error.unused_tokens[0]
        if word.startswith("-") or (not error.command_chain and word in commands):
            command = _command(error) if error.command_chain else f"roost {word}"
            return f"Options go after the whole command. `{command} --help` shows what there is."
    return f"{_what(error, commands)} `{_command(error)} --help` shows what there is."


def _what(error: CycloptsError, commands: Collection[str]) -> str:
    match error:
        case UnknownCommandError(unused_tokens=[word, *_]):
            return _no_command(error, word, [] if error.app is None else [*error.app])
        case UnusedCliTokensError(unused_tokens=[word, *_]) if error.command_chain:
            return f"{word!r} is one word too many."
        case UnusedCliTokensError(unused_tokens=[word, *_]):
            return _no_command(error, word, commands)
        case UnknownOptionError():
            known = [name for each in error.argument_collection for name in each.names]
            word = (error.token.keyword or error.token.value).partition("=")[0]
            close = difflib.get_close_matches(word, known, n=1)
            meant = f" Did you mean {close[0]}?" if close else ""
            return f"There is no option {word}.{meant}"
        case MissingArgumentError():
            word = error.keyword or _name(error)
            return f"{word} needs a value." if word.startswith("-") else f"{word} is missing."
        case CoercionError():
            return _misfit(error)
        case RepeatArgumentError():
            return f"{error.token.keyword} stands there twice. Give it once."
        case _:
            return "This can't be made sense of."


def _no_command(error: CycloptsError, word: str, known: Collection[str]) -> str:
    above = _command(error)
    close = difflib.get_close_matches(word, [each for each in known if each[0] != "-"], n=1)
    meant = f" Did you mean `{above} {close[0]}`?" if close else ""
    return f"There is no `{above} {word}`.{meant}"


def _misfit(error: CoercionError) -> str:
    """A value that is not of the kind that is asked for."""
    name = _name(error)
    if error.target_type is bool:
        return f"{name} takes no value."
    given = "" if error.token is None else f", not {error.token.value!r}"
    return f"{name} is {error.msg or _kind(error.target_type)}{given}."


def _kind(wanted: object) -> str:
    """In words; of what may be left out, what it is otherwise."""
    if get_origin(wanted) is Literal:
        *others, last = get_args(wanted)
        return f"{', '.join(others)} or {last}"
    inner = [_kind(each) for each in get_args(wanted) if each not in (type(None), ...)]
    return inner[0] if inner else _KINDS.get(wanted, "something else")


def _name(error: CycloptsError) -> str:
    """A flag as it was written, a word by its place."""
    if isinstance(error, CoercionError) and error.token is not None and error.token.keyword:
        return error.token.keyword
    if error.argument is None:
        return "A value"
    name = error.argument.name
    written = [each.keyword for each in error.argument.tokens if each.keyword]
    return written[0] if written else name if name.startswith("--") else name.upper()


def _command(error: CycloptsError) -> str:
    """The one that was meant, as far as it was understood."""
    return " ".join(["roost", *(error.command_chain or ())])
