"""`roost backup`, and starting from one."""

import re
from pathlib import Path

from tests.e2e.command import Roost


async def test_backup_of_a_running_server_can_be_started_from(roost: Roost) -> None:
    async with roost.running() as server:
        made = await roost("backup", "copy")
        assert (made.code, made.err) == (0, "")
        assert (await server.get("/healthz"))[0] == 200
    assert made.out.startswith("Backed up 0 sessions, ")
    assert f"to {roost.home / 'copy'}" in made.out
    async with roost.running("--data", "copy") as server:
        assert (await server.get("/healthz"))[0] == 200


async def test_backup_without_a_destination_is_named_after_the_time(roost: Roost) -> None:
    async with roost.running():
        made = await roost("backup")
    found = re.search(r"to (.*)$", made.out, re.MULTILINE)
    assert found is not None
    folder = Path(found[1])
    assert folder.parent == roost.home
    assert re.fullmatch(r"roost-backup-\d{8}-\d{6}", folder.name)
    assert (folder / "roost.db").is_file()


async def test_backup_of_nothing_says_so(roost: Roost) -> None:
    refused = await roost("backup", "copy")
    assert (refused.code, refused.out) == (1, "")
    assert str(roost.home / ".local" / "share" / "roost") in refused.err
    assert not (roost.home / "copy").exists()
