"""Attempts to get out of a box, to see what is outside, to take more than a share: all fail."""

import asyncio
import errno
import os
import shlex
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from roost.core.errors import WorkspaceError
from roost.workspace.base import Box, Folder, Ground
from roost.workspace.bubblewrap import Limits
from roost.workspace.syscalls import numbers
from tests.boxes import (
    AS_ROOT,
    DEADLINE,
    HOME,
    begin,
    box_in,
    ground_in,
    own,
    python,
    read_until,
    run,
    sandbox_of,
)

MB = 1 << 20
SECRET = "the-secret-of-the-house"  # noqa: S105
SMALL = Limits(processes=40, tmp=2 * MB, shared=1 * MB, file=8 * MB, files=64)


@pytest.fixture
def data() -> Generator[Path]:
    """A data folder that anyone on the machine may read: nothing but the box protects it."""
    with tempfile.TemporaryDirectory(prefix="roost-data-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        own(folder)
        (folder / "roost.db").write_text(SECRET)
        yield folder


@pytest.fixture
async def box(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Box]:
    assert (data / "roost.db").exists()
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("ROOST_SECRET", SECRET)
    shown = tmp_path / "shown"
    own(shown)
    (shown / "file").write_text("as it was")
    async with box_in(tmp_path, "bubblewrap", Folder(shown, "/shown"), limits=SMALL) as box:
        yield box


LOOKS = {
    "the data folder by its path": "cat {data}/roost.db",
    "the folders above the workspace": f"cd {HOME}; cd -P ../../..; cat .{{data}}/roost.db",
    "a link to the data folder": "ln -s {data} {home}/l; cat {home}/l/roost.db",
    "the root of the first process": "cat /proc/1/root{data}/roost.db",
    "the root of its parent": "cat /proc/$PPID/root{data}/roost.db /proc/$PPID/cwd{data}/*",
    "its own root, upwards": "cat /proc/self/root/../../..{data}/roost.db",
    "the process that holds the box": "cat /proc/{server}/environ /proc/{server}/root{data}/*",
    "the environment of the first process": "cat /proc/1/environ",
    "the environment of all processes": "cat /proc/[0-9]*/environ",
    "the memory of the first process": "cat /proc/1/maps /proc/1/mem",
    "open files of the first process": "cat /proc/1/fd/*",
    "its own environment": "env; set; export",
    "a home": "ls -A ~root /home/* && cat /root/.ssh/*",
    "passwords": "cat /etc/shadow /etc/gshadow /etc/sudoers",
    "secrets of the machine": "cat /etc/ssh/* /etc/ssl/private/* /etc/machine-id",
    "where things are mounted from": "cat $(cut -d ' ' -f 4 /proc/self/mountinfo)",
    "disks": "cat /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmsg",
    "sockets of services": "cat /run/docker.sock /run/dbus/* /run/user/*/* /run/systemd/private",
    "the old root": "ls /oldroot /.oldroot /old_root /newroot",
}


@pytest.mark.parametrize("script", LOOKS.values(), ids=LOOKS)
async def test_secrets_outside_are_not_seen(box: Box, data: Path, script: str) -> None:
    words = {"data": data, "server": os.getpid(), "home": HOME}
    seen = await run(box, script.format(**words))
    assert SECRET not in seen.output
    assert "PRIVATE KEY" not in seen.output
    assert not any(line.startswith("root:") for line in seen.output.splitlines())


READS_NOTHING = {
    "passwords": "/etc/shadow",
    "the machine's users": "/home",
    "kernel settings of devices": "/sys/class",
    "what is kept in memory": "/dev/mem",
    "logs": "/var/log",
    "services": "/run/systemd",
    "the folder of the tests": str(Path(__file__).parent),
    "the program of Roost": str(Path(__file__).parents[2] / "src"),
}


@pytest.mark.parametrize("path", READS_NOTHING.values(), ids=READS_NOTHING)
async def test_paths_of_the_machine_are_not_there(box: Box, path: str) -> None:
    assert (await run(box, 'test -e "$1"', path)).status == 1


POWERS = {
    "mount a folder": "mount --bind /usr /workspace",
    "mount something in memory": "mkdir m; mount -t tmpfs tmpfs m",
    "make what is shown writable": "mount -o remount,bind,rw /shown && echo x > /shown/file",
    "make the root writable": "mount -o remount,rw / && touch /x",
    "unmount what hides something": "umount -l /proc",
    "mount another /proc": "mkdir p; mount -t proc proc p",
    "make a user namespace": "unshare -U true",
    "make a user namespace, as root of it": "unshare -Ur id",
    "make a mount namespace": "unshare -m true",
    "make a PID namespace": "unshare -p true",
    "make a network": "unshare -n true",
    "another box in the box": "bwrap --ro-bind / / --unshare-user true",
    "join the namespaces of the first process": "nsenter -t 1 -m -U true",
    "become root": "setpriv --reuid 0 true",
    "become root, by su": "su -c true",
    "become root, by sudo": "sudo -n true",
    "give a file away": "touch f && chown 0:0 f",
    "a program that runs as root": "cp /usr/bin/id i && chmod u+s i && chown 0 i",
    "a device": "mknod d b 8 0",
    "another name for the machine": "hostname changed",
    "the clock": "date -s 2001-01-01",
    "another root": "chroot / true",
    "load a module": "modprobe loop || insmod x.ko",
    "kernel settings": "echo 1 > /proc/sys/kernel/panic",
    "the system's request key": "echo b > /proc/sysrq-trigger",
    "a dump handler": "echo '|/bin/sh' > /proc/sys/kernel/core_pattern",
    "the limit of namespaces": "echo 100 > /proc/sys/user/max_user_namespaces",
    "more processes": "ulimit -u 10000",
    "longer files": "ulimit -f unlimited",
    "spare its first process when memory runs out": "echo -1000 > /proc/self/oom_score_adj",
    "write to a folder that is only shown": "echo x > /shown/file",
    "remove from a folder that is only shown": "rm -f /shown/file && test ! -e /shown/file",
    "write to the root": "touch /x",
    "write to /etc": "echo x >> /etc/passwd",
    "write to /usr": "touch /usr/x",
    "write to the devices": "touch /dev/x",
    "write to /run": "touch /run/x /run/roost/x",
    "replace Python": "cp /bin/true {python}",
    "end the first process": "kill -9 1; kill -15 1; kill -2 1; kill -1 1; ! kill -0 1",
    "stop the first process": "kill -STOP 1; ! grep -q 'State:.T' /proc/1/status",
    "signal the process that holds the box": "kill -0 {server}",
    "trace the first process": 'python3 -c "{trace}"',
    "trace a process of the machine": 'python3 -c "{trace}" {server}',
    "another box's terminal": "ls /dev/pts | grep -v ptmx | grep .",
}
_EXPECTED = {"stop the first process": 0}
TRACE = (
    "import ctypes, sys; pid = int(sys.argv[1]) if sys.argv[1:] else 1; "
    "sys.exit(ctypes.CDLL(None).ptrace(16, pid, 0, 0) != 0)"
)


@pytest.mark.parametrize("name", POWERS)
async def test_powers_are_not_had(box: Box, tmp_path: Path, name: str) -> None:
    words = {"server": os.getpid(), "trace": TRACE, "python": Path(sys.executable).resolve()}
    tried = await run(box, POWERS[name].format(**words))
    assert bool(tried.status) is (name not in _EXPECTED), tried
    assert (tmp_path / "shown" / "file").read_text() == "as it was"
    assert (await run(box, "echo on")).output == "on\n"


CALL = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(ctypes.get_errno() if libc.syscall(int(sys.argv[1]), 0, 0, 0, 0, 0) == -1 else 0)
"""


@pytest.mark.skipif(not numbers(), reason="system calls of this machine are not known")
@pytest.mark.parametrize("name", ["keyctl", "io_uring_setup", "bpf", "userfaultfd", "mount"])
async def test_system_calls_that_lead_out_are_refused(box: Box, name: str) -> None:
    assert (await python(box, CALL, str(numbers()[name]))).status == errno.EPERM


async def test_no_capability_is_left(box: Box) -> None:
    status = (await run(box, "cat /proc/self/status")).output
    found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    for which in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(found[which], 16) == 0
    assert found["NoNewPrivs"] == "1"


async def test_processes_are_nobody_of_the_machine(box: Box) -> None:
    assert (await run(box, "id -un; id -u; id -G")).output == "agent\n1000\n1000\n"
    await run(box, "echo x > mine")
    status = (box.ground.home.host / "mine").stat()
    assert status.st_uid == (box.ground.owner if AS_ROOT else os.getuid())


async def test_only_its_own_processes_are_seen(box: Box) -> None:
    seen = (await run(box, "cd /proc; echo [0-9]*")).output.split()
    # The keeper, this shell and its supervisor.
    assert len(seen) <= 3
    assert str(os.getpid()) not in seen


async def test_first_process_can_not_be_ended_from_inside(box: Box) -> None:
    numbers = [number for number in signal.Signals if number != signal.SIGCHLD]
    for number in numbers:
        await run(box, f"kill -{int(number)} 1")
    assert box.is_open
    assert (await run(box, "echo on")).output == "on\n"


async def none_named(name: str, box: Box) -> None:
    """Those who were left alone are killed at once, and take a moment to go."""
    async with asyncio.timeout(DEADLINE):
        while name in (await run(box, "cat /proc/[0-9]*/comm")).output:
            pass


async def test_killed_supervisor_takes_its_processes_along(box: Box) -> None:
    script = "read now; sleep 1000 & (setsid sleep 1000 &); kill -9 $PPID; wait"
    child = await begin(box, "/bin/sh", "-c", script)
    assert child.stdin is not None
    os.write(child.stdin, b"now\n")
    async with asyncio.timeout(DEADLINE):
        assert await child.wait() == -signal.SIGKILL
    child.close()
    await none_named("sleep", box)
    assert box.is_open


async def test_stopped_supervisor_takes_its_processes_along(box: Box) -> None:
    child = await begin(box, "/bin/sh", "-c", "read now; kill -STOP $PPID; sleep 1000")
    assert child.stdin is not None
    os.write(child.stdin, b"now\n")
    async with asyncio.timeout(DEADLINE):
        assert await child.wait() == -signal.SIGKILL
    await child.kill()
    child.close()
    await none_named("sleep", box)


async def test_all_supervisors_killed_at_once(box: Box) -> None:
    child = await begin(box, "/bin/sh", "-c", "read now; kill -9 -1; echo still here")
    assert child.stdin is not None
    os.write(child.stdin, b"now\n")
    async with asyncio.timeout(DEADLINE):
        assert await child.wait() == -signal.SIGKILL
    child.close()
    assert (await run(box, "echo on")).output == "on\n"


@pytest.fixture
def listener() -> Generator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


CONNECT = """
import socket, sys
host, port = sys.argv[1:]
socket.create_connection((host, int(port)), timeout=5).close()
"""


async def test_no_network_unless_it_is_granted(tmp_path: Path, listener: socket.socket) -> None:
    port = str(listener.getsockname()[1])
    async with box_in(tmp_path, "bubblewrap") as closed:
        tried = await python(closed, CONNECT, "127.0.0.1", port)
        assert "Connection refused" in tried.output
        assert "resolv.conf" not in (await run(closed, "ls /etc")).output
        interfaces = (await run(closed, "cat /proc/net/dev")).output.splitlines()[2:]
        assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
    async with box_in(tmp_path, "bubblewrap", network=True) as granted:
        assert (await python(granted, CONNECT, "127.0.0.1", port)).status == 0


async def test_sockets_without_a_path_are_not_reached(box: Box) -> None:
    name = f"\0roost-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(name)
        listening.listen()
        code = "import socket, sys; socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1])"
        assert "Connection refused" in (await python(box, code, name[1:])).output


SESSIONS = 'setsid sh -c "$1" sh "$1" & setsid sh -c "$1" sh "$1" & sleep 1000'
BOMBS = {
    "that forks and forks": ":(){ :|:& }; :; sleep 1000",
    "whose parents end": "f() { ( f & ) ; ( f & ) ; }; f; sleep 1000",
    "in sessions of their own": f'b={shlex.quote(SESSIONS)}; sh -c "$b" sh "$b"',
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
async def test_fork_bomb_is_bounded_and_can_be_killed(box: Box, bomb: str) -> None:
    child = await begin(
        box, "/bin/bash", "-c", f"({bomb}) 2>/dev/null & echo lit; wait; sleep 1000"
    )
    await read_until(child, "lit")
    # In the same box, which is full: the keeper itself has no limit.
    other = await begin(box, "/bin/true")
    await other.wait()
    other.close()
    began = time.monotonic()
    await child.kill()
    assert time.monotonic() - began < 20
    child.close()
    assert box.is_open
    assert (await run(box, "cd /proc; ls -d [0-9]* | wc -l; echo on")).output.endswith("on\n")


async def test_number_of_processes_is_bounded(box: Box) -> None:
    code = """
import os, time
count = 0
try:
    while count < 200:
        if not os.fork():
            time.sleep(1000)
        count += 1
except OSError:
    print(count, flush=True)
os.killpg(0, 9)
"""
    ran = await python(box, code)
    assert 10 < int(ran.output) < SMALL.processes


FILLS = {
    "what is kept for a while": "head -c 4000000 /dev/zero > /tmp/x",
    "what is shared in memory": "head -c 4000000 /dev/zero > /dev/shm/x",
    "what is thrown away": "head -c 9000000 /dev/zero > /var/tmp/x",
    "the folder above": "touch /var/x",
    "/run": "head -c 4000000 /dev/zero > /run/x",
    "the root": "head -c 4000000 /dev/zero > /x",
    "a single file": "head -c 9000000 /dev/zero > x",
}


@pytest.mark.parametrize("script", FILLS.values(), ids=FILLS)
async def test_room_is_bounded(box: Box, script: str) -> None:
    assert (await run(box, script)).status


async def test_open_files_are_bounded(box: Box) -> None:
    code = "import os\ntry:\n  while True: print(os.dup(0))\nexcept OSError as e: print(e.strerror)"
    assert (await python(box, code)).output.splitlines()[-2:] == ["63", "Too many open files"]


async def test_memory_is_bounded_where_it_is_asked_for(tmp_path: Path) -> None:
    async with box_in(tmp_path, "bubblewrap", limits=Limits(memory=200 * MB)) as box:
        assert (await python(box, "print(len(bytearray(50 << 20)))")).status == 0
        assert "MemoryError" in (await python(box, "bytearray(300 << 20)")).output


async def test_crash_leaves_no_dump(box: Box) -> None:
    await run(box, "ulimit -c unlimited; sh -c 'kill -SEGV $$'")
    assert list(box.ground.home.host.iterdir()) == []


@pytest.mark.parametrize("where", ["the folder itself", "a folder above it"])
async def test_link_in_the_place_of_a_folder_is_refused(tmp_path: Path, where: str) -> None:
    secret = tmp_path / "secret" / "home"
    own(secret)
    (secret / "file").write_text(SECRET)
    ground = ground_in(tmp_path / "above", "bubblewrap")
    replaced = tmp_path / "above" if where == "a folder above it" else tmp_path / "above" / "home"
    target = tmp_path / "secret" if where == "a folder above it" else secret
    replaced.rename(tmp_path / "aside")
    replaced.symlink_to(target)
    async with sandbox_of("bubblewrap") as sandbox:
        with pytest.raises(WorkspaceError, match="can't be shown in a box"):
            await sandbox.open(ground, network=False)


async def test_folder_that_is_swapped_while_a_box_is_opened_is_noticed(tmp_path: Path) -> None:
    """Whoever swaps it for a link, again and again, never gets a box that shows the other one."""
    ground = ground_in(tmp_path, "bubblewrap")
    home, aside, secret = tmp_path / "home", tmp_path / "aside", tmp_path / "secret"
    own(secret)
    (secret / "file").write_text(SECRET)
    swapping = True

    def swap() -> None:
        while swapping:
            home.rename(aside)
            home.symlink_to(secret)
            home.unlink()
            aside.rename(home)

    async with sandbox_of("bubblewrap") as sandbox:
        swapper = asyncio.ensure_future(asyncio.to_thread(swap))
        opened = 0
        try:
            for _ in range(20):
                try:
                    box = await sandbox.open(ground, network=False)
                except WorkspaceError:
                    continue
                opened += 1
                assert SECRET not in (await run(box, f"cat {HOME}/file")).output
                await box.close()
        finally:
            swapping = False
            await swapper


@pytest.mark.parametrize("which", ["data", ".", ".."])
async def test_folder_that_holds_what_is_hidden_is_never_shown(tmp_path: Path, which: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    shown = Folder((tmp_path / which).resolve(), "/shown")
    ground = ground_in(tmp_path, "bubblewrap", shown)
    async with sandbox_of("bubblewrap", hidden=[data]) as sandbox:
        with pytest.raises(WorkspaceError, match="holds Roost's own"):
            await sandbox.open(ground, network=False)


async def test_link_made_inside_leads_nowhere_in_the_next_box(tmp_path: Path) -> None:
    ground = ground_in(tmp_path, "bubblewrap")
    inner = ground.home.host / "inner"
    nested = Ground(
        (*ground.folders, Folder(inner, "/inner", writable=True)), ground.scratch, ground.owner
    )
    own(inner)
    async with sandbox_of("bubblewrap") as sandbox:
        box = await sandbox.open(nested, network=False)
        await run(box, f"rmdir {HOME}/inner; ln -s /etc {HOME}/inner")
        await box.close()
        if inner.is_symlink():
            with pytest.raises(WorkspaceError, match="can't be shown in a box"):
                await sandbox.open(nested, network=False)
