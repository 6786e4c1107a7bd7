"""Where a person types: with history, several lines, and slash commands that complete."""

import asyncio
import os
import termios
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style

from roost.cli.chat.commands import COMMANDS


class Stopped(Exception):
    """Ctrl-C, in place of an answer to a question."""


class Prompt(Protocol):
    """Either raises EOFError for whoever wants to leave. What was typed when `read` is cancelled is
    there again the next time."""

    async def read(self) -> str: ...

    async def ask(self, question: str) -> str: ...

    def offer(self, text: str) -> None:
        """Begin the next line with this."""
        ...


class TerminalPrompt:
    def __init__(self, history: Path) -> None:
        self._offered = ""
        self._lines: PromptSession[str] = PromptSession(
            multiline=True,
            prompt_continuation="  ",
            history=_history(history),
            completer=_Commands(),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            key_bindings=_keys(EOFError),
            reserve_space_for_menu=0,
            enable_open_in_editor=True,
            interrupt_exception=EOFError,
            style=Style([("prompt", "bold")]),
        )
        self._answers: PromptSession[str] = PromptSession(
            multiline=True,
            prompt_continuation="  ",
            key_bindings=_keys(Stopped),
            reserve_space_for_menu=0,
            interrupt_exception=Stopped,
        )

    async def read(self) -> str:
        text, self._offered = self._offered, ""
        self._lines.app.erase_when_done = True
        try:
            return await self._lines.prompt_async("> ", default=text, handle_sigint=False)
        except asyncio.CancelledError:
            self._offered = self._lines.default_buffer.text
            raise

    async def ask(self, question: str) -> str:
        self._answers.app.erase_when_done = True
        # What was typed before the question was seen is no answer to it.
        clear_typeahead(self._answers.input)
        with suppress(termios.error):
            termios.tcflush(self._answers.input.fileno(), termios.TCIFLUSH)
        return await self._answers.prompt_async(question, handle_sigint=False)

    def offer(self, text: str) -> None:
        self._offered = text


class _Commands(Completer):
    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        typed = document.text
        if typed.startswith("/") and " " not in typed:
            for command in COMMANDS.values():
                if command.name.startswith(typed[1:]):
                    yield Completion(f"/{command.name}", -len(typed))


def _keys(leave: type[Exception]) -> KeyBindings:
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        # What is sent stays on the screen; a prompt that was given up does not.
        event.app.erase_when_done = False
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c", filter=typing)
    def _(event: KeyPressEvent) -> None:
        """As in a shell: what was typed goes first, then whoever typed it."""
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=leave)

    return keys


class _File(FileHistory):
    def store_string(self, string: str) -> None:
        """A full disk is no reason to lose the line itself."""
        with suppress(OSError):
            super().store_string(string)


def _history(path: Path) -> History:
    """What was typed is as private as what was answered."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError:
        return InMemoryHistory()
    return _File(path)
