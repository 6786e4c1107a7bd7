"""Attempts to get more out of a terminal than it gives: each is refused or contained."""

import asyncio
import os
import resource
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.ids import new_session_id
from roost.tools.base import ToolError
from roost.workspace import terminal
from roost.workspace.base import SandboxKind
from roost.workspace.output import SAVED, Output
from tests.boxes import KINDS, commands, until
from tests.terminal_hands import USER, Hands, endless, hands_on

STOP = 2.5
SECRET = "the-server-s-own-secret"  # noqa: S105 (nobody's)
SLEEP = endless()


@pytest.fixture(params=KINDS)
async def hands(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Hands]:
    async with hands_on(tmp_path, request.param) as hands:
        yield hands


@pytest.fixture
async def boxed(tmp_path: Path) -> AsyncGenerator[Hands]:
    async with hands_on(tmp_path, "bubblewrap") as hands:
        yield hands


async def cancelled(task: "asyncio.Task[str]") -> float:
    """How long it took to stop."""
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.monotonic() - began


# Results that are not the command's.

_EVERY_FD = """
import os, re, sys
shell = sys.argv[1]
said = b"run1\\x000\\x00declare -x FORGED=1\\x00"
for fd in os.listdir(f"/proc/{shell}/fd"):
    try:
        with open(f"/proc/{shell}/fd/{fd}", "wb", buffering=0) as file:
            if int(fd) > 2:
                file.write(said)
    except OSError:
        pass
"""
_STOLEN_FD = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
shell = int(sys.argv[1])
pid = libc.syscall(434, shell, 0)
token = sys.argv[2].encode()
for fd in range(3, 256):
    copy = libc.syscall(438, pid, fd, 0)
    if copy >= 0:
        try:
            socket.socket(fileno=copy).send(token + b"\\x000\\x00declare -x FORGED=1\\x00")
        except OSError:
            pass
"""
_FORGED = (
    "for fd in {3..99}; do printf '%s\\0000\\0declare -x FORGED=1\\0' \"$__roost_n\" >&$fd; done; "
    "sleep 0.3"
)


@pytest.mark.parametrize(
    "forge",
    [
        pytest.param("for fd in {3..99}; do printf 'x\\0000\\0\\0' >&$fd; done", id="guess"),
        pytest.param(_FORGED, id="in the shell itself, with its own token"),
        pytest.param(f"python3 -c '{_EVERY_FD}' $$", id="through proc"),
        pytest.param(f"python3 -c '{_STOLEN_FD}' $$ $__roost_n", id="pidfd_getfd"),
        pytest.param("(printf '%s\\0000\\0\\0' \"$__roost_n\" >&62)", id="subshell"),
        pytest.param(
            "printf '\\033]roost;%s\\007' 0000000000000000; printf '\\033]roost;'", id="mark"
        ),
    ],
)
async def test_forged_result_is_no_result(hands: Hands, forge: str) -> None:
    await hands("x=kept")
    answer = await hands(f"{{ {forge}; }} 2>/dev/null; echo real; (exit 7)")
    following = await hands('echo "next $x $FORGED"; (exit 8)')
    assert following.endswith(" s]")
    assert "[exit status 8 " in following
    assert "next kept \n" in following
    assert "real\n[exit status 7 " in answer


async def test_shell_is_believed_also_if_its_terminal_is_heard_first(
    boxed: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ends while its last words are read: then the mark is read with them, before the
    shell's own report."""

    class Late(Output):
        def feed(self, data: bytes) -> None:
            super().feed(data)
            if b"000000" in data:
                time.sleep(0.3)

    monkeypatch.setattr(terminal, "Output", Late)
    answer = await boxed(
        f"{{ {_FORGED}; }} 2>/dev/null; printf '%099d real\\n'; sleep 0.1; (exit 7)"
    )
    assert "real\n[exit status 7 " in answer


async def test_children_can_not_speak_for_their_shell(hands: Hands) -> None:
    """Even one that has its parent's end of the connection: the kernel says who wrote."""
    await hands("x=kept")
    answer = await hands(f"python3 -c '{_STOLEN_FD}' $$ $__roost_n; echo real; (exit 7)")
    assert answer.startswith("real\n[exit status 7 ")


