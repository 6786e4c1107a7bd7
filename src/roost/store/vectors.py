"""What a user's facts mean, as vectors: an index that follows the facts in its own time."""

from collections.abc import Mapping, Sequence

import msgspec

from roost.core.facts import Fact, Meant, Unmeant
from roost.core.ids import UserId
from roost.store.fact_rows import FactRow, fact_of
from roost.store.operations import Engine, Operation, every, query, reading, writing

NEWEST = 1 << 62


class FactVectors:
    """A live fact has one vector or none, whichever model made it; any other has none. `scope` is
    where the facts belong."""

    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def missing(
        self, scope: str, model: str, *, before: int = NEWEST, limit: int
    ) -> Operation[Sequence[Unmeant]]:
        """Live facts that this model has made no vector of, newest first, those that come after
        `before`."""
        rows = yield query(
            "facts_without_vector",
            user=self._user,
            scope=scope,
            model=model,
            before=before,
            limit=limit,
        )
        return every(rows, Unmeant)

    @writing
    def put(
        self, scope: str, model: str, vectors: Sequence[tuple[Unmeant, bytes]]
    ) -> Operation[Sequence[int]]:
        """Keep vectors; which of them were kept. A fact that changed meanwhile gets none."""
        kept: list[int] = []
        for fact, vector in vectors:
            rows = yield query(
                "put_vector",
                seq=fact.seq,
                text=fact.text,
                model=model,
                vector=vector,
                user=self._user,
                scope=scope,
            )
            kept += [row.seq for row in every(rows, _Seq)]
        return kept

    @reading
    def page(
        self, scope: str, model: str, *, before: int = NEWEST, limit: int
    ) -> Operation[Sequence[Meant]]:
        """Live facts' vectors by this model, newest first, those that come after `before`."""
        rows = yield query(
            "page_of_vectors",
            user=self._user,
            scope=scope,
            model=model,
            before=before,
            limit=limit,
        )
        return every(rows, Meant)

    @reading
    def facts(self, scope: str, seqs: Sequence[int]) -> Operation[Mapping[int, Fact]]:
        """Those of these facts that are live, by number."""
        named = msgspec.json.encode(seqs).decode()
        rows = yield query("live_facts_numbered", seqs=named, user=self._user, scope=scope)
        return {row.seq: fact_of(row) for row in every(rows, FactRow)}


class _Seq(msgspec.Struct, frozen=True, array_like=True):
    seq: int
