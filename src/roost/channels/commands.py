"""What can be asked for with a slash, the same on every channel."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from roost.channels.admission import Heard
from roost.channels.answers import NOT_YOURS
from roost.channels.base import COMMANDS
from roost.core.approvals import Approval, Decision
from roost.core.errors import Conflict, InvalidInput, RoostError
from roost.core.ids import ApprovalId, SessionId, TurnId
from roost.core.messages import plain_text
from roost.core.pairing import hashed, is_code
from roost.core.resets import parse_reset
from roost.core.sessions import Session
from roost.runtime.account import Account
from roost.runtime.app import App
from roost.runtime.persistence import persisted
from roost.store.inbox import Waiting
from roost.store.sessions import SessionFilter

_LISTED = 10
_NUMBER = re.compile(r"[0-9]{1,4}")
_MODELS = 20
_DEFAULT = "default"
_RULES = (
    "/new alone begins a new conversation now. When that happens by itself, say with "
    "/new daily 04:00, /new idle 8h, /new never or /new default."
)
_FOR_ALL = frozenset({"help", "start", "stop", "usage"})
"""In a group, whoever is heard there may use these; the others are its owner's."""


class Asked(NamedTuple):
    name: str
    argument: str
    waiting: Waiting
    heard: Heard


SessionOf = Callable[[Heard, Waiting], Awaitable[SessionId]]


