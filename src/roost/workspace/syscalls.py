"""System calls that nothing in a box has a use for, and that have often been a way out of one."""

import os
import struct

_REFUSED = {
    # name: (x86_64, aarch64)
    "add_key": (248, 217),
    "bpf": (321, 280),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "request_key": (249, 218),
    "setns": (308, 268),
    "umount2": (166, 39),
    "userfaultfd": (323, 282),
}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Which of the numbers, and how the kernel names the machine."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | 1
"""With EPERM: programs know how to go on without."""

_NUMBER, _MACHINE = 0, 4
_X32 = 0x40000000
"""On x86_64, the same calls have other numbers from here on."""


def numbers(machine: str | None = None) -> dict[str, int]:
    """The refused calls on a machine; none where they are not known."""
    machine = machine or os.uname().machine
    if machine not in _MACHINES:
        return {}
    column, _ = _MACHINES[machine]
    return {name: columns[column] for name, columns in _REFUSED.items()}


def program(machine: str | None = None) -> bytes | None:
    """The filter, as the kernel takes it. Calls in the way of another machine, such as those of
    32-bit programs, are refused altogether: their numbers mean something else."""
    machine = machine or os.uname().machine
    if machine not in _MACHINES:
        return None
    _, name = _MACHINES[machine]
    refuse = _step(_RETURN, _REFUSE)
    steps = [
        *(_step(_LOAD, _MACHINE), _step(_EQUAL, name, 1, 0), refuse),
        *(_step(_LOAD, _NUMBER), _step(_AT_LEAST, _X32, 0, 1), refuse),
    ]
    for number in numbers(machine).values():
        steps += [_step(_EQUAL, number, 0, 1), refuse]
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Jumps say how many steps to leave out."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
