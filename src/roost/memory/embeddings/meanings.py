"""Finds facts by what they mean: vectors, made once facts are kept and compared in memory."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from roost.core.facts import Found
from roost.core.ids import UserId
from roost.memory.base import Scope
from roost.memory.embeddings.shelf import Array, Near, Shelf, packed, unpacked
from roost.memory.ports import VectorStore
from roost.memory.transcript import shortened

log = structlog.stdlib.get_logger("roost.memory")

LEAST = 0.2
"""How like a message a fact has to be to be recalled for it: what has nothing to do with it reaches
0.15."""
SHARE = 0.6
"""Of the likeness of the best, what the others have to reach."""

PATIENCE = 0.12
"""Seconds that a search waits for this. A turn waits a little longer for all of it, so that what
the words found is told whatever becomes of the rest."""

BATCH = 8
_PAGE = 2_000
_MOST = 50_000
"""Facts of one user that are compared, the newest; and vectors that are held for all of them."""
_AT_A_TIME = 4
_WORDS = 300
"""Characters of a message that are looked at: the time it takes grows with them."""
_NEWEST = 1 << 62


class Embedder(Protocol):
    """Puts texts into vectors of length 1. Its name stands for what they can be compared with."""

    name: str

    def embed(self, texts: Sequence[str]) -> Array: ...


class Meanings:
    """`load` brings the model; it is run in a thread when first needed, and if it fails, facts are
    found by words alone. All arithmetic is done in threads, in small pieces."""

    def __init__(
        self,
        vectors: Callable[[UserId], VectorStore],
        load: Callable[[], Embedder],
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._vectors = vectors
        self._load = load
        self._patience = patience
        self._model: asyncio.Future[Embedder] | None = None
        self._shelves: OrderedDict[Scope, Shelf] = OrderedDict()
        self._shelving = asyncio.Lock()
        self._changed: dict[Scope, None] = {}
        self._work: asyncio.Task[None] | None = None
        self._looking: set[asyncio.Task[Sequence[Found]]] = set()

    async def nearest(self, scope: Scope, words: str, *, limit: int) -> Sequence[Found]:
        if len(self._looking) >= _AT_A_TIME:
            return ()
        # One that takes too long goes on, so that the next finds all in its place.
        looking = asyncio.create_task(self._nearest(scope, shortened(words, _WORDS), limit))
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)
        looking.add_done_callback(_hear)
        await asyncio.wait([looking], timeout=self._patience)
        return looking.result() if looking.done() and not looking.exception() else ()

    def changed(self, scope: Scope) -> None:
        if self._model is not None and self._model.done() and self._model.exception():
            return  # it was told when the model could not be loaded
        self._changed[scope] = None
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._catch_up())

    async def settled(self) -> None:
        """Wait until every fact that was kept has its vector."""
        while self._work is not None and not self._work.done():
            await asyncio.wait([self._work])

    async def close(self) -> None:
        tasks = [*self._looking, *([self._work] if self._work is not None else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # Looking.

    async def _nearest(self, scope: Scope, words: str, limit: int) -> Sequence[Found]:
        model = await self._loaded()
        shelf = await self._shelf(scope, model)
        if not len(shelf):
            return ()
        near = await asyncio.to_thread(_look, model, shelf, words, limit)
        facts = await self._vectors(scope.user).facts(str(scope), [each.number for each in near])
        # Forgotten or superseded since: their vectors went with them.
        shelf.drop([each.number for each in near if each.number not in facts])
        return [Found(facts[each.number], each.likeness) for each in near if each.number in facts]

    async def _loaded(self) -> Embedder:
        """The model; whoever asks first loads it for all."""
        if self._model is None:
            self._model = asyncio.ensure_future(asyncio.to_thread(self._load))
            self._model.add_done_callback(_tell)
        return await asyncio.shield(self._model)

    async def _shelf(self, scope: Scope, model: Embedder) -> Shelf:
        async with self._shelving:
            if scope not in self._shelves:
                self._shelves[scope] = await self._read(scope, model)
                self.changed(scope)  # an earlier life, or another model, may have left some without
            self._shelves.move_to_end(scope)
            while len(self._shelves) > 1 and sum(map(len, self._shelves.values())) > _MOST:
                self._shelves.popitem(last=False)
            return self._shelves[scope]

    async def _read(self, scope: Scope, model: Embedder) -> Shelf:
        shelf, before = Shelf(), _NEWEST
        while len(shelf) < _MOST:
            store = self._vectors(scope.user)
            page = await store.page(str(scope), model.name, before=before, limit=_PAGE)
            if not page:
                break
            rows = await asyncio.to_thread(unpacked, [each.vector for each in page])
            shelf.put([each.seq for each in page], rows)
            before = page[-1].seq
        return shelf

    # Catching up with what was kept.

    async def _catch_up(self) -> None:
        while self._changed:
            scope = next(iter(self._changed))
            del self._changed[scope]
            try:
                await self._complete(scope, await self._loaded())
            except Exception as error:  # noqa: BLE001 (facts are found by their words all the same)
                log.warning("facts are not found by meaning", scope=str(scope), error=str(error))

    async def _complete(self, scope: Scope, model: Embedder) -> None:
        store, before = self._vectors(scope.user), _NEWEST
        while facts := await store.missing(str(scope), model.name, before=before, limit=BATCH):
            rows = await asyncio.to_thread(model.embed, [fact.text for fact in facts])
            kept = await store.put(
                str(scope), model.name, list(zip(facts, packed(rows), strict=True))
            )
            if (shelf := self._shelves.get(scope)) is not None:
                at = [place for place, fact in enumerate(facts) if fact.seq in kept]
                shelf.put([facts[place].seq for place in at], rows[at])
            before = facts[-1].seq


def _look(model: Embedder, shelf: Shelf, words: str, limit: int) -> Sequence[Near]:
    (vector,) = model.embed([words])
    near = shelf.near(vector, limit=limit, least=LEAST)
    return [each for each in near if each.likeness >= near[0].likeness * SHARE]


def _hear(looking: asyncio.Task[Sequence[Found]]) -> None:
    if not looking.cancelled() and (error := looking.exception()) is not None:
        log.debug("nothing was found by meaning", error=str(error))


def _tell(loading: asyncio.Future[Embedder]) -> None:
    """Once: from then on it is known."""
    if not loading.cancelled() and (error := loading.exception()) is not None:
        log.warning("the model of embeddings can't be loaded", error=str(error))
