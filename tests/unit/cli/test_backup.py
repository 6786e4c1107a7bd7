"""What `roost backup` says of what it could not copy."""

import io
from pathlib import Path

from rich.console import Console

from roost.cli.backup import back_up
from roost.core.config import Config
from tests.store_driver import Driver


async def test_attachments_without_a_file_are_mentioned(
    ada: Driver, folder: Path, tmp_path: Path
) -> None:
    blob = await ada.blobs.put_bytes(b"owl", "text/plain")
    config = Config(data=folder)
    for name, expected in (("whole", False), ("lacking", True)):
        said = io.StringIO()
        back_up(config, tmp_path / name, Console(file=said, width=500))
        assert ("Without 1 attachment:" in said.getvalue()) == expected
        (folder / "blobs" / blob.id[:2] / blob.id).unlink(missing_ok=True)
