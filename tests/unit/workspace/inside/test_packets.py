"""Messages to and from a box."""

import os
import socket

import pytest

from roost.workspace.channel import pair
from roost.workspace.inside.packets import LARGEST, receive, send


def test_fields_and_files_arrive_together() -> None:
    ours, theirs = pair()
    read, write = os.pipe()
    with ours, theirs:
        send(ours, [b"start", b"", "größer".encode(), b"=\n="], [write, read])
        send(ours, [b"next"])
        fields, (copy, other) = receive(theirs)
        assert fields == [b"start", b"", "größer".encode(), b"=\n="]
        os.write(copy, b"through it")
        assert os.read(read, 100) == b"through it"
        assert not os.get_inheritable(copy)
        assert receive(theirs) == ([b"next"], [])
    for fd in (read, write, copy, other):
        os.close(fd)


def test_largest_message_fits() -> None:
    ours, theirs = pair()
    with ours, theirs:
        send(ours, [b"x" * LARGEST])
        assert receive(theirs) == ([b"x" * LARGEST], [])


def test_end_is_a_message_without_fields() -> None:
    ours, theirs = pair()
    with theirs:
        ours.close()
        assert receive(theirs) == ([], [])


def test_nothing_to_read_does_not_block_here() -> None:
    ours, theirs = pair()
    with ours, theirs, pytest.raises(BlockingIOError):
        receive(ours)
    assert isinstance(ours, socket.socket)
