"""The store that is moved: a data folder that nobody else uses meanwhile, and that is only read."""

import hashlib
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from roost.core.errors import Conflict, DataFolderError, StoreUnavailable
from roost.store.blobs import CHUNK
from roost.store.cipher import VARIABLE, Cipher, has_key, load_key
from roost.store.folder import BLOBS, DATABASE, KEY, OwnerLock, this_process
from roost.store.migrations import SCHEMA_VERSION, load
from roost.store.moving.tables import PIECES, Table
from roost.store.operations import Row, SqlValue
from roost.store.sqlite.connect import Connection, connect_reader, explained
from roost.store.sqlite.schema import check_before_opening, is_unborn
from roost.store.sqlite.swap import database_of, finish

_COUNT_PIECES = f"""
SELECT coalesce(sum((size + {CHUNK} - 1) / {CHUNK}), 0)
FROM (SELECT max(size) AS size FROM blobs WHERE used_at >= 0 GROUP BY id)
"""  # noqa: S608 (a number of ours)


class Source:
    """Whatever is odd about it is noted while it is read."""

    def __init__(self, connection: Connection, folder: Path, cipher: Cipher) -> None:
        self.folder = folder
        self.cipher = cipher
        self.missing: set[str] = set()
        """Attachments whose file is not there."""
        self.damaged: set[str] = set()
        """Attachments whose bytes are not those they were."""
        self.unstorable: set[str] = set()
        """Tables with text that holds a NUL, which PostgreSQL does not take."""
        self._connection = connection

    @property
    def identity(self) -> str:
        """The same as long as it is this store: when its tables were made, and its key."""
        made = self._connection.rows("SELECT version, digest, applied_at FROM schema ORDER BY 1")
        seen = msgspec.json.encode(made) + self.cipher.signing_key
        return hashlib.sha256(seen).hexdigest()

    def count(self, table: Table) -> int:
        sql = _COUNT_PIECES if table is PIECES else f"SELECT count(*) FROM {table.source}"  # noqa: S608
        return msgspec.convert(self._connection.rows(sql)[0][0], int)

    def count_live_facts(self) -> int:
        sql = "SELECT count(*) FROM facts WHERE forgotten_at IS NULL"
        return msgspec.convert(self._connection.rows(sql)[0][0], int)

    def rows(self, table: Table, columns: Sequence[str]) -> Iterator[Row]:
        """All of a table, one by one in order of its key, as PostgreSQL is to have them."""
        if table is PIECES:
            yield from self._pieces()
            return
        named = [f"{table.taken.get(each, each)} AS {each}" for each in columns]
        sql = f"SELECT {', '.join(named)} FROM {table.source} ORDER BY {', '.join(table.key)}"  # noqa: S608
        for row in self._connection.each(sql):
            if any(isinstance(value, str) and "\0" in value for value in row):
                self.unstorable.add(table.name)
                yield tuple([_storable(value) for value in row])
            else:
                yield row

    def _pieces(self) -> Iterator[Row]:
        """Not of those that are being forgotten: their files may be gone before their rows."""
        sql = "SELECT DISTINCT id FROM blobs WHERE used_at >= 0 ORDER BY id"
        for (blob,) in self._connection.rows(sql):
            try:
                yield from self._pieces_of(str(blob))
            except FileNotFoundError:
                self.missing.add(str(blob))
            except OSError as error:
                raise StoreUnavailable(error.strerror or str(error), path=error.filename) from error

    def _pieces_of(self, blob: str) -> Iterator[Row]:
        digest, number = hashlib.sha256(), 0
        with (self.folder / BLOBS / blob[:2] / blob).open("rb") as file:
            while data := file.read(CHUNK):
                digest.update(data)
                yield (blob, number, data)
                number += 1
        if digest.hexdigest() != blob:
            self.damaged.add(blob)

    def check_secrets(self) -> None:
        """The key at hand is the one that they were sealed with."""
        for user, name, sealed in self._connection.rows(
            "SELECT user_id, name, sealed FROM secrets"
        ):
            if isinstance(sealed, bytes):
                self.cipher.open(sealed, owner=str(user), name=str(name))


def _storable(value: SqlValue) -> SqlValue:
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


@contextmanager
def opened(folder: Path, environ: Mapping[str, str], version: str) -> Generator[Source]:
    """Take the folder, and look whether what is in it can be moved."""
    path = folder / DATABASE
    if is_unborn(database_of(folder)):
        raise DataFolderError("there is no store in it. Nothing to move.", folder=folder)
    if not has_key(folder, environ):
        reason = f"its {KEY} is missing. Put it back, or set {VARIABLE} as for the server."
        raise DataFolderError(reason, folder=folder)
    lock = OwnerLock(folder, this_process(version, round(time.time() * 1000)))
    try:
        finish(folder)
        with explained(path):
            _check_schema(path)
            connection = connect_reader(path)
            try:
                source = Source(connection, folder, Cipher(load_key(folder, environ)))
                source.check_secrets()
                yield source
            finally:
                connection.close()
    finally:
        lock.release()


def _check_schema(path: Path) -> None:
    found = check_before_opening(path, load("sqlite")).version
    if found != SCHEMA_VERSION:
        raise Conflict(
            f"The store {path} has the schema {found}, and this Roost's is {SCHEMA_VERSION}. Start "
            "this Roost on it once, which brings it up to date, and stop it again."
        )
