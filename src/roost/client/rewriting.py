"""Taking back, saying again, making room, and answering questions, at a running server."""

from collections.abc import Sequence

import msgspec

from roost.client.connection import LONG, Ask, Connection, path
from roost.client.wire import SentApproval, SentSession, SentTurn
from roost.core.approvals import Approval, Decision, Keep
from roost.core.compaction import Compaction
from roost.core.ids import ApprovalId, MessageId, SessionId
from roost.core.turns import Turn


class _Compacted(msgspec.Struct, frozen=True, kw_only=True):
    compacted: bool
    replaced: tuple[MessageId, ...] = ()
    model: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    session: SentSession


class _Approvals(msgspec.Struct, frozen=True):
    approvals: tuple[SentApproval, ...]


class History:
    """None of it is asked again if the answer is lost: taken back twice is more than once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def retry(self, session: SessionId) -> Turn:
        return await self._turn(session, "retry")

    async def undo(self, session: SessionId) -> Turn:
        return await self._turn(session, "undo")

    async def restore(self, session: SessionId) -> None:
        await self._connection.fetch(Ask("POST", path("sessions", session, "restore")))

    async def compact(self, session: SessionId, *, focus: str | None = None) -> Compaction | None:
        asked = Ask(
            "POST", path("sessions", session, "compact"), body={"focus": focus}, seconds=LONG
        )
        done = await self._connection.ask(asked, _Compacted)
        if not done.compacted:
            return None
        return Compaction(
            epoch=done.session.epoch - 1,
            replaced=done.replaced,
            replacements=(),
            trigger="person",
            focus=focus,
            model=done.model,
            tokens_before=done.tokens_before,
            tokens_after=done.tokens_after,
        )

    async def _turn(self, session: SessionId, what: str) -> Turn:
        return (
            await self._connection.ask(Ask("POST", path("sessions", session, what)), SentTurn)
        ).made()


class Decisions:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def pending(self) -> Sequence[Approval]:
        found = await self._connection.ask(Ask("GET", path("approvals"), again=True), _Approvals)
        return [each.made() for each in found.approvals]

    async def answer(
        self,
        approval: ApprovalId,
        decision: Decision,
        *,
        answer: str | None = None,
        route: str | None = None,
        keep: Keep = "once",
    ) -> Approval:
        body = {"decision": decision, "answer": answer, "keep": keep}
        asked = Ask("POST", path("approvals", approval), body=body)
        return (await self._connection.ask(asked, SentApproval)).made()
