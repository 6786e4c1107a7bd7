"""The bytes of blobs as files, beside the database."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from roost.core.errors import BytesMissing
from roost.core.ids import BlobId
from roost.store.blobs import CHUNK, Blob, Draft, Owned, explain, write_draft
from roost.store.folder import sync_folder, unusable
from roost.store.operations import Engine, Operation, query


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
            raise unusable(folder, error) from error

    def path(self, blob: BlobId) -> Path:
        return self.folder / blob[:2] / blob

    async def draft(self, chunks: AsyncIterator[bytes]) -> Draft:
        return await write_draft(self._drafts, chunks)

    def place(self, draft: Draft) -> Operation[None]:
        yield from ()

    async def keep(self, draft: Draft) -> None:
        try:
            await asyncio.to_thread(self._keep, draft)
        except OSError as error:
            raise explain(error, self.folder) from error

    def _keep(self, draft: Draft) -> None:
        target = self.path(draft.id)
        with self.lock:
            if not target.parent.exists():
                target.parent.mkdir(mode=0o700)
                sync_folder(self.folder)
            draft.path.replace(target)
            sync_folder(target.parent)

    async def read(self, engine: Engine, blob: Blob) -> AsyncIterator[bytes]:
        try:
            with self.path(blob.id).open("rb") as file:
                while chunk := await asyncio.to_thread(file.read, CHUNK):
                    yield chunk
        except FileNotFoundError as error:
            # A crash came between the row and the file, or somebody removed it.
            raise BytesMissing(id=blob.id, path=self.folder) from error
        except OSError as error:
            raise explain(error, self.folder) from error

    def forget(self, blob: BlobId) -> Operation[None]:
        """Not before it is durable that no row names it."""
        yield from ()

    async def remove(self, engine: Engine, forgotten: Sequence[Owned]) -> None:
        """Their rows go last: of a round that was stopped, they tell the next what is left."""
        for blob in {each.id for each in forgotten}:
            await engine.read(partial(self._remove_if_unnamed, blob))
        await engine.write(partial(_drop, forgotten))

    def _remove_if_unnamed(self, blob: BlobId) -> Operation[None]:
        """One blob to a snapshot, taken under the lock: an older one would not show a row whose
        file was put in place since."""
        with self.lock:
            if not (yield query("blob_is_stored", blob=blob)):
                self.path(blob).unlink(missing_ok=True)


def _drop(forgotten: Sequence[Owned]) -> Operation[None]:
    yield query("drop_blobs", blobs=msgspec.json.encode(forgotten).decode())