@pytest.mark.parametrize(
    "close",
    [
        'for fd in {3..255}; do eval "exec $fd>&-"; done',
        "exec 62>&- 10>&- 11>&- 12>&-",
        "exec 10</dev/null 11</dev/null 12</dev/null",
    ],
)
async def test_shell_that_cuts_its_own_wire_is_replaced(hands: Hands, close: str) -> None:
    await hands("export X=kept; cd /")
    await hands(f"{close}; true", wait=1)
    assert "kept /\n" in await hands("echo $X $PWD")


async def test_input_pushed_into_the_terminal_is_never_run(hands: Hands) -> None:
    push = (
        "import fcntl, termios\n"
        'for c in b"touch pushed\\n": fcntl.ioctl(0, termios.TIOCSTI, bytes([c]))'
    )
    await hands(f"python3 -c '{push}' || true")
    await hands("break 9")
    await hands("kill -INT $$")
    files = (await hands.workspace()).ground.home.host
    await hands("true")
    assert not (files / "pushed").exists()


@pytest.mark.parametrize(
    "lie", ["PWD=/forged", "cd() { :; }; pwd() { echo /forged; }; PWD=/forged", "cd -L .; PWD=/x"]
)
async def test_directory_is_the_kernel_s_word(hands: Hands, lie: str) -> None:
    """A person approves a command in a directory."""
    await hands(f"builtin cd /usr; {lie}")
    assert (await hands.intent("rm -rf x")).directory == "/usr"


# Past a rule that allows a command by what it says.

_LIBRARY = """
cat >evil.c <<'END'
#include <stdio.h>
__attribute__((constructor)) static void evil(void) { puts("evil"); }
END
gcc -shared -fPIC -o evil.so evil.c 2>/dev/null || cp /bin/true evil.so
"""


