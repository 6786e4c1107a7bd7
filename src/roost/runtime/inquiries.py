"""Asks the small model on behalf of the memory, and counts what that cost."""

import structlog

from roost.agent.inquiries import inquire
from roost.agent.model import Model
from roost.core.errors import MemoryFailed, NotFound, RoostError
from roost.core.usage import Usage
from roost.memory import builtin
from roost.memory.ports import Inquiry
from roost.runtime.building import Builder
from roost.store.store import Store

log = structlog.stdlib.get_logger("roost.memory")

_TINY = (
    "the built-in model is too small to learn from a conversation; set models.default or"
    " models.small to another"
)


class Inquiries:
    """What the built-in memory asks through (`roost.memory.ports.Asker`)."""

    def __init__(self, store: Store, builder: Builder) -> None:
        self._store = store
        self._builder = builder

    async def __call__(self, inquiry: Inquiry) -> str:
        model = await self._model(inquiry)
        if model.target.profile.brief:
            # Its turns stay uncommitted, and are learned from once there is a model that can.
            raise MemoryFailed(_TINY, provider=builtin.NAME)
        answer, usage = await inquire(model, inquiry.system, inquiry.text)
        await self._count(inquiry, usage)
        return answer

    async def _model(self, inquiry: Inquiry) -> Model:
        """By the session's choice, also if it was deleted meanwhile: then by the default."""
        try:
            session = await self._store.of(inquiry.user).sessions.get(inquiry.session)
        except NotFound:
            return self._builder.model(self._builder.plan_for(None).target)
        return self._builder.small_model(session)

    async def _count(self, inquiry: Inquiry, usage: Usage) -> None:
        usages = self._store.of(inquiry.user).usage
        try:
            await usages.add(inquiry.session, f"memory:{inquiry.session}", (usage,))
        except RoostError as error:
            log.warning("a cost could not be counted", session=inquiry.session, error=str(error))
