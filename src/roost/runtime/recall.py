"""Brings back what memory knows, with the message that makes it matter: soon, or the next time."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from roost.core.ids import SessionId, TurnId, UserId
from roost.core.messages import ContextPart
from roost.core.sessions import Session
from roost.memory.base import Memory, MemoryProvider, Scope

log = structlog.stdlib.get_logger("roost.memory")

WAIT = 0.2
"""Seconds that a turn waits. An answer that comes later is used by the next one."""

CALL_LIMIT = 20.0
MOST = 8
CHARACTERS = 4000
WORDS = 2000
SESSIONS = 512
LABEL = "memory"
HEADING = "Recalled from earlier conversations, not said now; it may be out of date:"

_CLOSING = re.compile("</(?=context)", re.IGNORECASE)


@dataclass(eq=False, slots=True)
class _Known:
    """What one session was told in its epoch, with which turn, and the answer that is still on its
    way."""

    epoch: int
    told: dict[str, TurnId] = field(default_factory=dict[str, TurnId])
    asking: asyncio.Task[Sequence[Memory]] | None = None


class Recall:
    """`scope` says which memory a user's turns belong to; None is none."""

    def __init__(
        self,
        providers: Mapping[str, MemoryProvider],
        scope: Callable[[UserId], Scope | None],
        *,
        wait: float | None = None,
        call_limit: float = CALL_LIMIT,
    ) -> None:
        self._providers = providers
        self._scope = scope
        self._wait = WAIT if wait is None else wait
        self._call_limit = call_limit
        self._sessions: OrderedDict[SessionId, _Known] = OrderedDict()
        self._calls: set[asyncio.Task[Sequence[Memory]]] = set()

    async def for_turn(self, session: Session, turn: TurnId, words: str) -> tuple[ContextPart, ...]:
        """What to add to a turn's message that says these words. What is in the history already,
        with another turn, is not told twice."""
        scope = self._scope(session.user)
        provider = self._providers.get(scope.provider) if scope is not None else None
        if scope is None or provider is None or not words.strip():
            return ()
        known = self._known(session)
        found = [*_answer(known), *await self._asked(known, provider, scope, words)]
        return _told(known, turn, found)

    def mark(self, user: UserId) -> str | None:
        """The scope that a completed turn of this user is marked with."""
        scope = self._scope(user)
        return None if scope is None else str(scope)

    async def close(self) -> None:
        for call in self._calls:
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls, timeout=1.0)

    def _known(self, session: Session) -> _Known:
        known = self._sessions.get(session.id)
        if known is None or known.epoch != session.epoch:
            # What was told before may have left the history.
            asking = known.asking if known is not None else None
            known = self._sessions[session.id] = _Known(session.epoch, asking=asking)
        self._sessions.move_to_end(session.id)
        while len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        return known

    async def _asked(
        self, known: _Known, provider: MemoryProvider, scope: Scope, words: str
    ) -> Sequence[Memory]:
        """The answer, if it comes soon. While one is on its way no other is asked for."""
        if known.asking is None:
            known.asking = asyncio.create_task(self._ask(provider, scope, words[:WORDS]))
            self._calls.add(known.asking)
            known.asking.add_done_callback(self._calls.discard)
        await asyncio.wait([known.asking], timeout=self._wait)
        return _answer(known)

    async def _ask(self, provider: MemoryProvider, scope: Scope, words: str) -> Sequence[Memory]:
        try:
            async with asyncio.timeout(self._call_limit):
                return await provider.recall(scope, words, limit=MOST)
        except Exception as error:  # noqa: BLE001 (whatever it was, the turn goes on without)
            log.warning("nothing could be recalled", provider=scope.provider, error=str(error))
            return ()


def _answer(known: _Known) -> Sequence[Memory]:
    """Take the answer, if it is there."""
    if known.asking is None or not known.asking.done():
        return ()
    call, known.asking = known.asking, None
    return () if call.cancelled() else call.result()


def _told(known: _Known, turn: TurnId, found: Sequence[Memory]) -> tuple[ContextPart, ...]:
    lines: list[str] = []
    room = CHARACTERS
    for memory in found:
        line = _line(memory)
        told = known.told.get(memory.id, turn) != turn or line in lines
        if told or len(lines) == MOST or len(line) > room:
            continue
        known.told[memory.id] = turn
        lines.append(line)
        room -= len(line)
    return (ContextPart(LABEL, "\n".join([HEADING, *lines])),) if lines else ()


def _line(memory: Memory) -> str:
    """On one line, and with nothing in it that would end the context it stands in."""
    text = _CLOSING.sub("< /", " ".join(memory.text.split()))
    if not memory.created_at:
        return f"- {text}"
    return f"- {datetime.fromtimestamp(memory.created_at / 1000, UTC):%Y-%m-%d}: {text}"
