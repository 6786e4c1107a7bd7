"""What was asked and answered, in words that tell which belongs to which, and what a Roost that was
killed has written of it."""

import re
from pathlib import Path

import apsw

from roost.core.messages import decode_parts, plain_text
from roost.store.folder import DATABASE
from roost.store.sqlite.connect import connect_reader
from roost.testing.models import ModelRequest, Reply, say


def answer(request: ModelRequest) -> Reply:
    """Which message it answers stands in the answer."""
    asked = re.findall(r"(?<!to )ask\d+", request.body.decode())
    return say(f"Answer to {asked[-1] if asked else 'nothing'}.", pace=0.005)


def ending(text: str) -> str:
    """An answer that broke off goes on after its first half."""
    match = re.search(r"Answer to ask\d+\.$", text)
    return "" if match is None else match[0]


def turns_in(folder: Path) -> list[tuple[str, str]]:
    """What was said, and how its turn ended."""
    rows = rows_in(folder, "SELECT input, state FROM turns")
    return [(plain_text(decode_parts(str(words))), str(state)) for words, state in rows]


def rows_in(folder: Path, sql: str) -> list[tuple[object, ...]]:
    if not (folder / "data" / DATABASE).exists():
        return []
    connection = connect_reader(folder / "data" / DATABASE)
    try:
        return [tuple(row) for row in connection.rows(sql)]
    except apsw.SQLError:
        return []  # killed before there was a table
    finally:
        connection.close()
