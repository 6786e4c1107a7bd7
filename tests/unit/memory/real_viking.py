"""The real OpenViking server on loopback, with a scripted model and embeddings that count words."""

import asyncio
import base64
import hashlib
import json
import math
import os
import re
import shutil
import struct
from pathlib import Path
from typing import Self

import aiohttp
from aiohttp import web

from roost.testing.models import ModelRequest, ModelServer, Reply, say
from tests import ports
from tests.unit.memory.viking_server import KEY, LEARN, Extraction

PROGRAM = os.environ.get("ROOST_OPENVIKING") or shutil.which("openviking-server")
"""Where the server is: it is no dependency of Roost's, being a gigabyte with its own."""

_DIMENSIONS = 64
_START_SECONDS = 50.0


class RealViking:
    def __init__(self, folder: Path) -> None:
        self.extraction: Extraction = "good"
        self._folder = folder
        self._model = ModelServer(otherwise=self._answer)
        self._runner: web.AppRunner | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._port = ports.held()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{ports.number(self._port)}"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.add_routes([*self._model.routes(), web.post("/v1/embeddings", _embed)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        config = self._folder / "ov.conf"
        config.write_text(json.dumps(self._config(f"http://{host}:{port}/v1")))
        assert PROGRAM is not None
        with (self._folder / "server.log").open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                PROGRAM,
                "--config",
                str(config),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"], "HOME": str(self._folder)},
            )
        await self._ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._runner is not None
        self._process.kill()
        await self._process.wait()
        await self._runner.cleanup()
        self._port.close()

    def _config(self, models: str) -> dict[str, object]:
        model = {"provider": "openai", "api_base": models, "api_key": "k"}
        return {
            "server": {
                "host": "127.0.0.1",
                "port": ports.number(self._port),
                "auth_mode": "trusted",
                "root_api_key": KEY,
            },
            "storage": {
                "workspace": str(self._folder / "data"),
                "agfs": {"backend": "local"},
                "vectordb": {"backend": "local", "name": "context"},
            },
            "embedding": {"dense": {**model, "model": "words", "dimension": _DIMENSIONS}},
            "vlm": {**model, "model": "scripted"},
        }

    async def _ready(self) -> None:
        assert self._process is not None
        async with asyncio.timeout(_START_SECONDS), aiohttp.ClientSession() as client:
            while self._process.returncode is None:
                try:
                    async with client.get(f"{self.url}/ready") as response:
                        if response.status == 200:
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.2)  # it has no other way to say that it is up
        raise AssertionError((self._folder / "server.log").read_text())

    def _answer(self, request: ModelRequest) -> Reply:
        """A program in the language in which OpenViking wants to be told what to remember."""
        if self.extraction == "failing":
            return say("I would rather not.")
        conversation = json.loads(request.body)["messages"][1]["content"]
        lines = [
            f'sdk.create_preferences(user="u", topic="{topic}", content="""- {text}""")'
            for topic, text in LEARN.findall(conversation)
        ]
        return say("\n".join([*lines, "sdk.commit()"]))


async def _embed(request: web.Request) -> web.Response:
    asked = await request.json()
    texts: list[str] = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
    plain = asked.get("encoding_format") != "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _vector(text, plain=plain)}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return web.json_response(
        {"object": "list", "model": asked["model"], "data": data, "usage": usage}
    )


def _vector(text: str, *, plain: bool) -> list[float] | str:
    """The more words two texts share, the closer they are."""
    counts = [0.0] * _DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        counts[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % _DIMENSIONS] += 1
    length = math.hypot(*counts) or 1.0
    vector = [count / length for count in counts]
    return vector if plain else base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
