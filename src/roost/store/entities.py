"""What facts are about: entities of a user and scope, known by any of their names."""

import unicodedata
from collections.abc import Sequence

import msgspec

from roost.core.errors import InvalidInput
from roost.core.facts import Entity
from roost.core.ids import UserId
from roost.store.operations import Operation, every, one, query

_LONGEST_NAME = 200
_PHRASE = 3
"""Words of a name that is looked for in a text."""


class Known(msgspec.Struct, frozen=True, array_like=True):
    """An entity, and the name it goes by."""

    id: int
    name: str


class _Name(msgspec.Struct, frozen=True, array_like=True):
    entity: int
    name: str


def folded(name: str) -> str:
    """As names are compared: without regard to case and to the width of spaces."""
    return _plain(unicodedata.normalize("NFKC", name).casefold())


def _plain(name: str) -> str:
    # A text with a zero in it ends there for some of SQLite.
    return " ".join(name.replace("\x00", " ").split())


def known_by(user: UserId, scope: str, names: Sequence[str]) -> Operation[list[Known]]:
    """The entities that have one of these names, each once, in the order of the names."""
    if not names:
        return []
    asked = _json([folded(name) for name in names])
    rows = every((yield query("entities_named", user=user, scope=scope, names=asked)), Known)
    return list({row.id: row for row in rows}.values())


def known_in(user: UserId, scope: str, words: Sequence[str]) -> Operation[list[Known]]:
    """The entities that are named in a text: by one of its words, or by a few in a row."""
    runs = [
        " ".join(words[at : at + length])
        for length in range(1, _PHRASE + 1)
        for at in range(len(words) - length + 1)
    ]
    return (yield from known_by(user, scope, runs))


def meet(user: UserId, scope: str, entity: Entity) -> Operation[Known | None]:
    """The entity by its name or else one of its aliases, made if there is none; names of it that
    were unknown are its aliases from now on. None if its names are all blank: a model may write
    anything."""
    names = [plain for name in (entity.name, *entity.aliases) if (plain := _plain(name))]
    if not names:
        return None
    if max(len(name) for name in names) > _LONGEST_NAME:
        raise InvalidInput(f"A name has at most {_LONGEST_NAME} characters.")
    found = yield from known_by(user, scope, names)
    if found:
        known = found[0]
    else:
        made = one((yield query("insert_entity", user=user, scope=scope, name=names[0])), int)
        known = Known(made, names[0])
    for name in names:
        yield query(
            "add_entity_name",
            user=user,
            scope=scope,
            folded=folded(name),
            name=name,
            entity=known.id,
        )
    return known


def described(known: Sequence[Known]) -> Operation[list[Entity]]:
    """Entities with all of their names."""
    rows = yield query("names_of_entities", entities=_json([each.id for each in known]))
    names = every(rows, _Name)
    return [
        Entity(
            each.name,
            tuple([n.name for n in names if n.entity == each.id and n.name != each.name]),
        )
        for each in known
    ]


def drop_bare(entities: Sequence[int]) -> Operation[None]:
    """Let go of those that no fact names any more."""
    if entities:
        for step in ("drop_names_of_nothing", "drop_entities_of_nothing"):
            yield query(step, entities=_json(entities))


def _json(values: Sequence[str | int]) -> str:
    return msgspec.json.encode(values).decode()
