"""Answers to what a turn waits for: by a button, or in words."""

import re
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import structlog

from roost.channels.admission import Heard, address_of
from roost.channels.base import Channel, Piece
from roost.channels.composing import APPROVE, DENY
from roost.core.approvals import Approval, Decision
from roost.core.errors import ChannelError, Conflict, InvalidInput, NotFound, RoostError
from roost.core.ids import ApprovalId, SessionId
from roost.runtime.app import App
from roost.runtime.persistence import persisted
from roost.store.inbox import Waiting

log = structlog.stdlib.get_logger("roost.channels")

NOT_YOURS = "Only whoever this conversation belongs to can decide this."
_NUMBER = re.compile(r"[0-9]{1,4}")
_YES = frozenset({"y", "yes", "ok", "approve", "approved", "allow"})
_NO = frozenset({"n", "no", "deny", "denied", "stop"})


class Answered(NamedTuple):
    told: str


class Answers:
    def __init__(self, app: App, channel: Channel) -> None:
        self._app = app
        self._channel = channel
        self._inbox = app.parts.store.inbox
        self._outbox = app.parts.store.outbox

    async def press(self, waiting: Waiting, heard: Heard) -> str:
        """A button under a question was pressed; what is told of it."""
        if not heard.owns:
            return NOT_YOURS
        approval, _, said = (waiting.inbound.press or "").rpartition(":")
        try:
            found = await self._get(heard, ApprovalId(approval))
            decision, answer = _pressed(found, said)
            await self._answer(heard, found.id, decision, answer)
        except RoostError as error:
            return str(error)
        await self._mark(waiting, heard, answer or decision)
        return ""

    async def words(self, waiting: Waiting, heard: Heard, session: SessionId) -> Answered | None:
        """A message while a question waits is its answer; None if it is none."""
        text = waiting.inbound.text.strip()
        found = await self._waits_for(waiting, heard, session)
        if found is None or not text or not _is_meant_for(waiting, found):
            return None
        if found.kind == "approval":
            decision = _in_words(text)
            if decision is None:
                return None  # it waits with the others for its turn
            answer = None
        else:
            decision, answer = "answered", text
        if not heard.owns:
            return Answered(NOT_YOURS)
        plan = partial(self._inbox.plan, waiting.channel, waiting.inbound.id, found.id)
        await persisted(plan)
        with suppress(Conflict):  # somebody else was faster
            await self._answer(heard, found.id, decision, answer)
        return Answered("")

    async def pending(self, heard: Heard, session: SessionId) -> Approval | None:
        """What a session's turn asked first of what it still waits for."""
        pending = await self._app.of(heard.user).decisions.pending()
        return next((each for each in pending if each.session == session), None)

    async def _waits_for(
        self, waiting: Waiting, heard: Heard, session: SessionId
    ) -> Approval | None:
        """Before a crash this may have been answered with these very words."""
        if waiting.plan is not None:
            return await self._get(heard, ApprovalId(waiting.plan))
        return await self.pending(heard, session)

    async def _get(self, heard: Heard, approval: ApprovalId) -> Approval:
        if not approval.startswith("apr_"):
            raise NotFound("question", approval)
        return await self._app.parts.store.of(heard.user).approvals.get(approval)

    async def _answer(
        self, heard: Heard, approval: ApprovalId, decision: Decision, answer: str | None
    ) -> None:
        decisions = self._app.of(heard.user).decisions
        await decisions.answer(approval, decision, answer=answer, route=heard.route)

    async def _mark(self, waiting: Waiting, heard: Heard, said: str) -> None:
        """The question shows its answer, and its buttons go. If that fails nothing is lost: another
        press is told that it was answered."""
        message = waiting.inbound.message
        text = await self._outbox.said(heard.route, message)
        if text is None or self._channel.limits.edit_every is None:
            return
        piece = Piece(f"{text}\n\n**{said.capitalize()}.**")
        if self._channel.measure(piece.text) > self._channel.limits.text:
            return
        try:
            await self._channel.edit(address_of(heard.route), message, piece)
        except ChannelError as error:
            log.info("a question keeps its buttons", error=str(error))


def _is_meant_for(waiting: Waiting, found: Approval) -> bool:
    """What was said before it was asked is no answer; nor is a yes that people say to one another a
    yes to a command."""
    place = waiting.inbound.place
    overheard = found.kind == "approval" and place.group is not None and not place.mentioned
    return waiting.received_at >= found.asked_at and not overheard


def _pressed(found: Approval, said: str) -> tuple[Decision, str | None]:
    if found.kind == "approval" and said in (APPROVE, DENY):
        return ("approved" if said == APPROVE else "denied"), None
    choices = found.asked.choices
    if found.kind == "question" and _NUMBER.fullmatch(said) and 0 < int(said) <= len(choices):
        return "answered", choices[int(said) - 1]
    raise InvalidInput("This button is out of date.")


def _in_words(text: str) -> Decision | None:
    word = text.lower().rstrip(".!")
    return "approved" if word in _YES else "denied" if word in _NO else None
