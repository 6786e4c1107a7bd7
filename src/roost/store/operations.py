"""How the store's operations are written: once, as generators that yield queries and get rows.

An operation knows nothing of a driver. The engine runs it in one transaction, from its first query
to its return, and may run it again from the start if that transaction could not be committed.
"""

from collections.abc import Callable, Generator
from functools import partial
from types import CoroutineType
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import msgspec

from roost.store.figures import CommitFigures

SqlValue = None | int | float | str | bytes
Row = tuple[SqlValue, ...]
Rows = list[Row]

T = TypeVar("T")
P = ParamSpec("P")


class Query(msgspec.Struct, frozen=True):
    name: str
    parameters: dict[str, SqlValue]


Operation = Generator[Query, Rows, T]


class Engine(Protocol):
    """What a database has to offer; everything else in the store is written on top of this."""

    async def write(self, operation: Callable[[], Operation[T]], *, vital: bool = False) -> T:
        """Run it in a transaction and return once that is durable. A cancelled caller's operation
        still runs to its end. Those on one session run in the order in which they were asked for;
        what is `vital` waits behind nobody who is not."""
        ...

    async def read(self, operation: Callable[[], Operation[T]]) -> T:
        """Run it on one consistent snapshot, which includes every write answered before."""
        ...

    @property
    def figures(self) -> CommitFigures:
        """How its commits go."""
        ...


class OnEngine(Protocol):
    @property
    def engine(self) -> Engine: ...


S = TypeVar("S", bound=OnEngine)


# `async def` makes a `CoroutineType`: so a protocol can be filled with these operations. In quotes:
# Python 3.11 does not know its parameters.


def writing(
    method: Callable[Concatenate[S, P], Operation[T]],
) -> "Callable[Concatenate[S, P], CoroutineType[None, None, T]]":
    """Make an operation a coroutine that runs it as one durable transaction."""

    async def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.engine.write(partial(method, self, *args, **kwargs))

    run.__doc__ = method.__doc__
    run.__name__ = method.__name__
    return run


def keeping(
    method: Callable[Concatenate[S, P], Operation[T]],
) -> "Callable[Concatenate[S, P], CoroutineType[None, None, T]]":
    """Like `writing`, for what tells others that this server works: with many turns at once it
    would come too late behind theirs, and they would be taken from it."""

    async def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.engine.write(partial(method, self, *args, **kwargs), vital=True)

    run.__doc__ = method.__doc__
    run.__name__ = method.__name__
    return run


def reading(
    method: Callable[Concatenate[S, P], Operation[T]],
) -> "Callable[Concatenate[S, P], CoroutineType[None, None, T]]":
    """Make an operation a coroutine that runs it on one snapshot."""

    async def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.engine.read(partial(method, self, *args, **kwargs))

    run.__doc__ = method.__doc__
    run.__name__ = method.__name__
    return run


def query(name: str, /, **parameters: SqlValue) -> Query:
    return Query(name, parameters)


def maybe(rows: Rows, shape: type[T]) -> T | None:
    """The first row as a struct (or, if it has one column, as that value), or None."""
    if not rows:
        return None
    row = rows[0]
    found = row if isinstance(shape, msgspec.StructMeta) else row[0]
    return msgspec.convert(found, shape, strict=False)


def one(rows: Rows, shape: type[T]) -> T:
    """The first row, which must be there."""
    found = maybe(rows, shape)
    assert found is not None, "the statement always returns a row"
    return found


def every(rows: Rows, shape: type[T]) -> list[T]:
    return msgspec.convert(rows, list[shape], strict=False)
