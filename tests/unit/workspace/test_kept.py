"""Processes in a box: started, heard, interrupted and ended whole, whatever the box is made of."""

import asyncio
import contextlib
import os
import resource
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.errors import WorkspaceError, WorkspaceGone
from roost.workspace.base import Box, SandboxKind
from roost.workspace.inside.trees import below, children
from tests.boxes import (
    DEADLINE,
    KINDS,
    Watched,
    begin,
    box_in,
    commands,
    ground_in,
    open_files,
    read_all,
    read_until,
    run,
    sandbox_of,
    until,
)
from tests.seconds import within

DEEP = """
trap '' TERM INT HUP
sh -c 'trap "" TERM INT HUP
  sh -c "trap \\"\\" TERM INT HUP; echo deep; while :; do sleep 1000; done" &
  while :; do sleep 1000; done' &
while :; do sleep 1000; done
"""
"""Three shells, one below the other, that ignore what can be ignored."""


@pytest.fixture(params=KINDS)
async def box(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Box]:
    async with box_in(tmp_path, request.param) as box:
        yield box


def root_of(box: Box) -> int:
    """The keeper, as this machine sees it."""
    assert box.is_open
    (root,) = children(spawner_of())
    if box.kind == "bubblewrap":
        # Bubblewrap itself waits outside.
        (root,) = children(root)
    return root


def spawner_of() -> int:
    """What the boxes of this process are started from."""
    (found,) = [pid for pid in children(os.getpid()) if "roost.workspace.spawner" in _command(pid)]
    return found


def sleeping(box: Box) -> list[int]:
    return [pid for pid in below(root_of(box)) if _command(pid).startswith("sleep")]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""  # it went while it was looked for


async def test_process_runs_where_it_is_told_and_its_end_is_known(box: Box) -> None:
    ran = await run(box, 'pwd; echo "$1" >&2; exit 3', "to errors")
    assert ran == (3, f"{box.ground.home.inside}\nto errors\n")


async def test_end_by_a_signal_is_told_apart(box: Box) -> None:
    assert (await run(box, "kill -SEGV $$")).status == -signal.SIGSEGV


async def test_standard_input_is_a_pipe_that_can_be_ended(box: Box) -> None:
    child = await begin(box, "cat")
    assert child.stdin is not None
    os.write(child.stdin, b"over there")
    assert "over there" in await read_until(child, "there")
    child.close()
    assert await child.wait() == 0


async def test_terminal_is_one(box: Box) -> None:
    child = await begin(box, "/bin/sh", "-c", "tty && stty size", tty=True)
    shown = await read_all(child)
    assert shown.startswith("/dev/pts/")
    assert await child.wait() == 0
    assert child.stdin is None
    assert child.output is None
    child.close()


async def test_terminal_interrupts_what_is_in_its_foreground_and_not_its_shell(box: Box) -> None:
    child = await begin(box, "/bin/bash", "--norc", tty=True, environment={"PS1": "$ "})
    assert child.tty is not None
    os.write(child.tty, b"stty -echo\n")
    await read_until(child, "stty -echo\r\n$ ")
    os.write(child.tty, b"bash -c 'echo be''gun; sleep 1000'\n")
    await read_until(child, "begun")
    await child.interrupt()
    os.write(child.tty, b"echo $? st''ill\n")
    assert "130 still" in await read_until(child, "still")
    await child.kill()
    assert await child.wait() == -signal.SIGKILL
    child.close()


async def test_interrupt_without_a_terminal_reaches_the_group(box: Box) -> None:
    child = await begin(box, "/bin/sh", "-c", "trap 'exit 7' INT; echo up; sleep 1000 & wait")
    await read_until(child, "up")
    await child.interrupt()
    assert await child.wait() == 7
    child.close()


async def test_what_is_passed_takes_its_place_and_nothing_else_is_open(box: Box) -> None:
    first, second = os.pipe()
    third, fourth = os.pipe()
    for fd in (first, second, third, fourth):
        # Even one that could be inherited is not.
        os.set_inheritable(fd, True)
    child = await begin(
        box, "/bin/sh", "-c", "echo passed >&4; cat <&3; ls /proc/$$/fd", pass_fds=[third, second]
    )
    os.write(fourth, b"read\n")
    os.close(fourth)
    try:
        assert (await read_all(child)).split() == ["read", "0", "1", "2", "3", "4"]
        assert os.read(first, 100) == b"passed\n"
    finally:
        for fd in (first, second, third):
            os.close(fd)
        child.close()


