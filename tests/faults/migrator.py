"""Applies a made-up migration to a store: `python -m tests.faults.migrator DATABASE`, where
ROOST_FAULTS may let it die on the way."""

import os
import sys
from pathlib import Path

from roost.core.clock import SystemClock
from roost.store.migrations import SCHEMA_VERSION, Migration
from roost.store.sqlite.connect import connect_writer
from roost.store.sqlite.schema import migrate
from roost.testing import faults

NEXT = SCHEMA_VERSION + 1

SQL = """
CREATE TABLE invented (id TEXT PRIMARY KEY, words TEXT NOT NULL) STRICT;
INSERT INTO invented SELECT id, parts FROM messages;
ALTER TABLE settings ADD COLUMN note TEXT;
UPDATE settings SET note = 'migrated';
"""


def made_up(*, minimum: int) -> Migration:
    return Migration(NEXT, minimum, SQL)


def apply(path: Path, migration: Migration) -> None:
    connection = connect_writer(path)
    try:
        migrate(connection, [migration], SystemClock())
    finally:
        connection.close()


if __name__ == "__main__":
    faults.arm_from_environment(os.environ)
    apply(Path(sys.argv[1]), made_up(minimum=NEXT))
