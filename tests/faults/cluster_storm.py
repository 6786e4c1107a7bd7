"""What befalls servers and their database, one thing after the other, as a seed has it."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from roost.store.postgres.connect import is_lost
from tests.cluster import SECONDS, Server
from tests.cutting import Moment
from tests.faults.cluster_scene import TTL, Scene, writer
from tests.postgres import Stop

Deed = Callable[[], Awaitable[None]]

PAUSE = (0.5, 3.0)
SKEW = 3600.0
"""Seconds by which a server's clock goes wrong, at most."""


class Storm:
    """`over` is set when it is to end. `seen` counts what there was of each."""

    def __init__(self, scene: Scene, seed: int, over: asyncio.Event) -> None:
        self.seen: Counter[str] = Counter()
        self._scene = scene
        self._servers = scene.cluster.servers
        self._over = over
        self._away: int | None = None
        self._random = random.Random(seed)  # noqa: S311 (reproducible, not secret)

    async def rage(self) -> None:
        """On both sides at once; in the end all of them run."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._go_on(self._on_servers()))
            tasks.create_task(self._go_on(self._on_the_database()))

    def _on_servers(self) -> Mapping[str, Deed]:
        return {
            "kill": self._kill,
            "drain": self._drain,
            "freeze": self._freeze,
            "skew": self._skew,
            "database lost": self._part,
        }

    def _on_the_database(self) -> Mapping[str, Deed]:
        return {
            "stop": lambda: self._restart("fast"),
            "crash": lambda: self._restart("immediate"),
            "commit not sent": lambda: self._cut("before"),
            "commit not answered": lambda: self._cut("after"),
            "commit late": lambda: self._cut("late"),
            "connections cut": self._cut_all,
        }

    async def _go_on(self, deeds: Mapping[str, Deed]) -> None:
        """Each of them once in every round, in an order that is never the same."""
        while True:
            for name in self._random.sample(sorted(deeds), len(deeds)):
                if self._over.is_set() and self.seen[name]:
                    return
                await deeds[name]()
                self.seen[name] += 1
                await asyncio.sleep(self._random.uniform(*PAUSE))

    # Servers.

    async def _kill(self) -> None:
        server = self._random.choice(self._servers)
        await server.kill()
        await self._start(server)

    async def _drain(self) -> None:
        """As in an upgrade: it hands over what it does, and comes back."""
        server = self._random.choice(self._servers)
        await server.terminate()
        await self._start(server)

    async def _freeze(self) -> None:
        number = self._random.randrange(len(self._servers))
        self._servers[number].freeze()
        try:
            await self._taken_over(number)
        finally:
            self._servers[number].thaw()

    async def _part(self) -> None:
        """A server loses its database, and the others do not."""
        number = self._random.randrange(len(self._servers))
        cutter = self._scene.cutters[number]
        cutter.shut = True
        cutter.cut_all()
        try:
            await self._taken_over(number)
        finally:
            cutter.shut = False

    async def _taken_over(self, number: int) -> None:
        """Wait until all that a server held is someone else's."""
        self._away = number
        try:
            await asyncio.sleep(TTL)
            await self._nothing_is_held_by(writer(number))
        finally:
            self._away = None

    async def _nothing_is_held_by(self, name: str) -> None:
        async with asyncio.timeout(SECONDS):
            while True:
                try:
                    if not await self._scene.fences.held(name):
                        return
                except Exception as error:
                    if not is_lost(error):
                        raise
                await asyncio.sleep(0.1)

    async def _skew(self) -> None:
        """A machine comes back with a clock that is wrong."""
        server = self._random.choice(self._servers)
        await server.kill()
        seconds = self._random.choice([-1, 1]) * self._random.uniform(SKEW / 10, SKEW)
        (server.folder / "skew").write_text(str(seconds))
        await self._start(server)

    async def _start(self, server: Server) -> None:
        """As systemd does it: as often as it takes, if the database is away. Its port may be
        someone else's by now."""
        server.url = server.url.with_port(0)
        for _ in range(20):
            try:
                return await server.start()
            except AssertionError:
                await server.kill()
        raise AssertionError(server.log)

    # The database.

    async def _restart(self, how: Stop) -> None:
        await self._scene.database.restart(how)

    async def _cut(self, moment: Moment) -> None:
        """At the next commit of a server that has any."""
        awake = [n for n in range(len(self._servers)) if n != self._away]
        await self._scene.cutters[self._random.choice(awake)].cut_at(moment)

    async def _cut_all(self) -> None:
        self._random.choice(self._scene.cutters).cut_all()
