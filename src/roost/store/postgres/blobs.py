"""The bytes of blobs as rows: every server can read what any of them was given."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec

from roost.core.errors import BytesMissing
from roost.core.ids import BlobId
from roost.store.blobs import CHUNK, Blob, Draft, Owned, write_draft
from roost.store.operations import Engine, Operation, maybe, query


class _Piece(msgspec.Struct, frozen=True, array_like=True):
    data: bytes


class BlobRows:
    """Pieces of `CHUNK` bytes. Drafts are files in a folder of this server's, which a start
    empties: what is sent slowly holds no transaction open."""

    def __init__(self, drafts: Path) -> None:
        self._drafts = drafts
        drafts.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left_over in drafts.iterdir():
            left_over.unlink()

    async def draft(self, chunks: AsyncIterator[bytes]) -> Draft:
        return await write_draft(self._drafts, chunks)

    def place(self, draft: Draft) -> Operation[None]:
        if (yield query("blob_has_bytes", blob=draft.id)):
            return
        with draft.path.open("rb") as file:
            number = 0
            while data := file.read(CHUNK):
                yield query("put_blob_piece", blob=draft.id, number=number, data=data)
                number += 1

    async def keep(self, draft: Draft) -> None:
        await asyncio.to_thread(draft.path.unlink)

    async def read(self, engine: Engine, blob: Blob) -> AsyncIterator[bytes]:
        for number in range(-(-blob.size // CHUNK)):
            piece = await engine.read(lambda number=number: _piece(blob.id, number))
            if piece is None:
                raise BytesMissing(id=blob.id, path="PostgreSQL")
            yield piece.data

    def forget(self, blob: BlobId) -> Operation[None]:
        if not (yield query("blob_is_stored", blob=blob)):
            yield query("drop_blob_pieces", blob=blob)

    async def remove(self, engine: Engine, forgotten: Sequence[Owned]) -> None:
        """Nothing: the rows are gone."""


def _piece(blob: BlobId, number: int) -> Operation[_Piece | None]:
    return maybe((yield query("get_blob_piece", blob=blob, number=number)), _Piece)
