"""Attachments and large tool outputs: immutable, named by their content, files beside SQLite."""

import asyncio
import errno
import hashlib
import os
import secrets
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from roost.core.errors import DataFolderError, FilesFull, NotFound, StoreFull, StoreUnavailable
from roost.core.ids import BlobId, SessionId, UserId
from roost.store.folder import sync_folder
from roost.store.operations import Engine, Operation, every, maybe, one, query, reading, writing
from roost.testing import faults

MEGABYTE = 1_000_000
_CHUNK = 1 << 18


class Blob(msgspec.Struct, frozen=True, array_like=True):
    id: BlobId
    media_type: str
    size: int


class Draft(msgspec.Struct, frozen=True):
    """Bytes that are durable but not yet under their own name."""

    path: Path
    id: BlobId
    size: int


class BlobFiles:
    """The bytes, in `ab/abcdef...`; drafts in `new/`, which a start empties."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.Lock()
        """Held to put a file in place, and to remove one that no row names any more."""
        self._drafts = folder / "new"
        try:
            self._drafts.mkdir(mode=0o700, parents=True, exist_ok=True)
            for left_over in self._drafts.iterdir():
                left_over.unlink()
        except OSError as error:
            reason = f"{self._drafts}: {error.strerror}."
            raise DataFolderError(reason, folder=folder.parent) from error

    def path(self, blob: BlobId) -> Path:
        return self.folder / blob[:2] / blob

    async def draft(self, chunks: AsyncIterator[bytes]) -> Draft:
        path = self._drafts / secrets.token_hex(16)
        digest, size = hashlib.sha256(), 0
        try:
            with path.open("xb") as file:
                async for chunk in chunks:
                    digest.update(chunk)
                    size += len(chunk)
                    await asyncio.to_thread(file.write, chunk)
                faults.reach("blob.write.before")
                await asyncio.to_thread(_flush, file)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return Draft(path, BlobId(digest.hexdigest()), size)

    def keep(self, draft: Draft) -> None:
        """Give the bytes their name, durably. Blocks."""
        target = self.path(draft.id)
        with self.lock:
            if not target.parent.exists():
                target.parent.mkdir(mode=0o700)
                sync_folder(self.folder)
            draft.path.replace(target)
            sync_folder(target.parent)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


class Blobs:
    """A user's blobs. One that no session names is forgotten after a day."""

    def __init__(self, engine: Engine, user: UserId, files: BlobFiles) -> None:
        self.engine = engine
        self._user = user
        self._files = files

    async def put(
        self, chunks: AsyncIterator[bytes], media_type: str, *, most: int | None = None
    ) -> Blob:
        """Store bytes; they are durable when this returns. The same bytes are stored once. With
        them all of this user's blobs take at most so many bytes, or FilesFull.

        The row comes before the file has its name: whoever removes files that no row names can't
        take this one away in between.
        """
        if most is not None:
            await self.check_room(most)
        try:
            draft = await self._files.draft(chunks)
            blob = Blob(draft.id, media_type, draft.size)
            try:
                await self._register(blob, most)
            except BaseException:
                draft.path.unlink(missing_ok=True)
                raise
            await asyncio.to_thread(self._files.keep, draft)
        except OSError as error:
            raise _explain(error, self._files.folder) from error
        faults.reach("blob.write.after")
        return blob

    async def put_bytes(self, data: bytes, media_type: str, *, most: int | None = None) -> Blob:
        async def pieces() -> AsyncIterator[bytes]:
            """All at once would be hashed at once, and hold up everyone."""
            for start in range(0, len(data), _CHUNK):
                yield data[start : start + _CHUNK]

        return await self.put(pieces(), media_type, most=most)

    @reading
    def check_room(self, most: int) -> Operation[None]:
        """Before anything is sent in vain."""
        used = one((yield query("size_of_blobs", user=self._user)), int)
        if used >= most:
            raise FilesFull(used=used / MEGABYTE, most=most / MEGABYTE)

    @writing
    def _register(self, blob: Blob, most: int | None) -> Operation[None]:
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
        try:
            with self._files.path(found.id).open("rb") as file:
                while chunk := await asyncio.to_thread(file.read, _CHUNK):
                    yield chunk
        except FileNotFoundError as error:
            # A crash came between the row and the file, or somebody removed it. Putting the same
            # bytes again heals it.
            reason = f"the file of attachment {blob} is missing"
            raise StoreUnavailable(reason, path=self._files.folder) from error
        except OSError as error:
            raise _explain(error, self._files.folder) from error

    async def read_bytes(self, blob: BlobId) -> bytes:
        return b"".join([chunk async for chunk in self.read(blob)])


def _explain(error: OSError, folder: Path) -> StoreFull | StoreUnavailable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(path=folder)
    return StoreUnavailable(error.strerror or str(error), path=folder)


def remove_if_unnamed(files: BlobFiles, blob: BlobId) -> Operation[None]:
    """Remove the file of a blob that no row of any user names. One blob to a snapshot, taken under
    the lock: an older one would not show a row whose file was put in place since."""
    with files.lock:
        if not (yield query("blob_is_stored", blob=blob)):
            files.path(blob).unlink(missing_ok=True)
