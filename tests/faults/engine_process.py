"""Runs a whole Roost until it is killed, with people who talk in several sessions at once.

`python -m tests.faults.engine_process FOLDER` is a nursery: everything is imported, and for every
line of orders on its standard input it forks one.
"""

import asyncio
import contextlib
import os
import random
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path

import structlog
import uvloop

from roost.core.config import Config, ModelsConfig, ProviderConfig, ServerConfig
from roost.core.errors import Conflict, NotFound, StoreUnavailable
from roost.core.ids import BlobId, SessionId, new_turn_id
from roost.core.keys import Key
from roost.core.messages import FilePart, TextPart
from roost.core.settings import BaseUrl
from roost.core.turns import Turn
from roost.runtime.account import Account
from roost.runtime.persistence import persisted
from roost.store.blobs import Blobs
from roost.store.leases import Lease
from roost.store.work import Checkpoint, Tick, Work
from roost.testing import faults
from roost.tools.base import Tool, ToolContext
from roost.wiring import running
from tests.engine import ASKS, FunctionTool
from tests.faults.engine_disk import text_of
from tests.faults.engine_lines import (
    BEAT,
    Accepted,
    Beat,
    Born,
    Broke,
    Died,
    Edited,
    Editing,
    Line,
    Opened,
    Orders,
    Rewriting,
    Saw,
    Sending,
    Ticked,
    Watch,
    decode,
    encode,
)

EFFECTS = "effects"
"""What the tools did: the id of a call for each time that it ran."""

MOST_QUEUED = 3


MODELS = ("test/model", "claude/claude-sonnet-5-5", "responses/model")
"""One for each protocol: what one of them takes as a history, another may refuse."""

KEYS = {"claude": Key("secret")}


def config_of(folder: Path, model: str) -> Config:
    url = BaseUrl(model)
    chat = ProviderConfig(vendor="compatible", base_url=url, models=("model",))
    claude = ProviderConfig(vendor="anthropic", base_url=url)
    responses = ProviderConfig(vendor="compatible", base_url=url, wire="openai-responses")
    return Config(
        data=folder / "data",
        server=ServerConfig(grace=timedelta(0)),
        models=ModelsConfig(default="test/model"),
        providers={"test": chat, "claude": claude, "responses": responses},
    )


def tools_of(folder: Path) -> tuple[Tool, ...]:
    """Each leaves a trace outside, before it answers."""

    def take_effect(context: ToolContext) -> str:
        effects = os.open(folder / EFFECTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(effects, f"{context.call}\n".encode())
        finally:
            os.close(effects)
        return f"done: {context.call}"

    async def quick(arguments: str, context: ToolContext) -> str:
        return take_effect(context)

    async def slow(arguments: str, context: ToolContext) -> str:
        done = take_effect(context)
        for number in range(5):
            context.show(f"{number} ")
            await asyncio.sleep(0.04)
        return done

    return (
        FunctionTool("quick", quick),
        FunctionTool("slow", slow, parallel=False),
        FunctionTool("careful", quick, asks=ASKS),
    )


class Life:
    def __init__(
        self, account: Account, blobs: Blobs, orders: Orders, say: Callable[[Line], None]
    ) -> None:
        self.account = account
        self.blobs = blobs
        self.orders = orders
        self.say = say
        self.random = random.Random(orders.seed)  # noqa: S311 (reproducible, not secret)
        self._numbers = count()

    async def run(self) -> None:
        known = {session.id for session in await self.account.sessions(limit=200)}
        for session in self.orders.sessions:
            if session not in known:
                model = MODELS[sum(session.encode()) % len(MODELS)]
                create = partial(self.account.create, origin="test", title="Titled", model=model)
                await persisted(partial(create, id=session))
        self.say(Opened())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._beat())
            for watch in self.orders.watch:
                tasks.create_task(self._watch(watch))
            for session in () if self.orders.idle else self.orders.sessions:
                tasks.create_task(self._talk(session))

    async def _beat(self) -> None:
        while True:
            self.say(Beat(time.monotonic()))
            await asyncio.sleep(BEAT)

    async def _watch(self, watch: Watch) -> None:
        async with self.account.watch(watch.session, watch.cursor) as events:
            async for event in events:
                self.say(Saw(watch.reader, watch.session, time.monotonic(), event))

    # What people do.

    async def _talk(self, session: SessionId) -> None:
        deeds: dict[Callable[[SessionId], Awaitable[None]], int] = {
            self._send: 60,
            self._steer: 12,
            self._repeat: 4,
            self._attach: 4,
            self._cancel: 6,
            self._edit: 8,
            self._remove: 4,
            self._undo: 3,
            self._say_instead: 6,
            self._proceed: 3,
            self._answer: 20,
        }
        while True:
            (deed,) = self.random.choices(list(deeds), list(deeds.values()))
            # Somebody was faster, a turn is under way, or a fault is armed.
            with contextlib.suppress(Conflict, NotFound, StoreUnavailable):
                await deed(session)
            await asyncio.sleep(self.random.uniform(0, 0.15))

    def _words(self) -> str:
        """Never said before."""
        return f"<{os.getpid()}.{time.monotonic_ns()}.{next(self._numbers)}>"

    async def _send(self, session: SessionId, *, steer: bool = False) -> None:
        if len(await self.account.queue(session)) < MOST_QUEUED:
            await self._hand_in(session, self._words(), steer=steer)

    async def _steer(self, session: SessionId) -> None:
        await self._send(session, steer=True)

    async def _repeat(self, session: SessionId) -> None:
        """Twice at once, with one key, as a client does whose first try went unanswered."""
        text = self._words()
        once = partial(self._hand_in, session, text, key=text)
        for error in await asyncio.gather(once(), once(), return_exceptions=True):
            if error is not None:
                raise error

    async def _hand_in(
        self,
        session: SessionId,
        text: str,
        *files: FilePart,
        steer: bool = False,
        key: str | None = None,
    ) -> None:
        turn = new_turn_id()
        self.say(Sending(session, turn, text))
        parts = (TextPart(text), *files)
        accepted = await self.account.send(session, parts, id=turn, steer=steer, key=key)
        self.say(Accepted(turn, accepted.id))

    async def _attach(self, session: SessionId) -> None:
        data = self.random.randbytes(50).hex().encode()
        blob = await self.blobs.put_bytes(data, "text/plain")
        file = FilePart(BlobId(blob.id), "text/plain", "notes.txt", len(data))
        await self._hand_in(session, self._words(), file)

    async def _cancel(self, session: SessionId) -> None:
        await self.account.cancel(session)

    async def _edit(self, session: SessionId) -> None:
        for turn in await self._one_queued(session):
            text = self._words()
            await self._change(turn, text, self.account.edit_queued(turn.id, text))

    async def _remove(self, session: SessionId) -> None:
        for turn in await self._one_queued(session):
            await self._change(turn, None, self.account.remove_queued(turn.id))

    async def _change(self, turn: Turn, text: str | None, change: Awaitable[object]) -> None:
        self.say(Editing(turn.id, text_of(turn.parts), text))
        try:
            await change
        except (Conflict, NotFound):
            self.say(Edited(turn.id, text, False))
        else:
            self.say(Edited(turn.id, text, True))

    async def _one_queued(self, session: SessionId) -> Sequence[Turn]:
        queue = await self.account.queue(session)
        return [self.random.choice(queue)] if queue else []

    async def _undo(self, session: SessionId) -> None:
        self.say(Rewriting(session, None))
        await self.account.history.undo(session)

    async def _say_instead(self, session: SessionId) -> None:
        text = self._words()
        started = [turn for turn in await self.account.turns(session) if turn.undone is None]
        started = [turn for turn in started if turn.message is not None and turn.state != "merged"]
        if started:
            self.say(Rewriting(session, text))
            await self.account.history.edit(session, started[-1].id, text)

    async def _proceed(self, session: SessionId) -> None:
        await self.account.proceed(session)

    async def _answer(self, session: SessionId) -> None:
        for approval in await self.account.decisions.pending():
            if approval.session == session:
                decision = self.random.choice(["approved", "approved", "denied"])
                await self.account.decisions.answer(approval.id, decision)  # pyright: ignore[reportArgumentType]


