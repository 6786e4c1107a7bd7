"""What this Roost is, where it runs, and whether all is well there."""

import platform
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from roost import __version__
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.runtime.checks import Finding
from roost.store.store import Store
from roost.workspace.base import SandboxKind

CheckState = Literal["ok", "warn", "bad"]
_STATES: Mapping[str, CheckState] = {"good": "ok", "warn": "warn", "bad": "bad"}
_SANDBOXES: Mapping[SandboxKind | None, str] = {
    "bubblewrap": "Commands run in a box made by bubblewrap.",
    "local": "Commands run on this machine as they are, for admins only, and each is asked about.",
    None: "There are no tools that run commands.",
}


class StoreView(msgspec.Struct, frozen=True, kw_only=True):
    """`bytes` is what the database takes on disk; on SQLite without attachments."""

    kind: str
    version: str
    bytes: int


class SandboxView(msgspec.Struct, frozen=True):
    """Where commands run; null is nowhere. `detail` says it in words."""

    kind: SandboxKind | None
    detail: str


class About(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is the data folder, which only admins are told."""

    version: str
    python: str
    platform: str
    started_at: int
    store: StoreView
    sandbox: SandboxView
    data: str | None


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, what was found, and what to do about it. Roost can't work with what is
    `bad`."""

    name: str
    state: CheckState
    detail: str
    advice: str


class CheckList(msgspec.Struct, frozen=True):
    checks: Sequence[Check]


async def about(call: Call) -> About:
    """Read which Roost this is, and where it runs."""
    app = call.callers.app
    data = app.config.data
    kind = None if app.parts.workspaces is None else app.parts.workspaces.kind
    return About(
        version=__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        started_at=app.started_at,
        store=await _store(app.parts.store),
        sandbox=SandboxView(kind, _SANDBOXES[kind]),
        data=str(data) if call.who.may("admin") else None,
    )


async def _store(store: Store) -> StoreView:
    found = await store.database()
    return StoreView(kind=found.kind, version=found.version, bytes=found.bytes)


async def checked(call: Call) -> CheckList:
    """Look whether all is well, as `roost doctor` does. It tries the sandbox, reads the whole store
    and asks the default model's provider, which may take some seconds."""
    return CheckList([_check(each) for each in await call.callers.app.doctor.look()])


def _check(finding: Finding) -> Check:
    return Check(
        name=finding.subject,
        state=_STATES[finding.state],
        detail=finding.found,
        advice=finding.advice,
    )


ENDPOINTS = (
    endpoint("GET", "/api/about", about, scope="read"),
    endpoint("GET", "/api/doctor", checked, scope="admin"),
)
