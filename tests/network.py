"""An internet of the test's own: its names, its addresses, and servers on loopback behind them."""

import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import cast

from aiohttp import web

from roost.workspace.addresses import Guard, Spot

PUBLIC = "93.184.215.14"
PUBLIC_TOO = "93.184.215.15"
PUBLIC_6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Network:
    """Names have answers, one for each lookup and the last one for good. What the guard lets
    through is `dialled`, and reaches nothing but what was put there."""

    def __init__(self) -> None:
        self.lookups: list[str] = []
        self.dialled: list[Spot] = []
        self._names: dict[str, list[Sequence[str]]] = {}
        self._servers: dict[str, int] = {}
        self.guard = Guard(resolve=self._resolve, dial=self._dial)

    def name(self, host: str, *answers: Sequence[str]) -> None:
        self._names[host] = list(answers)

    def put(self, address: str, port: int) -> None:
        """Behind every port of this address is what listens on this one of loopback."""
        self._servers[address] = port

    async def _resolve(self, host: str) -> Sequence[str]:
        self.lookups.append(host)
        answers = self._names.get(host)
        if answers is None:
            raise OSError("no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def _dial(self, spot: Spot) -> Spot:
        self.dialled.append(spot)
        if spot.host not in self._servers:
            raise OSError(f"the test has no {spot.host}")
        return Spot("127.0.0.1", self._servers[spot.host])


class Site:
    """A web server: `pages` by path, `asked` in order."""

    def __init__(self) -> None:
        self.pages: dict[str, Handler] = {}
        self.asked: list[str] = []
        self.hosts: list[str] = []

    def page(self, path: str, body: str | bytes, kind: str = "text/html", **more: str) -> None:
        async def answer(_: web.Request) -> web.Response:
            data = body.encode() if isinstance(body, str) else body
            headers = {"Content-Type": kind, **{k.replace("_", "-"): v for k, v in more.items()}}
            return web.Response(body=data, headers=headers)

        self.pages[path] = answer

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        async def answer(_: web.Request) -> web.Response:
            return web.Response(status=status, headers={"Location": to})

        self.pages[path] = answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        self.hosts.append(request.host)
        if request.path not in self.pages:
            return web.Response(status=404, text="There is nothing here.")
        return await self.pages[request.path](request)


@asynccontextmanager
async def served(site: Site, *, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """The port of loopback where the site is."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    try:
        await web.SockSite(runner, listener, ssl_context=tls).start()
        yield cast("int", listener.getsockname()[1])
    finally:
        await runner.cleanup()
