"""Changes who may come in, and dies of it: `python -m tests.faults.identity_process FOLDER WHAT
SECRET`, where ROOST_FAULTS says when."""

import asyncio
import os
import sys
from pathlib import Path

from roost.core.clock import SystemClock
from roost.core.ids import UserId
from roost.runtime.identities import Identities
from roost.runtime.passwords import Passwords
from roost.store.sqlite.store import open_store
from roost.testing import faults
from tests.identities import QUICK

NEW_PASSWORD = "a quite different horse"  # noqa: S105


async def change(folder: Path, what: str, given: str) -> None:
    clock = SystemClock()
    store = open_store(folder, clock=clock, version="test")
    identities = Identities(store, clock, passwords=Passwords(QUICK))
    faults.arm_from_environment(os.environ)
    if what == "redeem":
        await identities.sign_in_with_link(given, None)
    elif what == "disable":
        await identities.people.disable(UserId(given))
    elif what == "password":
        await identities.people.set_password(UserId(given), NEW_PASSWORD)


if __name__ == "__main__":
    asyncio.run(change(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
