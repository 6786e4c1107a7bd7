"""Asks the small model on behalf of the memory, and counts what that cost."""

import structlog

from roost.agent.inquiries import inquire
from roost.agent.model import Model
from roost.core.config import LimitsConfig
from roost.core.errors import Budget, MemoryWaits, NotFound, RoostError
from roost.core.sessions import Session
from roost.core.usage import Usage
from roost.memory import builtin
from roost.memory.ports import Inquiry
from roost.runtime.building import Builder
from roost.runtime.spending import check_limits
from roost.store.store import Store

log = structlog.stdlib.get_logger("roost.memory")

_TINY = (
    "the built-in model is too small to learn from a conversation; set models.default or"
    " models.small to another"
)


class Inquiries:
    """What the built-in memory asks through (`roost.memory.ports.Asker`)."""

    def __init__(self, store: Store, builder: Builder, *, limits: LimitsConfig) -> None:
        self._store = store
        self._builder = builder
        self._limits = limits

    async def __call__(self, inquiry: Inquiry) -> str:
        session = await self._session(inquiry)
        model = self._model(session)
        if model.target.profile.brief:
            # Its turns stay uncommitted, and are learned from once there is a model that can.
            raise MemoryWaits(_TINY, provider=builtin.NAME)
        try:
            await check_limits(self._store.of(inquiry.user), session, self._limits)
        except Budget as error:
            why = f"a limit is reached (limits.{error.facts['setting']})"
            raise MemoryWaits(why, provider=builtin.NAME) from error
        answer, usage = await inquire(model, inquiry.system, inquiry.text, schema=inquiry.schema)
        await self._count(inquiry, usage)
        return answer

    async def _session(self, inquiry: Inquiry) -> Session | None:
        try:
            return await self._store.of(inquiry.user).sessions.get(inquiry.session)
        except NotFound:
            return None  # deleted meanwhile

    def _model(self, session: Session | None) -> Model:
        if session is None:
            return self._builder.model(self._builder.plan_for(None).target)
        return self._builder.small_model(session)

    async def _count(self, inquiry: Inquiry, usage: Usage) -> None:
        usages = self._store.of(inquiry.user).usage
        try:
            await usages.add(inquiry.session, f"memory:{inquiry.session}", (usage,))
        except RoostError as error:
            log.warning("a cost could not be counted", session=inquiry.session, error=str(error))
