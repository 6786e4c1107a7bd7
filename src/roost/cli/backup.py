"""`roost backup`: a copy of everything, and how to come back to it."""

import shlex
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.filesize import decimal

from roost.cli.started import command
from roost.core.amounts import amount
from roost.core.config import Config
from roost.core.errors import ConfigError
from roost.store.folder import BLOBS
from roost.store.sqlite import backup


def back_up(config: Config, destination: Path | None, out: Console) -> None:
    if config.store is not None:
        raise ConfigError(
            f"The store is in PostgreSQL ({config.store}), attachments included. Back it up with "
            "pg_dump, and keep a copy of the secret key."
        )
    name = f"roost-backup-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    made = backup.backup(config.data, (destination or Path(name)).absolute())
    out.print(
        f"Backed up {amount(made.sessions, 'session')}, {decimal(made.bytes)}, to {made.path}"
    )
    if made.missing:
        missing = amount(made.missing, "attachment")
        out.print(f"Without {missing}: missing in {config.data / BLOBS}")
    out.print("To restore it, start Roost on a copy of that folder:")
    out.print(f"  cp -a {shlex.quote(str(made.path))} NEW_FOLDER")
    out.print(f"  {command()} run --data NEW_FOLDER")
