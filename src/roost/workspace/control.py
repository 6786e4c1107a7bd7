"""How Roost and a shell talk past the terminal: a socket, and the bash text at its other end."""

import asyncio
import re
import secrets
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

log = structlog.stdlib.get_logger("roost.workspace")

PASSED = 3
"""The descriptor at which a shell finds its end."""

_FD = 62
"""Where it moves it, out of the way of commands, for which it is closed."""
_LARGEST = 1_000_000
_SEND_SECONDS = 10.0
_CREDENTIALS = struct.Struct("3i")

# Runs before every prompt, and never comes to one: it takes a command, evaluates it in the shell
# itself, and reports. An interrupt, or an error that throws an interactive bash back to its prompt,
# begins it anew. Whatever a command may have redefined is called past: in POSIX mode special
# builtins go before functions, the backslash keeps aliases out, and `builtin` does the rest.
_DRIVER = r"""
__roost_s=$?
while :; do while
POSIXLY_CORRECT=
\trap - DEBUG RETURN ERR
\unset -f builtin
\exec </dev/tty >/dev/tty 2>&1
\set +o posix
{ builtin set +xve; builtin shopt -u inherit_errexit; } 2>/dev/null
PROMPT_COMMAND=$__roost_d
builtin printf '%s\0%s\0' "$__roost_n" "$__roost_s" >&FD
builtin export -p >&FD
builtin printf '\0' >&FD
while builtin read -r -d '' -u FD || builtin exit 125
[[ $REPLY == TOKENmark:* ]]
do builtin printf '\e]roost;%s\a' "${REPLY#*:}"; done
[[ $REPLY == TOKENrun* ]] || builtin exit 125
__roost_n=${REPLY%%:*}
__roost_s=0
REPLY=${REPLY#*:}
do builtin eval "$REPLY" FD>&-; __roost_s=$?; done; __roost_s=0; done
builtin exit 125
"""
_FIRST = r"""
PS1= PS2=
set +H +o history
unset HISTFILE
export -n PS1 PROMPT_COMMAND __roost_d
exec FD<&PASSED PASSED<&-
__roost_n=TOKENrun0
eval "$__roost_d"
"""


class Report(msgspec.Struct, frozen=True):
    """What a shell says after each command: which, how it went, and what it exports, unless that is
    very long."""

    number: int
    status: int
    exported: str


class Control:
    """Roost's end. Only what the shell's own process writes counts: the kernel says who did."""

    def __init__(self, heard: Callable[[Report], None]) -> None:
        self._heard = heard
        self._token = secrets.token_hex(8)
        self._socket, self.theirs = socket.socketpair()
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._loop = asyncio.get_running_loop()
        self._fields: list[bytes] = []
        self._field = bytearray()
        self._shell = 0
        self._is_open = True
        self._loop.add_reader(self._socket.fileno(), self._read)

    @property
    def environment(self) -> dict[str, str]:
        """What an interactive bash is to be started with."""
        driver, first = self._text(_DRIVER), self._text(_FIRST)
        return {"PS1": "", "PROMPT_COMMAND": first, "__roost_d": driver}

    @property
    def directory(self) -> str | None:
        """Where the shell is, by the kernel's word: its own could be anything. None if that is
        gone, or the shell."""
        try:
            found = str(Path(f"/proc/{self._shell}/cwd").readlink())
        except OSError:
            return None
        return None if not self._shell or found.endswith(" (deleted)") else found

    async def run(self, number: int, command: str) -> None:
        await self._send(f"run{number}", command)

    async def mark(self, text: str) -> None:
        """Have it print a mark, after all that was printed before."""
        await self._send("mark", text)

    def listen(self) -> None:
        """Hear all that was said so far, without waiting for the loop to come by."""
        while self._is_open and self._read():
            pass

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
            self.theirs.close()

    def _text(self, template: str) -> str:
        text = template.replace("TOKEN", self._token).replace("PASSED", str(PASSED))
        return re.sub(r"\bFD\b", str(_FD), text)

    async def _send(self, what: str, text: str) -> None:
        data = f"{self._token}{what}:{text}\0".encode("utf-8", "surrogateescape")
        async with asyncio.timeout(_SEND_SECONDS):
            await self._loop.sock_sendall(self._socket, data)

    def _read(self) -> bool:
        """Whether there was something, and may be more."""
        try:
            data, ancillary, _, _ = self._socket.recvmsg(65_536, socket.CMSG_SPACE(64))
        except BlockingIOError:
            return False
        except OSError:
            data, ancillary = b"", []
        if not data:
            # It ended, or became another program; whoever waits for its end will hear of it.
            self._loop.remove_reader(self._socket.fileno())
            return False
        if self._is_from_shell(ancillary):
            self._take(data)
        return True

    def _is_from_shell(self, ancillary: list[tuple[int, int, bytes]]) -> bool:
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                pid, _, _ = _CREDENTIALS.unpack(content[: _CREDENTIALS.size])
                self._shell = self._shell or pid  # it speaks before there is any command
                return pid == self._shell
        return False

    def _take(self, data: bytes) -> None:
        first, *others = data.split(b"\0")
        self._grow(first)
        for part in others:
            self._fields.append(bytes(self._field))
            self._field.clear()
            if len(self._fields) == 3:
                number, status, exported = self._fields
                self._fields.clear()
                self._report(number, status, exported)
            self._grow(part)

    def _grow(self, part: bytes) -> None:
        """What is too long to be kept is as good as nothing."""
        self._field += part
        if len(self._field) > _LARGEST:
            self._field.clear()

    def _report(self, number: bytes, status: bytes, exported: bytes) -> None:
        prefix = f"{self._token}run".encode()
        if number.startswith(prefix) and number[len(prefix) :].isdigit() and status.isdigit():
            report = Report(
                int(number[len(prefix) :][:18]),
                int(status[:18]),
                exported.decode("utf-8", "surrogateescape"),
            )
            self._heard(report)


def mark_of(text: str) -> bytes:
    return f"\x1b]roost;{text}\x07".encode()
