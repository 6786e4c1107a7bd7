"""A shell that lasts, and what becomes of the commands it is given."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.workspace.base import Folder
from roost.workspace.output import Output, Saved
from roost.workspace.shell import Fresh
from tests.boxes import KINDS, box_in, commands, until
from tests.seconds import within
from tests.terminal_hands import Hands, endless, hands_on

STOP = 1.0
"""Seconds; what is promised of a cancel. It takes a fifth of that, if nobody else is busy."""
SLEEP = endless()


@pytest.fixture(params=KINDS)
async def hands(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Hands]:
    async with hands_on(tmp_path, request.param) as hands:
        yield hands


async def _home(hands: Hands) -> str:
    return (await hands.workspace()).ground.home.inside


async def test_directory_variables_and_functions_last(hands: Hands) -> None:
    await hands("mkdir -p a/b; cd a/b; export X=1; y=2; f() { echo f $1; }; declare -A m=([k]=v)")
    home = await _home(hands)
    assert await hands('pwd; echo "$X $y ${m[k]}"; f 3') == f"{home}/a/b\n1 2 v\nf 3\n"
    assert (await hands.workspace()).terminal.directory == f"{home}/a/b"


async def test_status_and_duration_are_said_if_it_failed(hands: Hands) -> None:
    assert await hands("true") == "[no output]"
    answer = await hands("echo so far; (exit 3)")
    assert answer.startswith("so far\n[exit status 3 after ")
    assert answer.endswith(" s]")
    assert "[exit status 2 after" in await hands("if")


async def test_terminal_is_one_and_is_standard_input(hands: Hands) -> None:
    assert await hands("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo yes; stty size") == "yes\n50 160\n"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("exit 7", 7),
        ("exec true", 0),
        ("exec bash -c 'exit 4'", 4),
        ("set -e; false; echo not reached", 1),
        ("kill -9 $$", -9),
        ("break 7", 125),
        ("enable -n read printf eval", 125),
    ],
)
async def test_shell_that_ends_says_so_and_another_goes_on(
    hands: Hands, command: str, status: int
) -> None:
    await hands("mkdir -p d; cd d; export KEPT=yes; f() { :; }")
    answer = await hands(command)
    assert (
        f"[The shell ended. The next command gets a new one in {await _home(hands)}/d.]" in answer
    )
    assert "not reached" not in answer
    assert (f"[exit status {status} " in answer) == (status != 0)
    assert await hands("pwd; echo $KEPT; type -t f || true") == f"{await _home(hands)}/d\nyes\n"


@pytest.mark.parametrize(
    "command",
    [
        "exec >/dev/null 2>&1",
        "exec </dev/null",
        "stty raw -echo; stty -opost",
        "IFS=rostu",
        "set -x",
        "set -v",
        "set -o posix",
        "trap 'echo trapped' DEBUG",
        "trap 'echo trapped' ERR RETURN",
        "trap '' INT TERM",
        "PS1='prompt$ '; PROMPT_COMMAND='echo prompted'; PS0=zero; PS4=four",
        "builtin() { echo evil; }; eval() { echo evil; }; read() { echo evil; }; exec() { :; }",
        "unset() { echo evil; }; set() { echo evil; }; trap() { echo evil; }; printf() { :; }",
        "shopt -s expand_aliases; alias builtin=false while=false eval=false read=false",
        "break; continue",
        "shopt -s extglob nullglob nocasematch dotglob failglob",
        "LC_ALL=C; LANG=tlh; TMOUT=1",
        "REPLY=x; readonly PS1 IFS",
        "return 5",
        "unset PWD OLDPWD HOME PATH; PATH=/usr/bin:/bin",
        "set -u",
        "exec 3>&1 4>&1 10>&1",
        "ulimit -n 256",
        "cd /; mkdir -p $HOME/gone; cd $HOME/gone; rmdir $HOME/gone; cd $HOME",
    ],
)
async def test_whatever_a_command_does_to_the_shell_the_next_one_runs(
    hands: Hands, command: str
) -> None:
    await hands("x=kept")
    await hands(command)
    assert await hands('echo "still $x"') == "still kept\n"


async def test_unset_variables_are_an_error_that_the_shell_survives(hands: Hands) -> None:
    answer = await hands("x=1; set -u; echo $nothing; echo not reached")
    assert "unbound variable" in answer
    assert "[exit status 1 " in answer
    assert "not reached" not in answer
    assert await hands("echo $x") == "1\n"


async def test_command_of_100_kb_and_one_with_every_character(hands: Hands) -> None:
    long = "x" * 90_000
    assert await hands(f"v={long}; echo ${{#v}}") == "90000\n"
    odd = "'\"'\"'" + "".join([chr(c) for c in range(1, 0x250) if chr(c) not in "'\r\x7f"])
    await hands(f"v='{odd}'")
    assert await hands('printf %s "$v" | wc -m') == f"{len(odd) - 4}\n"


async def test_output_without_newline_and_in_bytes(hands: Hands) -> None:
    assert await hands("printf 'no newline'") == "no newline"
    assert await hands("printf '\\377\\0\\033[31mred\\033[0m'") == "\ufffdred"


async def test_jobs_print_into_what_runs_then(hands: Hands) -> None:
    await hands("mkfifo go; { read x <go; echo from the job; : >told; } & disown")
    shown = await hands("echo now >go; until [ -e told ]; do :; done")
    assert shown == "from the job\n"
    assert await hands("echo next") == "next\n"


async def test_what_is_printed_between_commands_is_not_lost(hands: Hands) -> None:
    files = (await hands.workspace()).ground.home.host
    await hands("(until [ -e flag ]; do sleep 0.01; done; echo late; : >told) &")
    shown = await hands("touch flag")
    await until((files / "told").exists)
    shown += await hands("echo next")
    assert shown.replace("[no output]", "") == "late\nnext\n"


async def test_what_nobody_read_is_not_read_by_the_next_command(hands: Hands) -> None:
    workspace = await hands.workspace()
    await hands("true")
    shell = workspace.terminal._shell  # pyright: ignore[reportPrivateUsage] # noqa: SLF001
    assert shell is not None
    await shell.tty.write(b"echo typed too late\n")
    assert "nothing" in await hands("read -t 0.1 line || echo nothing; echo $line")


async def test_command_that_takes_too_long_goes_on_in_the_background(hands: Hands) -> None:
    await hands("mkdir -p d; cd d; export X=1; y=2")
    answer = await hands("echo begun; read line; echo got $line; y=$y$line; echo $y", wait=4)
    assert answer.startswith("begun\n[It runs on in the background as p1.]\n[The next command gets")
    assert await hands("pwd; echo $X$y") == f"{await _home(hands)}/d\n1\n"
    said = await hands.processes("write", id="p1", text="it\n")
    while "ended with status 0" not in said:
        said += await hands.processes("poll", id="p1", wait=10)
    assert "got it\n2it\n" in said.replace("[p1 runs for 0 s]", "")


async def test_interrupt_ends_a_command_and_keeps_the_shell(hands: Hands) -> None:
    await hands("x=kept")
    loop = "while :; do :; done"
    for number, command in enumerate(("sleep 100", loop, "read line", "cat", "sleep 100 | cat")):
        task = hands.running(f"echo begun {number}; {command}; echo not reached")
        await hands.seen(f"begun {number}")
        async with within(STOP):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await hands("echo $x") == "kept\n"
    assert "not reached" not in hands.shown


async def test_cancel_kills_what_ignores_every_signal_and_keeps_the_shell(hands: Hands) -> None:
    await hands("x=kept")
    deep = f"trap '' INT TERM HUP; {SLEEP} & {SLEEP} & "
    command = f'bash -c "{deep} bash -c \\"{deep} setsid {SLEEP} & echo begun; wait\\"; wait"'
    task = hands.running(command)
    await hands.seen("begun")
    await until(lambda: len(_sleepers()) > 4)
    async with within(STOP):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: not _sleepers())
    assert await hands("echo $x; jobs -r") == "kept\n"


def _sleepers() -> list[str]:
    return [each for each in commands(SLEEP) if each.startswith("sleep")]


async def test_shell_that_will_not_let_go_is_replaced(hands: Hands) -> None:
    await hands("mkdir -p d; cd d; x=lost; export Y=kept")
    task = hands.running("trap '' INT; echo begun; while :; do :; done")
    await hands.seen("begun")
    async with within(STOP):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    home = await _home(hands)
    answer = await hands("pwd; echo $x$Y")
    assert (
        answer == f"{home}/d\nkept\n[The earlier shell was ended; this is a new one in {home}/d.]"
    )


async def test_directory_that_is_gone_is_said(hands: Hands) -> None:
    await hands("mkdir d; cd d")
    await hands("rmdir ../d; exit")
    home = await _home(hands)
    assert f"[{home}/d can't be entered; the shell begins in {home}.]" in await hands("pwd")


async def test_memory_stays_bounded_under_an_output_bomb(hands: Hands) -> None:
    answer = await hands("yes", wait=1)
    assert "as p1" in answer
    assert len(answer) < 25_000
    assert len(await hands.processes("kill", id="p1")) < 25_000


async def test_two_commands_at_once_take_turns(hands: Hands) -> None:
    both = await asyncio.gather(*[hands(f"x={n}; sleep 0.05; echo $x") for n in range(2)])
    assert both == ["0\n", "1\n"]


async def test_command_quicker_than_whoever_hears_it_is_heard(tmp_path: Path) -> None:
    async with box_in(tmp_path, "local") as box:
        fresh = await Fresh.open(box, "echo at once", directory=str(tmp_path))
        await fresh.tty.ended.wait()
        output = Output(Saved(Folder(tmp_path, "/"), None))
        await fresh.run("echo at once", output)
        await output.close()
    assert output.take() == "at once\n"