async def test_environment_is_what_it_is_given_and_a_few_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("ROOST_DATA", "secret")
    for kind in KINDS:
        async with box_in(tmp_path, kind) as box:
            child = await begin(box, "env", environment={"GIVEN": "a b\nc"})
            shown = await read_all(child)
            assert "GIVEN=a b\nc\n" in shown
            assert "secret" not in shown
            child.close()


@pytest.mark.parametrize("argv", [["nonesuch"], ["/nonesuch/at/all"], ["/etc/passwd"], ["/"]])
async def test_what_can_not_be_started_is_said(box: Box, argv: list[str]) -> None:
    with pytest.raises(WorkspaceError, match=argv[0]):
        await begin(box, *argv)
    assert (await run(box, "echo on")).output == "on\n"


async def test_missing_directory_is_said(box: Box) -> None:
    with pytest.raises(WorkspaceError, match="/not/here: No such file"):
        await box.start(["true"], directory="/not/here", environment={}, tty=False)


async def test_command_that_is_too_long_is_refused(box: Box) -> None:
    with pytest.raises(WorkspaceError, match="too long"):
        await begin(box, "echo", "x" * 300_000)
    assert (await run(box, 'echo "${#1}"', "x" * 120_000)).output == "120000\n"


async def test_command_with_a_nul_in_it_is_refused(box: Box) -> None:
    with pytest.raises(WorkspaceError, match="NUL"):
        await begin(box, "echo", "a\0b")


@pytest.mark.parametrize("tty", [False, True])
async def test_deep_tree_that_ignores_every_wish_is_killed_within_a_second(
    box: Box, *, tty: bool
) -> None:
    child = await begin(box, "/bin/sh", "-c", DEEP, tty=tty)
    await read_until(child, "deep")
    everyone = Watched.below(root_of(box))
    assert len(everyone.pids) >= 4
    async with within(1):
        await child.kill()
    assert await child.wait() == -signal.SIGKILL
    assert await everyone.gone() == []
    child.close()


async def test_kill_returns_once_nothing_runs(box: Box) -> None:
    for _ in range(5):
        child = await begin(box, "/bin/sh", "-c", DEEP)
        await read_until(child, "deep")
        await child.kill()
        assert [pid for pid in below(root_of(box)) if "deep" in _command(pid)] == []
        child.close()


async def test_those_who_are_spared_go_on(box: Box) -> None:
    child = await begin(box, "/bin/bash", "--norc", tty=True, environment={"PS1": "$ "})
    assert child.tty is not None
    os.write(child.tty, b"stty -echo\n")
    await read_until(child, "stty -echo\r\n$ ")
    os.write(child.tty, b"(setsid sh -c 'sleep 4321' &); sleep 99 & echo be''gun; sleep 1234\n")
    await read_until(child, "begun")
    # One that it starts after those who were found are gone would be a new command's.
    await until(lambda: len(sleeping(box)) == 3)
    await child.kill(spare=[child.pid])
    os.write(child.tty, b"echo st''ill $$\n")
    assert f"still {child.pid}" in await read_until(child, "still")
    assert sleeping(box) == []
    await child.kill()
    child.close()


async def test_daemons_of_a_process_that_has_ended_can_still_be_killed(box: Box) -> None:
    child = await begin(box, "/bin/sh", "-c", "(setsid sleep 1000 &); (setsid sleep 1000 &)")
    assert await child.wait() == 0
    await until(lambda: len(sleeping(box)) == 2)
    everyone = Watched(sleeping(box))
    await child.kill()
    assert await everyone.gone() == []
    await child.kill()
    child.close()


async def test_killing_one_process_leaves_the_others(box: Box) -> None:
    one, other = [await begin(box, "/bin/sh", "-c", "echo up; cat") for _ in range(2)]
    await read_until(one, "up")
    await read_until(other, "up")
    await one.kill()
    assert other.stdin is not None
    os.write(other.stdin, b"still here")
    await read_until(other, "still here")
    one.close()
    other.close()


async def test_close_ends_everything_and_may_be_repeated(box: Box) -> None:
    child = await begin(box, "/bin/sh", "-c", DEEP)
    await read_until(child, "deep")
    everyone = Watched.below(root_of(box))
    waiting = asyncio.ensure_future(box.wait())
    await box.close()
    await box.close()
    async with asyncio.timeout(DEADLINE):
        await waiting
        assert await child.wait() == -signal.SIGKILL
    assert await everyone.gone() == []
    assert not box.is_open
    await child.kill()
    await child.interrupt()
    child.close()
    with pytest.raises(WorkspaceGone):
        await begin(box, "true")