class Commands:
    """Each tells what it did; nothing, if an answer follows anyway."""

    def __init__(self, app: App, channel: str, session_of: SessionOf) -> None:
        self._app = app
        self._store = app.parts.store
        self._channel = channel
        self._session_of = session_of
        self._all: dict[str, Callable[[Asked, Account, SessionId], Awaitable[str]]] = {
            "new": self._new,
            "reset": self._new,
            "stop": self._stop,
            "undo": self._undo,
            "retry": self._retry,
            "sessions": self._sessions,
            "resume": self._resume,
            "model": self._model,
            "compact": self._compact,
            "usage": self._usage,
            "approve": self._approve,
            "deny": self._deny,
            "help": self._help,
            "start": self._help,
        }

    async def run(self, asked: Asked) -> str:
        command = self._all.get(asked.name)
        if command is None:
            return f"There is no /{asked.name} here. /help lists what there is."
        if not asked.heard.owns and asked.name not in _FOR_ALL:
            return NOT_YOURS
        account = self._app.of(asked.heard.user)
        session = await account.current(asked.heard.route)
        try:
            if session is None:
                session = await self._session_of(asked.heard, asked.waiting)
            return await command(asked, account, session)
        except RoostError as error:
            return str(error)

    async def _planned(self, asked: Asked, target: str) -> str:
        """What it is done to: as it was decided the first time, if that was before a crash."""
        waiting = asked.waiting
        if waiting.plan is not None:
            return waiting.plan
        plan = self._store.inbox.plan
        await persisted(partial(plan, waiting.channel, waiting.inbound.id, target))
        return target

    async def _new(self, asked: Asked, account: Account, session: SessionId) -> str:
        if asked.argument:
            return await self._anew(asked)
        if await self._planned(asked, session) == session:
            await account.reset(asked.heard.route, origin=self._channel)
        return "A new conversation begins. The old one is kept: /sessions."

    async def _anew(self, asked: Asked) -> str:
        """When conversations begin anew by themselves here; the present one goes on."""
        rule, route = " ".join(asked.argument.lower().split()), asked.heard.route
        try:
            said = "As on all of this channel." if rule == _DEFAULT else parse_reset(rule).when()
        except ValueError:
            return _RULES
        choose = self._store.of(asked.heard.user).sessions.set_reset_rule
        await persisted(partial(choose, route, None if rule == _DEFAULT else rule))
        return said

    async def _stop(self, asked: Asked, account: Account, session: SessionId) -> str:
        live = (await account.snapshot(session, limit=1)).turn
        turn = TurnId(await self._planned(asked, "" if live is None else live.id))
        if turn and await account.cancel(session, turn):
            return ""
        return "Nothing is being done."

    async def _undo(self, asked: Asked, account: Account, session: SessionId) -> str:
        turn = await self._last(asked, account, session)
        found = await account.turn(session, turn)
        if found.undone is None:
            await account.history.undo(session, turn)
        return f"Taken back: “{_short(plain_text(found.parts))}”"

    async def _retry(self, asked: Asked, account: Account, session: SessionId) -> str:
        turn = await self._last(asked, account, session)
        if (await account.turn(session, turn)).undone is None:
            await account.history.retry(session, turn)
        return ""

    async def _last(self, asked: Asked, account: Account, session: SessionId) -> TurnId:
        latest = await self._store.of(asked.heard.user).turns.latest(session)
        if latest is None and asked.waiting.plan is None:
            raise Conflict("Nothing has been said here yet.")
        return TurnId(await self._planned(asked, "" if latest is None else latest.id))

    async def _sessions(self, asked: Asked, account: Account, session: SessionId) -> str:
        found = await self._listed(asked, account)
        if not found:
            return "There are no conversations yet."
        lines = [
            f"{number}. {_title(each)}{' ← here' if each.id == session else ''}"
            for number, each in enumerate(found, 1)
        ]
        return "\n".join([*lines, "", "/resume and a number takes you there."])

    async def _listed(self, asked: Asked, account: Account) -> list[Session]:
        """In a group only its own: others read there what its owner asks for, and what follows."""
        in_group = asked.waiting.inbound.place.group is not None
        where = SessionFilter(route=asked.heard.route if in_group else None)
        found = await account.sessions(where, limit=_LISTED)
        return [each for each in found if each.counters.messages]

    async def _resume(self, asked: Asked, account: Account, session: SessionId) -> str:
        if not asked.argument:
            await account.proceed(session)
            return ""
        found = _chosen(asked.argument, await self._listed(asked, account))
        target = SessionId(await self._planned(asked, found.id))
        await account.point(asked.heard.route, target)
        return f"You are in “{_title(await account.session(target))}” now."

    async def _model(self, asked: Asked, account: Account, session: SessionId) -> str:
        if asked.argument:
            chosen = await account.choose(session, model=asked.argument)
            model = chosen.config.model if chosen.config is not None else asked.argument
            return f"{model} answers from now on."
        now = await account.session(session)
        answering = str((await account.answerer()).name) if now.config is None else None
        offers = await self._app.parts.models.offered()
        names = [f"- {each.name}" for each in offers.models[:_MODELS]]
        current = answering or (now.config.model if now.config is not None else "")
        return "\n".join([f"**{current}** answers. /model and a name chooses another:", *names])

    async def _compact(self, asked: Asked, account: Account, session: SessionId) -> str:
        done = await account.history.compact(session, focus=asked.argument or None)
        return "There is nothing to sum up yet." if done is None else "Summed up, to make room."

    async def _usage(self, asked: Asked, account: Account, session: SessionId) -> str:
        used = await account.usage(session)
        if not used:
            return "Nothing has been used here yet."
        lines = [
            f"{each.provider}/{each.model}: {each.calls} calls, {each.input_tokens:,} tokens in, "
            f"{each.output_tokens:,} out"
            for each in used
        ]
        cost = sum([each.cost for each in used]) / 1e9
        return "\n".join([*lines, f"${cost:.4f} in all."])

    async def _approve(self, asked: Asked, account: Account, session: SessionId) -> str:
        if is_code(asked.argument):
            return await self._pair(asked)
        return await self._decide(asked, account, session, yes=True)

    async def _deny(self, asked: Asked, account: Account, session: SessionId) -> str:
        return await self._decide(asked, account, session, yes=False)

    async def _decide(
        self, asked: Asked, account: Account, session: SessionId, *, yes: bool
    ) -> str:
        found = await self._asked(asked, account, session)
        decision: Decision = "denied"
        if yes:
            decision = "approved" if found.kind == "approval" else "answered"
        if decision == "answered" and not asked.argument:
            raise InvalidInput("That is a question. Write your answer, or /approve and the answer.")
        answer = asked.argument if decision == "answered" else None
        route = asked.heard.route
        await account.decisions.answer(found.id, decision, answer=answer, route=route)
        return ""

    async def _asked(self, asked: Asked, account: Account, session: SessionId) -> Approval:
        pending = [each for each in await account.decisions.pending() if each.session == session]
        if not pending and asked.waiting.plan is None:
            raise Conflict("Nothing waits for an answer here.")
        id = await self._planned(asked, pending[0].id if pending else "")
        approvals = self._store.of(asked.heard.user).approvals
        return await approvals.get(ApprovalId(id))

    async def _pair(self, asked: Asked) -> str:
        """An admin lets in someone whose code they were told: as themselves."""
        user = await self._store.users.get(asked.heard.user)
        if user.role != "admin":
            return "Only an admin can let someone in."
        paired = await self._store.pairings.approve(
            hashed(asked.argument), user.id, by=asked.heard.route
        )
        return f"{paired.name or paired.sender} can talk to me on {paired.channel} now, as you."

    async def _help(self, asked: Asked, account: Account, session: SessionId) -> str:
        lines = [
            f"/{each.name}{f' <{each.argument}>' if each.argument else ''}: {each.says}"
            for each in COMMANDS
        ]
        return "\n".join(["Write to me, and I answer. Besides:", "", *lines])


def _chosen(argument: str, listed: list[Session]) -> Session:
    if _NUMBER.fullmatch(argument) and 0 < int(argument) <= len(listed):
        return listed[int(argument) - 1]
    wanted = argument.casefold()
    found = [each for each in listed if wanted in (each.title or "").casefold()]
    if len(found) != 1:
        raise InvalidInput("Which one? /sessions lists them; give its number.")
    return found[0]


def _title(session: Session) -> str:
    day = datetime.fromtimestamp(session.active_at / 1000, UTC)
    return f"{session.title or 'Untitled'} ({day:%b %d})"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"
