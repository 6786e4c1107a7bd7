"""The rows of a store, as they lie in its file."""

from pathlib import Path

from roost.core.ids import SessionId, UserId
from roost.store.folder import DATABASE
from roost.store.sqlite.connect import connect_reader


def rows_naming(folder: Path, id: SessionId | UserId) -> dict[str, int]:
    """Every table that still has the id in some column, with how many rows do."""
    database = connect_reader(folder / DATABASE)
    found: dict[str, int] = {}
    try:
        tables = database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
        for (table,) in tables:
            columns = database.rows("SELECT name FROM pragma_table_info(?)", (table,))
            for (column,) in columns:
                if str(table).startswith("search"):
                    continue
                sql = f'SELECT count(*) FROM {table} WHERE "{column}" LIKE ?'  # noqa: S608 (schema)
                ((number,),) = database.rows(sql, (f"%{id}%",))
                if number:
                    found[str(table)] = int(str(number))
    finally:
        database.close()
    return found
