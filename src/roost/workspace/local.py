"""No box at all, for admins only: processes of this machine, killed whole all the same."""

import os
import sys
from collections.abc import Mapping

from roost.workspace.base import Ground, SandboxKind
from roost.workspace.kept import KeptBox
from roost.workspace.spawner import PROGRAM
from roost.workspace.spawning import Launch, Spawner

_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "SSH_AUTH_SOCK")
"""Of Roost's own environment. Its keys and settings are nobody else's."""


class LocalSandbox:
    """Opens boxes that keep nothing out and nothing in, but whose processes can't be lost."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._spawner = Spawner()

    @property
    def kind(self) -> SandboxKind:
        return "local"

    async def open(self, ground: Ground, *, network: bool) -> KeptBox:
        """There is always a network."""
        box = KeptBox(
            "local",
            ground,
            network=True,
            environment=self._environment(ground),
            spawner=self._spawner,
        )
        await box.open(
            Launch([sys.executable, "-I", "-S", "-B", f"/dev/fd/{PROGRAM}", "0", "0", "0", "0"])
        )
        return box

    async def close(self) -> None:
        await self._spawner.close()

    def _environment(self, ground: Ground) -> dict[str, str]:
        kept = {
            name: value
            for name, value in self._environ.items()
            if name in _KEPT or name.startswith("LC_")
        }
        scratch = str(ground.scratch)
        return {"PATH": os.defpath, "LANG": "C.UTF-8", "TMPDIR": scratch, **kept}
