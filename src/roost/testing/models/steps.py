"""What to send and when, and what a rough connection makes of it."""

import random
from collections.abc import Iterable, Iterator
from itertools import cycle, repeat

import msgspec

from roost.testing.models.script import Quirk, Reply

KEEP_ALIVE = b": keep-alive\n\n"


class Wait(msgspec.Struct, frozen=True):
    seconds: float


class Hold(msgspec.Struct, frozen=True):
    """Until released."""


class Drop(msgspec.Struct, frozen=True):
    """The connection."""


Step = bytes | Wait | Hold | Drop


def quirky(steps: list[Step], quirks: frozenset[Quirk]) -> list[Step]:
    """Events the way some servers frame them."""
    if "keep_alive" in quirks:
        steps = [KEEP_ALIVE + step if isinstance(step, bytes) else step for step in steps]
    if "no_final_newline" in quirks and steps and isinstance(steps[-1], bytes):
        steps = [*steps[:-1], steps[-1].rstrip(b"\n")]
    if "crlf" in quirks:
        steps = [
            step.replace(b"\n", b"\r\n") if isinstance(step, bytes) else step for step in steps
        ]
    return steps


def split(steps: list[Step], reply: Reply) -> list[Step]:
    """The same bytes in pieces of other sizes, each sent by itself."""
    if not reply.sizes and reply.seed is None:
        return steps
    sizes = cycle(reply.sizes) if reply.sizes else _random_sizes(reply.seed)
    cut: list[Step] = []
    for step in _runs(steps):
        if not isinstance(step, bytes):
            cut.append(step)
            continue
        at = 0
        while at < len(step):
            size = max(1, next(sizes))
            cut += [step[at : at + size], Wait(0)]
            at += size
    return cut


def _random_sizes(seed: int | None) -> Iterator[int]:
    choose = random.Random(seed)  # noqa: S311 - the same sizes for the same seed
    return (choose.randint(1, 64) for _ in repeat(None))


def _runs(steps: Iterable[Step]) -> Iterator[Step]:
    """Bytes that follow each other, put together."""
    run: list[bytes] = []
    for step in steps:
        if isinstance(step, bytes):
            run.append(step)
            continue
        if run:
            yield b"".join(run)
            run = []
        yield step
    if run:
        yield b"".join(run)