class TimedTick:
    """The store's tick, saying how long it takes."""

    def __init__(self, work: Work, say: Callable[[Line], None]) -> None:
        self._tick = work.tick
        self._say = say

    async def __call__(self, checkpoints: Sequence[Checkpoint], held: Sequence[Lease]) -> Tick:
        began = time.monotonic()
        self._say(Ticked(began, None))
        try:
            return await self._tick(checkpoints, held)
        finally:
            self._say(Ticked(began, time.monotonic()))


async def live(folder: Path, orders: Orders, say: Callable[[Line], None]) -> None:
    config, tools = config_of(folder, orders.model), tools_of(folder)
    async with running(config, KEYS, {}, tools=tools) as roost:
        roost.store.work.tick = TimedTick(roost.store.work, say)  # pyright: ignore[reportAttributeAccessIssue]
        owner = (await persisted(roost.app.owner)).id
        await Life(roost.app.of(owner), roost.store.of(owner).blobs, orders, say).run()


def fork(folder: Path, orders: Orders, out: int) -> int:
    pid = os.fork()
    if pid:
        return pid

    def say(line: Line) -> None:
        os.write(out, encode(line))

    def tell(_: object, method: str, event: structlog.typing.EventDict) -> str:
        """What is logged as an error must not happen, but for what is in no hurry."""
        hurries = not str(event.get("event")).startswith("upkeep failed")
        if method in ("error", "exception", "critical") and hurries:
            say(Broke(f"{event}\n{traceback.format_exc()}"))
        return f"{time.monotonic():.3f} {os.getpid()} {method} {event}"

    try:
        structlog.configure(processors=[tell])
        faults.arm_from_environment({"ROOST_FAULTS": orders.faults})
        uvloop.run(live(folder, orders, say))
    except BaseException:  # noqa: BLE001 (the last thing this process does is to tell)
        say(Broke(traceback.format_exc()))
    finally:
        os._exit(1)


def nursery(folder: Path) -> None:
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # where the log goes
    for line in sys.stdin.buffer:
        orders = decode(line.rstrip())
        assert isinstance(orders, Orders)
        pid = fork(folder, orders, out)
        os.write(out, encode(Born(pid)))
        _, status = os.waitpid(pid, 0)
        died = Died(pid, status, time.monotonic())
        os.write(out, b"\n")  # it may have died in the middle of a line
        os.write(out, encode(died))


if __name__ == "__main__":
    nursery(Path(sys.argv[1]))
