"""Makes rescued rows a store again: nothing names what is missing, and every counter is true."""

from pathlib import Path

import msgspec

from roost.core.amounts import amount
from roost.core.clock import SystemClock
from roost.core.ids import BlobId, UserId
from roost.store import statements
from roost.store.facts import index_facts
from roost.store.operations import Operation, every, query
from roost.store.sqlite.connect import Connection
from roost.store.sqlite.rescue import in_words, tables_of
from roost.store.sqlite.runner import Runner
from roost.store.sqlite.unpaired import pair_calls

_STEPS = (
    ("stand_in_users", "user account", "{}; with a stand-in for each"),
    ("stand_in_admin", "administrator account", "{}; with a stand-in for each"),
    ("stand_in_sessions", "session", "all but the messages of {}; with a stand-in for each"),
    ("forget_lost_messages", "turn", "the first message of {}"),
    ("revive_superseded", "memory", "{}; what was superseded holds again"),
)


class _Blob(msgspec.Struct, frozen=True, array_like=True):
    user: UserId
    id: BlobId


def mend(rescued: Connection, blobs: Path) -> list[str]:
    """What was lost, in words."""
    runner = Runner(rescued, statements.load("sqlite"), SystemClock())
    lost = [
        words.format(amount(count, thing))
        for statement, thing, words in _STEPS
        if (count := runner.run(_count(statement)))
    ]
    if count := runner.run(_resume_streams()):
        lost.append(f"what had streamed of {amount(count, 'answer')}")
    while rescued.rows("pragma foreign_key_check"):
        for table in tables_of(rescued):
            lost += _let_go_of_parents(rescued, table)
    lost += runner.run(pair_calls())
    if count := runner.run(_name_blobs(blobs)):
        lost.append(amount(count, "attachment"))
    runner.run(_count("recount_all"))
    runner.run(index_facts())
    return lost


def _count(statement: str) -> Operation[int]:
    return len((yield query(statement)))


def _resume_streams() -> Operation[int]:
    """Each turn that runs is in its latest attempt; how many have lost what that streamed."""
    yield query("find_attempts")
    yield query("forget_old_deltas")
    return len((yield query("forget_lost_deltas")))


def _let_go_of_parents(rescued: Connection, table: str) -> list[str]:
    """Rows whose parent is lost go too, or let go of it where the column may be empty."""
    lost: list[str] = []
    optional = {
        name
        for (name,) in rescued.rows(
            'SELECT name FROM pragma_table_info(?) WHERE "notnull" = 0', (table,)
        )
        # A rule for one session, without its session, would be one for all.
        if table != "approval_rules"
    }
    for parent, column, key in rescued.rows(
        'SELECT "table", "from", "to" FROM pragma_foreign_key_list(?)', (table,)
    ):
        orphaned = f"{column} IS NOT NULL AND {column} NOT IN (SELECT {key} FROM {parent})"  # noqa: S608
        if column in optional:
            rescued.rows(f"UPDATE {table} SET {column} = NULL WHERE {orphaned}")  # noqa: S608
        else:
            rescued.rows(f"DELETE FROM {table} WHERE {orphaned}")  # noqa: S608
            if count := rescued.changes():
                rows = f"{amount(count, 'row')} of {in_words(table)}"
                lost.append(f"{rows}, whose {in_words(str(column))} could not be read")
    return lost


def _name_blobs(folder: Path) -> Operation[int]:
    """Tie attachments to what names them again; how many have no bytes to go with."""
    yield query("name_blobs_again")
    missing = 0
    for blob in every((yield query("lost_blobs")), _Blob):
        path = folder / blob.id[:2] / blob.id
        if path.is_file():
            size = path.stat().st_size
            media_type = "application/octet-stream"
            yield query("put_blob", user=blob.user, blob=blob.id, media_type=media_type, size=size)
        else:
            missing += 1
    return missing
