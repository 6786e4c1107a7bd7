"""What a data folder keeps of the database that it serves: which server it is there, and of which
store its workspaces are. On another store they would be those of sessions that nobody knows."""

import os
import secrets
import socket
from pathlib import Path

from roost.core.errors import ConfigError
from roost.store.folder import DATABASE, sync_folder, unusable

_SERVER = "server.id"
_STORE = "store.id"


def server_name(folder: Path) -> str:
    """Among those that share the database. Made once: what the machine is called may change, as in
    a container that is made anew, and machines in containers may well be called alike."""
    path = folder / _SERVER
    if (name := _read(path)) is None:
        name = f"{socket.gethostname()}-{secrets.token_hex(4)}"
        _write(path, name)
    return name


def tie(folder: Path, store: str) -> None:
    """From now on the folder goes with this store."""
    path = folder / _STORE
    if (tied := _read(path)) is None:
        _write(path, store)
    elif tied != store:
        raise ConfigError(
            f"The data folder {folder} belongs to another store than the one that ROOST_STORE "
            "names: the workspaces in it are of sessions that are not there. Name that one again, "
            f"or give this store a folder of its own. ({path} says which it is.)"
        )


def refuse_if_tied(folder: Path) -> None:
    """The file in it is what was there before a move: who goes on with it has two stores."""
    path = folder / _STORE
    if _read(path) is not None:
        raise ConfigError(
            f"The data folder {folder} belongs to a store in PostgreSQL. Name that in ROOST_STORE "
            f"again. To go on with {DATABASE} as it was before the move, remove {path}."
        )


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(path, error) from error


def _write(path: Path, text: str) -> None:
    draft = path.with_suffix(".new")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        raise unusable(path, error) from error