async def test_start_that_is_cancelled_leaves_nothing(box: Box) -> None:
    marker = f"98765.{os.getpid()}"
    starting = asyncio.ensure_future(begin(box, "sleep", marker))
    await asyncio.sleep(0)
    starting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await (await starting).kill()
    # The keeper takes orders one by one: this one came after it.
    assert (await run(box, "echo on")).output == "on\n"
    await until(lambda: commands(marker) == [])


async def test_many_at_once(box: Box) -> None:
    ran = await asyncio.gather(*[run(box, "echo $1; exit $1", str(n)) for n in range(30)])
    assert ran == [(n, f"{n}\n") for n in range(30)]


async def test_nothing_stays_open_here(box: Box) -> None:
    await run(box, "true")
    before = open_files()
    for _ in range(10):
        await run(box, "true")
        with pytest.raises(WorkspaceError):
            await begin(box, "nonesuch")
        child = await begin(box, "/bin/sh", tty=True)
        await child.kill()
        child.close()
    # The end of the last one is heard of a moment later.
    await until(lambda: open_files() <= before)


async def test_boxes_of_one_sandbox_do_not_share_a_fate(tmp_path: Path) -> None:
    for kind in KINDS:
        async with sandbox_of(kind) as sandbox:
            ground = ground_in(tmp_path, kind)
            one, other = [await sandbox.open(ground, network=False) for _ in range(2)]
            child = await begin(other, "cat")
            await one.close()
            assert other.is_open
            assert (await run(other, "echo on")).output == "on\n"
            await sandbox.close()
            assert await child.wait() == -signal.SIGKILL
            assert not other.is_open
            child.close()


async def test_sandbox_goes_on_after_what_starts_its_boxes_has_died(tmp_path: Path) -> None:
    for kind in KINDS:
        async with sandbox_of(kind) as sandbox:
            ground = ground_in(tmp_path, kind)
            before = await sandbox.open(ground, network=False)
            spawner = spawner_of()
            os.kill(spawner, signal.SIGKILL)
            async with asyncio.timeout(DEADLINE):
                await before.wait()
            after = await sandbox.open(ground, network=False)
            assert spawner_of() != spawner
            assert (await run(after, "echo on")).output == "on\n"


COMET = """
import os
os.write(1, b"up")
for _ in range(50_000):
    if os.fork():
        os._exit(0)
"""
"""Never the same process for longer than it takes to fork."""


async def test_comet_is_caught(box: Box) -> None:
    child = await begin(box, "python3", "-c", COMET)
    await read_until(child, "up")
    async with within(3):
        await child.kill()
    supervisors = [pid for pid in below(root_of(box)) if "-c" in _command(pid)]
    assert supervisors == []
    child.close()


def memory(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


async def test_flood_of_output_costs_the_keeper_nothing(box: Box) -> None:
    keeper = root_of(box)
    before = sum(map(memory, [keeper, *below(keeper)]))
    child = await begin(box, "/bin/sh", "-c", "head -c 50000000 /dev/zero; exec cat")
    assert child.output is not None
    seen = 0
    while seen < 50_000_000:
        seen += len(await read_until(child, "\0"))
    after = sum(map(memory, [keeper, *below(keeper)]))
    assert after - before < 20_000_000
    await child.kill()
    child.close()


async def test_scratch_is_for_what_is_thrown_away(box: Box) -> None:
    script = "cd /var/tmp" if box.kind == "bubblewrap" else 'cd "$TMPDIR"'
    assert (await run(box, f"{script} && echo x > file")).status == 0
    assert (box.ground.scratch / "file").read_text() == "x\n"


async def test_box_goes_before_roost_when_memory_runs_out(box: Box) -> None:
    ours = int(Path("/proc/self/oom_score_adj").read_text())
    theirs = int((await run(box, "cat /proc/self/oom_score_adj")).output)
    assert theirs >= max(ours, 500)


async def test_kinds_say_what_they_are(tmp_path: Path) -> None:
    kinds: list[tuple[SandboxKind, bool]] = []
    for kind in KINDS:
        async with box_in(tmp_path, kind) as box:
            kinds.append((box.kind, box.network))
    assert kinds == [("local", True), ("bubblewrap", False)]
