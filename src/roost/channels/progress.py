"""Shows how far an answer has come: that someone types, and a message edited as it grows."""

import asyncio

import structlog

from roost.channels.admission import address_of
from roost.channels.base import Channel, Piece
from roost.channels.outbox import Outbox, progress_key
from roost.channels.pace import Pace
from roost.core.errors import ChannelBusy, ChannelLost, RoostError
from roost.core.events import (
    AttemptBegan,
    Changed,
    Rewound,
    SessionEvent,
    Snapshot,
    Streamed,
    TextDelta,
    TurnUpdated,
)
from roost.core.happenings import Happening, TurnBegan, TurnOver
from roost.core.ids import TurnId, UserId
from roost.core.messages import plain_text
from roost.core.turns import SUBAGENT_ROUTE, TurnState
from roost.runtime.app import App
from roost.store.outbox import UNKNOWN

log = structlog.stdlib.get_logger("roost.channels")

TYPING = 4.0
"""Seconds after which platforms stop showing that somebody types."""
FIRST = 1.0
"""Seconds before the first look: most answers are quicker, or come in one piece."""


class Progress:
    """Told of every turn that begins here. What it shows may be lost, and never says less than the
    answer that takes its place."""

    def __init__(self, app: App, channel: Channel, outbox: Outbox, pace: Pace) -> None:
        self._app = app
        self._channel = channel
        self._outbox = outbox
        self._pace = pace
        self._prefix = f"{channel.name}:"
        self._tasks: dict[asyncio.Task[None], View] = {}
        self._views: dict[TurnId, View] = {}

    def happened(self, happening: Happening) -> None:
        match happening:
            case TurnBegan():
                view = self._views[happening.turn] = View(happening.turn)
                task = asyncio.create_task(self._follow(happening, view))
                self._tasks[task] = view
                task.add_done_callback(self._followed)
            case TurnOver() if happening.turn in self._views:
                self._views[happening.turn].over.set()
            case _:
                pass

    def _followed(self, task: asyncio.Task[None]) -> None:
        view = self._tasks.pop(task)
        if self._views.get(view.turn) is view:  # it may have gone on, and be followed anew
            del self._views[view.turn]

    async def stop(self) -> None:
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _follow(self, began: TurnBegan, view: "View") -> None:
        if await _set_within(view.over, FIRST):
            return
        account = self._app.of(began.user)
        try:
            route = await self._route(began)
            if route is None:
                return
            async with account.watch(began.session) as events:
                showing = asyncio.create_task(self._show(view, route, began.user))
                try:
                    async for event in events:
                        view.see(event)
                        if view.over.is_set():
                            break
                finally:
                    view.over.set()
                    await asyncio.wait([showing])
        except RoostError as error:
            log.info("a turn is not shown", turn=began.turn, error=str(error))
        except Exception:
            log.exception("a turn could not be shown", turn=began.turn)

    async def _route(self, began: TurnBegan) -> str | None:
        """Where the turn came from; or where its session is current, if it goes on elsewhere."""
        mine = self._app.parts.store.of(began.user)
        turn = await mine.turns.get(began.turn)
        if turn.route == SUBAGENT_ROUTE:
            return None
        if turn.route is not None and turn.route.startswith(self._prefix):
            return turn.route
        routes = await mine.sessions.channels(began.session)
        return next((route for route in routes if route.startswith(self._prefix)), None)

    async def _show(self, view: "View", route: str, user: UserId) -> None:
        to, every = address_of(route), self._channel.limits.edit_every
        typed, shown, wait = 0.0, "", 0.0
        try:
            while not await _set_within(view.over, wait):
                if not await self._outbox.admission.reaches(user, route):
                    return  # the outbox says so
                wait = every or TYPING
                try:
                    if _now() - typed > TYPING:
                        typed = _now()
                        await self._channel.typing(to)
                    text = "" if every is None else self._fitting(view.text())
                    if text not in ("", shown) and await self._put(view, route, text):
                        shown = text
                except ChannelBusy as busy:
                    self._pace.pause(self._channel.chat_of(to), busy.seconds)
                    wait = max(wait, busy.seconds)
        except RoostError as error:
            # The answer itself is in the outbox's hands.
            log.info("progress is not shown any more", route=route, error=str(error))
        except Exception:
            log.exception("progress could not be shown", route=route)

    async def _put(self, view: "View", route: str, text: str) -> bool:
        """Whether it is there now: not before what is to be said earlier, and not once the answer
        itself is there."""
        to, store = address_of(route), self._app.parts.store.outbox
        async with self._outbox.alone(route):
            if view.over.is_set() or await store.next(route) is not None:
                return False
            shown = await store.shown(view.turn, route)
            if not self._pace.take_if_free(self._channel.chat_of(to)):
                return False
            if shown is None:
                # Before it is there: after a crash the answer knows what to look for.
                await store.show(view.turn, route, UNKNOWN)
            if not shown:
                key = progress_key(view.turn)
                external = await self._channel.deliver(to, Piece(text), key=key)
                await store.show(view.turn, route, external)
                return True
            try:
                await self._channel.edit(to, shown, Piece(text))
            except ChannelLost as error:  # the next one says all of it
                log.info("progress was lost", route=route, error=str(error))
            return True

    def _fitting(self, text: str) -> str:
        """The end of it, if it is too long to be shown."""
        limit = self._channel.limits.text
        while text and self._channel.measure(text) > limit:
            text = "…" + text[max(2, len(text) // 4) :]
        return text


class View:
    """What a turn has said in its last step, and the tool that it uses now."""

    def __init__(self, turn: TurnId) -> None:
        self.turn = turn
        self.over = asyncio.Event()
        self._said = ""
        self._anew = False
        self._tools: dict[str, str] = {}

    def text(self) -> str:
        said = self._said.strip()
        if not self._tools:
            return said
        names = ", ".join(dict.fromkeys(self._tools.values()))
        return f"{said}\n\n*{names} …*".strip()

    def see(self, event: SessionEvent) -> None:
        match event:
            case Snapshot() if event.turn is not None and event.turn.id == self.turn:
                self._take_up(event)
            case Streamed() if event.cursor.turn == self.turn:
                self._add([d.text for d in event.deltas.deltas if isinstance(d, TextDelta)])
            case Rewound() if event.turn == self.turn:
                self._anew = True
            case Changed():
                self._changed(event)
            case _:
                pass

    def _take_up(self, event: Snapshot) -> None:
        """As it stands when somebody begins to look."""
        deltas = [delta for run in event.deltas for delta in run.deltas]
        mine = [each for each in event.messages if each.turn == self.turn]
        said = [plain_text(each.parts) for each in mine if each.role == "assistant"]
        texts = [each.text for each in deltas if isinstance(each, TextDelta)] or said[-1:]
        self._said, self._anew = "".join(texts), not deltas
        running = [call for call in event.calls if call.state == "running"]
        self._tools = {call.call: call.name for call in running}

    def _add(self, texts: list[str]) -> None:
        if texts and self._anew:
            self._said, self._anew = "", False
        self._said += "".join(texts)

    def _changed(self, event: Changed) -> None:
        for call in event.calls:
            if call.turn == self.turn and call.state == "running":
                self._tools[call.call] = call.name
            else:
                self._tools.pop(call.call, None)
        for each in event.events:
            if isinstance(each, AttemptBegan) and each.turn == self.turn:
                self._anew = True
            elif isinstance(each, TurnUpdated) and each.turn == self.turn:
                self._moved(each.state)

    def _moved(self, state: TurnState) -> None:
        if state != "running":
            self.over.set()


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
