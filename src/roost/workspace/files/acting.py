"""Touching files as the user whose box it is: what the kernel refuses them, it refuses us."""

import ctypes
from collections.abc import Generator
from contextlib import contextmanager

_ASK = -1
"""No user's number: naming it changes nothing and tells who it is now."""


@contextmanager
def acting_as(owner: int | None) -> Generator[None]:
    """Until it ends, this thread reads, makes and changes files as `owner`, and what it makes is
    theirs. Only root has to: without this, a link or a file mode that stops the box would not stop
    Roost. It is Linux's alone, as is an owner."""
    if owner is None:
        yield
        return
    libc = ctypes.CDLL(None)
    group, user = libc.setfsgid(owner), libc.setfsuid(owner)
    try:
        if (libc.setfsgid(_ASK), libc.setfsuid(_ASK)) != (owner, owner):
            raise PermissionError(f"Roost may not act as the user {owner}.")
        yield
    finally:
        libc.setfsuid(user)
        libc.setfsgid(group)