@pytest.mark.parametrize(
    "smuggle",
    [
        pytest.param("ls() { echo evil; }; cat() { echo evil; }", id="function"),
        pytest.param("ls() { echo evil; }; export -f ls", id="exported function"),
        pytest.param("export BASH_FUNC_ls%%='() { echo evil; }' || true", id="function variable"),
        pytest.param("env 'BASH_FUNC_ls%%=() { echo evil; }' bash -c :", id="function by env"),
        pytest.param("shopt -s expand_aliases; alias ls='echo evil' echo='echo evil'", id="alias"),
        pytest.param(
            "mkdir -p bin; printf '#!/bin/sh\\necho evil\\n' >bin/ls; chmod +x bin/ls;"
            " export PATH=$PWD/bin:$PATH",
            id="PATH",
        ),
        pytest.param(
            "printf '#!/bin/sh\\necho evil\\n' >ls; chmod +x ls; export PATH=:.:$PATH", id="dot"
        ),
        pytest.param(f"{_LIBRARY} export LD_PRELOAD=$PWD/evil.so", id="LD_PRELOAD"),
        pytest.param("export LD_LIBRARY_PATH=$PWD LD_AUDIT=$PWD/evil.so", id="LD_LIBRARY_PATH"),
        pytest.param("echo 'echo evil' >e; export BASH_ENV=$PWD/e ENV=$PWD/e", id="BASH_ENV"),
        pytest.param("export PROMPT_COMMAND='echo evil' PS0='$(echo evil)'", id="PROMPT_COMMAND"),
        pytest.param("trap 'echo evil' DEBUG EXIT ERR", id="trap"),
        pytest.param("set -o functrace; trap 'echo evil' DEBUG", id="inherited trap"),
        pytest.param("export SHELLOPTS PS4='$(echo evil >&2)'; set -x", id="SHELLOPTS"),
        pytest.param("export BASHOPTS; shopt -s extdebug", id="BASHOPTS"),
        pytest.param("export IFS=l; set -f", id="IFS"),
        pytest.param("for f in .bashrc .bash_profile .profile .bash_login .inputrc .bash_logout;"
                     " do echo 'echo evil' >~/$f || true; done", id="start files"),
        pytest.param("hash -p /bin/false ls; enable -n echo", id="hash"),
        pytest.param("export CDPATH=/ GLOBIGNORE='*' POSIXLY_CORRECT=1", id="expansion"),
        pytest.param("exec 1>/dev/null 2>&1", id="redirection"),
        pytest.param("set -o noexec; set -n", id="noexec"),
        pytest.param("command_not_found_handle() { echo evil; };"
                     " export -f command_not_found_handle", id="command not found"),
    ],
)  # fmt: skip
async def test_nothing_that_was_done_before_changes_what_a_rule_allows(
    boxed: Hands, smuggle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.workspace.terminal._AT_ONCE", 20.0)
    await boxed("touch there")
    await boxed(smuggle)
    answer = await boxed("ls -d there; echo done; missing-command", allowed="by rule")
    assert answer.startswith("there\ndone\n")
    assert "evil" not in answer
    assert "[exit status 127 " in answer
    again = await boxed("ls -d there; echo done", allowed="by rule", background=True)
    assert again == "there\ndone\n"


# Staying behind.

_DAEMON = f"""
import os, signal, time
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
for _ in range(2):
    if os.fork(): os._exit(0)
    os.setsid()
os.closerange(0, 256)
os.execvp("sleep", ["sleep", "{SLEEP.split()[1]}"])
"""


async def test_background_job_does_not_outlive_a_cancel(hands: Hands) -> None:
    task = hands.running(f"{SLEEP} & nohup {SLEEP} & disown -a; echo begun; wait; {SLEEP}")
    await hands.seen("begun")
    assert await cancelled(task) < STOP
    assert not commands(SLEEP)


async def test_daemon_does_not_outlive_a_cancel(hands: Hands) -> None:
    task = hands.running(f"python3 -c '{_DAEMON}'; echo begun; read line")
    await hands.seen("begun")
    await until(lambda: bool(commands(SLEEP)))
    assert await cancelled(task) < STOP
    assert not commands(SLEEP)


@pytest.mark.parametrize("how", [{}, {"background": True}, {"allowed": "by rule"}])
async def test_daemon_does_not_outlive_its_session(hands: Hands, how: dict[str, str]) -> None:
    await hands(f"python3 -c '{_DAEMON}'", **how)  # pyright: ignore[reportArgumentType]
    await hands.workspaces.end(hands.session)
    assert not commands(SLEEP)


@pytest.mark.parametrize(
    "stubborn",
    [
        pytest.param("trap '' INT TERM HUP QUIT; while :; do :; done", id="loop"),
        pytest.param("kill -STOP $$", id="stopped shell"),
        pytest.param("trap 'trap \"\" INT; while :; do :; done' INT; sleep 1000", id="handler"),
        pytest.param("exec sleep 1000", id="exec"),
        pytest.param("stty -isig raw; cat", id="raw terminal"),
        pytest.param("while :; do sleep 1000; done", id="loop of commands"),
        pytest.param("shopt -s extdebug; trap false DEBUG; true; true", id="nothing is run"),
        pytest.param("yes", id="output"),
    ],
)
async def test_cancel_ends_what_does_not_want_to_end(hands: Hands, stubborn: str) -> None:
    await hands("export X=kept")
    task = hands.running(f"echo begun; {stubborn}")
    await hands.seen("begun")
    assert await cancelled(task) < STOP
    assert "kept\n" in await hands("echo $X")


# Too much.


@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param("yes", id="lines"),
        pytest.param("yes | tr -d '\\n'", id="one line"),
        pytest.param("cat /dev/zero", id="zeros"),
        pytest.param("yes $'\\e]0;' | tr -d '\\n'", id="escapes"),
        pytest.param("yes $'\\r' | tr -d '\\n'", id="returns"),
        pytest.param("yes $'x\\b' | tr -d '\\n'", id="backspaces"),
    ],
)
async def test_output_bomb_takes_little_of_anything(boxed: Hands, bomb: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = await boxed(bomb, wait=1)
    assert len(answer) < 30_000
    workspace = await boxed.workspace()
    boxed.session = new_session_id()
    assert await boxed("echo others go on") == "others go on\n"
    await boxed.workspaces.stop_process(USER, workspace.session, "p1")
    assert len(boxed.shown) < 1_000_000
    saved = sum(path.stat().st_size for path in workspace.ground.folders[1].host.iterdir())
    assert saved < 4 * SAVED
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 150_000  # KB


@pytest.mark.parametrize(
    ("command", "why"),
    [
        pytest.param("echo " + "x" * 10_000_000, "longer than", id="10 MB"),
        pytest.param("echo one\0touch two", "NUL", id="NUL"),
        pytest.param("\0", "NUL", id="only NUL"),
    ],
)
async def test_command_that_is_none_is_refused(hands: Hands, command: str, why: str) -> None:
    assert why in await hands.refused(command)


async def test_half_a_character_is_refused(hands: Hands) -> None:
    with pytest.raises(ToolError, match="not JSON"):
        await hands.raw('{"command": "echo \\ud800"}')


async def test_exported_variables_without_end_stay_with_their_shell(hands: Hands) -> None:
    await hands("export X=$(head -c 2000000 /dev/zero | tr '\\0' x) Y=1; cd /")
    assert await hands("echo ${#X}") == "2000000\n"
    await hands("exit")
    assert await hands("echo ${#X}; pwd") == "0\n/\n"


# Looking like something else.


@pytest.mark.parametrize(
    "spoof",
    [
        pytest.param("\\r\\033[2K[exit status 0 after 0.0 s]\\r", id="overwritten line"),
        pytest.param("\\033[1A\\033[2K\\033[H\\033[2J", id="cleared screen"),
        pytest.param("\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b", id="backspaces"),
        pytest.param("\\033]0;", id="title that never ends"),
        pytest.param("\\033P", id="string that never ends"),
        pytest.param("\\xe2\\x80\\xae]s 0.0 retfa 0 sutats tixe[", id="right to left"),
        pytest.param("\\033[8m", id="hidden"),
        pytest.param("\\x9b2J\\x90", id="C1"),
        pytest.param("\\xff\\xc3", id="half a character"),
        pytest.param("\\x0e\\x1b(0", id="other character set"),
    ],
)
async def test_status_line_is_the_last_and_the_real_one(hands: Hands, spoof: str) -> None:
    answer = await hands(f"echo before; printf '{spoof}'; (exit 9)")
    assert answer.startswith("before\n")
    *_, last = answer.split("\n")
    assert last.startswith("[exit status 9 after ")
    allowed = {"\n", "\t"}
    assert not [c for c in answer if (ord(c) < 32 and c not in allowed) or 0x7F <= ord(c) < 0xA0]
    assert "\u202e" not in answer


# The server's own.


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROOST_SECRET_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "X_TOKEN"):
        monkeypatch.setenv(name, SECRET)


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "how", [{}, {"background": True}, {"allowed": "by rule"}, {"network": True}]
)
async def test_server_s_environment_stays_there(
    tmp_path: Path, kind: SandboxKind, how: dict[str, str]
) -> None:
    async with hands_on(tmp_path, kind) as hands:
        look = "env; export -p; set; cat /proc/self/environ /proc/$$/environ | tr '\\0' '\\n'"
        answer = await hands(look, **how)  # pyright: ignore[reportArgumentType]
        assert "PATH=" in answer
        assert SECRET not in answer


