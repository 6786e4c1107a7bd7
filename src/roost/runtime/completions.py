"""What programs that speak OpenAI's protocol ask for besides an account."""

from collections.abc import Sequence

from roost.core.ids import SessionId, TurnId, UserId
from roost.core.messages import Draft
from roost.core.sessions import NewSession, Session
from roost.runtime.parts import Parts
from roost.store.usage import Used


class Completions:
    def __init__(self, parts: Parts, user: UserId) -> None:
        self._store = parts.store.of(user)
        self._hub = parts.hub
        self._builder = parts.builder

    async def open(
        self,
        id: SessionId,
        *,
        origin: str,
        model: str | None,
        instructions: str,
        title: str | None,
        said: tuple[Draft, ...] = (),
    ) -> Session:
        """A session that begins with what was said elsewhere; opened twice, it is one."""
        config = None
        if model is not None or instructions:
            config = self._builder.plan_for(model, instructions).config
        new = NewSession(id=id, origin=origin, title=title, config=config)
        opened = await self._store.branches.open(new, said)
        self._hub.changed(opened.id)
        return opened

    async def used(self, turn: TurnId) -> Sequence[Used]:
        """What a turn has used, by model."""
        return await self._store.usage.by_turn(turn)

    def models(self) -> Sequence[str]:
        """Those that the configuration names, without asking their providers for more."""
        return self._builder.models()
