"""Runs a Roost whose agent runs a command, until it is killed.

`python -m tests.faults.terminal_process KIND FOLDER MODEL` says which session it is once the
command shows that it runs.
"""

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from roost.core.config import Config
from roost.testing.models import ModelServer
from roost.workspace.base import SandboxKind
from tests.engine import config_for
from tests.workshop import workshop_in


def config_at(folder: Path, url: str) -> Config:
    return config_for(folder, cast("ModelServer", SimpleNamespace(openai_url=url)))


async def main(kind: SandboxKind, folder: Path, url: str) -> None:
    config = config_at(folder, url)
    async with workshop_in(folder, ModelServer(), kind, config) as workshop:
        session = await workshop.engine.session()
        await workshop.begun(session)
        print(session, flush=True)  # noqa: T201
        await asyncio.Event().wait()


if __name__ == "__main__":
    _, name, where, model = sys.argv
    asyncio.run(main("local" if name == "local" else "bubblewrap", Path(where), model))