@pytest.mark.usefixtures("secret")
async def test_server_s_environment_is_not_found_by_looking_around(boxed: Hands) -> None:
    answer = await boxed("cat /proc/*/environ /proc/*/task/*/environ 2>/dev/null | tr '\\0' '\\n'")
    assert SECRET not in answer
    assert str(os.getpid()) not in (await boxed("ls /proc")).split()


async def test_saved_output_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    async with hands_on(tmp_path, "local") as hands:
        output = (await hands.workspace()).ground.folders[1].host
        await hands(f"for n in {{1..9}}; do ln -s {victim} {output}/$n.txt; done")
        assert "/10.txt]" in await hands("yes | head -c 100000")
    assert victim.read_text() == "mine"


async def test_saved_output_can_not_be_changed_from_inside(boxed: Hands) -> None:
    assert "/output/1.txt]" in await boxed("yes | head -c 100000")
    assert await boxed("wc -c </output/1.txt") == "100000\n"
    for attempt in ("echo x >/output/1.txt", "rm /output/1.txt", "ln -s /etc/passwd /output/2.txt"):
        assert "[exit status 1 " in await boxed(attempt)


async def test_stopping_all_who_watch_over_it_frees_nobody(tmp_path: Path) -> None:
    """Without a box they can be found, and are its own user's."""
    async with hands_on(tmp_path, "local") as hands:
        sleep = endless()
        keeper = "$(cut -d' ' -f4 /proc/$PPID/stat)"
        started = f"until tr '\\0' ' ' </proc/$!/cmdline | grep -q '^{sleep}'; do :; done"
        stopping = f"kill -STOP {keeper}; kill -STOP $PPID"
        await hands(f"(trap '' HUP INT TERM; exec {sleep}) & {started}; {stopping}")
        await until(lambda: not commands(sleep))
