"""Attachments and large tool outputs: immutable, named by their content."""

import asyncio
import errno
import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Coroutine, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from roost.core.errors import (
    FilesFull,
    NotFound,
    StoreFull,
    StoreUnavailable,
)
from roost.core.ids import BlobId, SessionId, UserId
from roost.store.operations import Engine, Operation, every, maybe, one, query, reading, writing
from roost.testing import faults

MEGABYTE = 1_000_000
CHUNK = 1 << 18


class Blob(msgspec.Struct, frozen=True, array_like=True):
    id: BlobId
    media_type: str
    size: int


class Owned(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A blob among those of one of its users."""

    user: UserId
    id: BlobId


class Draft(msgspec.Struct, frozen=True):
    """Bytes that are there but not yet under their own name."""

    path: Path
    id: BlobId
    size: int


class BlobBytes(Protocol):
    """Where the bytes are: in files beside SQLite, in rows on PostgreSQL."""

    async def draft(self, chunks: AsyncIterator[bytes]) -> Draft: ...

    def place(self, draft: Draft) -> Operation[None]:
        """What of a draft is stored in the transaction that registers it."""
        ...

    async def keep(self, draft: Draft) -> None:
        """It is registered: give the bytes their name, durably."""
        ...

    def read(self, engine: Engine, blob: Blob) -> AsyncIterator[bytes]: ...

    def forget(self, blob: BlobId) -> Operation[None]:
        """What of bytes that no row of any user names is removed in the transaction that forgets
        the last one."""
        ...

    async def remove(self, engine: Engine, forgotten: Sequence[Owned]) -> None:
        """What is removed after it."""
        ...


async def write_draft(folder: Path, chunks: AsyncIterator[bytes]) -> Draft:
    """Bytes as they come, in a file of their own, on the disk when this returns."""
    path = folder / secrets.token_hex(16)
    try:
        return await _write(path, chunks)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise explain(error, folder) from error
        raise


async def _write(path: Path, chunks: AsyncIterator[bytes]) -> Draft:
    digest, size = hashlib.sha256(), 0
    with path.open("xb") as file:
        async for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            await asyncio.to_thread(file.write, chunk)
        faults.reach("blob.write.before")
        await asyncio.to_thread(_flush, file)
    return Draft(path, BlobId(digest.hexdigest()), size)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


class Blobs:
    """A user's blobs. One that no session names is forgotten after a day."""

    def __init__(self, engine: Engine, user: UserId, bytes: BlobBytes) -> None:
        self.engine = engine
        self._user = user
        self._bytes = bytes

    async def put(
        self, chunks: AsyncIterator[bytes], media_type: str, *, most: int | None = None
    ) -> Blob:
        """Store bytes; they are durable when this returns. The same bytes are stored once. With
        them all of this user's blobs take at most so many bytes, or FilesFull.

        The row comes before the bytes have their name: whoever removes those that no row names
        can't take these away in between.
        """
        if most is not None:
            await self.check_room(most)
        draft = await self._bytes.draft(chunks)
        blob = Blob(draft.id, media_type, draft.size)
        await _undivided(self._keep(blob, draft, most))
        faults.reach("blob.write.after")
        return blob

    async def _keep(self, blob: Blob, draft: Draft, most: int | None) -> None:
        try:
            await self._register(blob, draft, most)
            await self._bytes.keep(draft)
        except BaseException:
            draft.path.unlink(missing_ok=True)
            raise

    async def put_bytes(self, data: bytes, media_type: str, *, most: int | None = None) -> Blob:
        async def pieces() -> AsyncIterator[bytes]:
            """All at once would be hashed at once, and hold up everyone."""
            for start in range(0, len(data), CHUNK):
                yield data[start : start + CHUNK]

        return await self.put(pieces(), media_type, most=most)

    @reading
    def check_room(self, most: int) -> Operation[None]:
        """Before anything is sent in vain."""
        used = one((yield query("size_of_blobs", user=self._user)), int)
        if used >= most:
            raise FilesFull(used=used / MEGABYTE, most=most / MEGABYTE)

    @writing
    def _register(self, blob: Blob, draft: Draft, most: int | None) -> Operation[None]:
        yield query(
            "put_blob",
            user=self._user,
            blob=blob.id,
            media_type=blob.media_type,
            size=blob.size,
        )
        if most is not None:
            # With those that came at the same time.
            used = one((yield query("size_of_blobs", user=self._user)), int)
            if used > most:
                raise FilesFull(used=(used - blob.size) / MEGABYTE, most=most / MEGABYTE)
        yield from self._bytes.place(draft)

    @reading
    def get(self, blob: BlobId) -> Operation[Blob]:
        found = maybe((yield query("get_blob", user=self._user, blob=blob)), Blob)
        if found is None:
            raise NotFound("attachment", blob)
        return found

    @reading
    def of_session(self, session: SessionId) -> Operation[list[Blob]]:
        return every((yield query("blobs_of_session", user=self._user, session=session)), Blob)

    async def read(self, blob: BlobId) -> AsyncIterator[bytes]:
        """The bytes of a blob that this user may see, in pieces."""
        found = await self.get(blob)
        async for chunk in self._bytes.read(self.engine, found):
            yield chunk

    async def read_bytes(self, blob: BlobId) -> bytes:
        return b"".join([chunk async for chunk in self.read(blob)])


async def _undivided(work: Coroutine[None, None, None]) -> None:
    """To its end, also where the caller is cancelled, who waits for that: a row whose bytes were
    let go would be taken for stored."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def explain(error: OSError, folder: Path) -> StoreFull | StoreUnavailable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(path=folder)
    return StoreUnavailable(error.strerror or str(error), path=folder)
