"""What has to be known of structs before there are threads."""

import threading
from collections.abc import Iterator
from contextlib import suppress

import msgspec

_learning = threading.Lock()


def learn_structs() -> None:
    """Two threads that are the first to decode a kind of struct crash the process: one goes by what
    the other has half found out about it (msgspec 0.22). So this finds out about all kinds that
    there are, in milliseconds, before a store begins to use threads."""
    with _learning:
        for kind in _below(msgspec.Struct):
            if kind.__module__.startswith("roost."):
                with suppress(TypeError):  # it is never decoded, and could not be
                    msgspec.json.Decoder(kind)


def _below(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)
