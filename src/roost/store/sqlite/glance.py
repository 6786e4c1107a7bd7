"""A look at what the server has stored, beside whoever owns the folder: nothing is written."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from roost.core.clock import SystemClock
from roost.core.errors import StoreError, StoreFull, StoreUnavailable
from roost.store import statements
from roost.store.cipher import Cipher, has_key, read_key
from roost.store.figures import CommitFigures
from roost.store.operations import Operation
from roost.store.sqlite.readers import Readers
from roost.store.sqlite.repair import schema_of
from roost.store.sqlite.swap import database_of
from roost.store.users import SERVER, Secrets, Settings

T = TypeVar("T")


class Glance:
    def __init__(self, readers: Readers, cipher: Cipher) -> None:
        engine = _Looking(readers)
        self.settings = Settings(engine, SERVER)
        self.secrets = Secrets(engine, SERVER, cipher)


@contextmanager
def glance(folder: Path, environ: Mapping[str, str]) -> Generator[Glance | None]:
    """None where nothing is stored yet, or nothing could be sealed."""
    if not has_key(folder, environ) or schema_of(folder) is None:
        yield None
        return
    cipher = Cipher(read_key(folder, environ))
    readers = Readers(database_of(folder), statements.load("sqlite"), SystemClock())
    try:
        yield Glance(readers, cipher)
    finally:
        readers.close()


class _Looking:
    """An engine that only reads, and says at once that it can't: who looks tells what there is now,
    and does not wait for it to pass."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def read(self, operation: Callable[[], Operation[T]]) -> T:
        try:
            return await self._readers.read(operation)
        except (StoreFull, StoreUnavailable) as error:
            raise StoreError(str(error)) from error

    async def write(self, operation: Callable[[], Operation[T]], *, vital: bool = False) -> T:
        raise StoreError("it is only looked at here.")

    @property
    def figures(self) -> CommitFigures:
        return CommitFigures()
