"""Imports a document in a process of its own: `python -m tests.faults.importer FOLDER DOCUMENT`."""

import asyncio
import os
import sys
from pathlib import Path

from roost.testing import faults
from tests.faults.scene import USER, opened


async def main() -> None:
    folder, document = map(Path, sys.argv[1:])
    async with opened(folder) as store:
        faults.arm_from_environment(os.environ)
        await store.of(USER).transfer.load(document.read_bytes())


if __name__ == "__main__":
    asyncio.run(main())
