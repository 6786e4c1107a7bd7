"""Facts as they are stored, and as the core has them."""

from collections.abc import Sequence

import msgspec

from roost.core.facts import Fact, FactKind
from roost.core.ids import FactId, SessionId, TurnId, UserId
from roost.store.operations import Rows, every


class FactRow(msgspec.Struct, frozen=True, array_like=True):
    user: UserId
    scope: str
    seq: int
    id: FactId
    text: str
    kind: FactKind
    entities: str
    attribute: str | None
    trust: float
    session: SessionId | None
    turn: TurnId | None
    created_at: int
    updated_at: int
    superseded_by: FactId | None
    forgotten_at: int | None


class FoundRow(FactRow, frozen=True, array_like=True):
    score: float


def fact_of(row: FactRow) -> Fact:
    return Fact(
        id=row.id,
        text=row.text,
        kind=row.kind,
        entities=tuple(names_of(row)),
        attribute=row.attribute,
        trust=row.trust,
        session=row.session,
        turn=row.turn,
        created_at=row.created_at,
        updated_at=row.updated_at,
        superseded_by=row.superseded_by,
        forgotten_at=row.forgotten_at,
    )


def facts_of(rows: Rows) -> Sequence[Fact]:
    return [fact_of(row) for row in every(rows, FactRow)]


def names_of(row: FactRow) -> list[str]:
    return msgspec.json.decode(row.entities, type=list[str])
