"""The filter of system calls, run step by step as the kernel would."""

import struct

import pytest

from roost.workspace.syscalls import numbers, program

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, REFUSED = 0x7FFF0000, 0x00050001


def judged(machine: str, name: int, number: int) -> int:
    """What a filter says of a call."""
    content = program(machine)
    assert content is not None
    steps = list(struct.iter_unpack("=HBBI", content))
    at = loaded = 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        match code:
            case 0x20:
                loaded = {0: number, 4: name}[value]
            case 0x15:
                at += if_true if loaded == value else if_false
            case 0x35:
                at += if_true if loaded >= value else if_false
            case _:
                return value


@pytest.mark.parametrize("machine", MACHINES)
def test_every_listed_call_is_refused_and_no_other(machine: str) -> None:
    refused = set(numbers(machine).values())
    assert len(refused) == len(numbers(machine)) > 20
    for number in range(600):
        verdict = REFUSED if number in refused else ALLOWED
        assert judged(machine, MACHINES[machine], number) == verdict


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_by_other_numbers_are_refused(machine: str) -> None:
    assert judged(machine, 0x40000003, 1) == REFUSED
    assert judged(machine, MACHINES[machine], 0x40000001) == REFUSED


def test_machine_that_is_not_known_has_no_filter() -> None:
    assert program("riscv64") is None
    assert numbers("riscv64") == {}
