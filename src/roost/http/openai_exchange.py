"""One request for a completion: its session, its turn, and what becomes of them afterwards."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from http import HTTPStatus

import msgspec
import structlog

from roost.agent.titles import plain_title
from roost.core.errors import ConfigError, InvalidInput, KeyReused, NotFound, RoostError
from roost.core.ids import (
    SESSION_ID,
    SessionId,
    TurnId,
    derived_id,
    new_message_id,
    new_session_id,
    new_turn_id,
)
from roost.core.messages import Draft, Part, TextPart, check_text, message_parts, plain_text
from roost.core.sessions import Session
from roost.core.turns import ENDED, Turn
from roost.http.calls import Call
from roost.http.openai_errors import OpenAIError
from roost.http.openai_pictures import kept
from roost.http.openai_request import (
    ChatRequest,
    Conversation,
    Spoken,
    TextContent,
    UserMessage,
    conversation,
    text_of,
)
from roost.http.openai_turn import Followed
from roost.runtime.completions import Completions

log = structlog.stdlib.get_logger("roost.http")

NEW = "new"
"""Instead of a session's id: one is opened, and named in the answer."""
DEFAULTS = frozenset({"roost", "default"})
"""The names of whichever model answers if nobody names another."""
ONCE = "request"
"""The origin of a session that is one request's alone."""
_OWN_ID = re.compile(r"ses_[0-9a-z]{26}")


class Exchange:
    """`named` is the session that the request wants to go on with; without, it has one of its own,
    which ends with it. With a `key` it is the same request however often it comes."""

    def __init__(self, call: Call, body: ChatRequest, named: str | None, key: str | None) -> None:
        self.body = body
        self.session = SessionId("")
        self.completions = Completions(call.callers.app.parts, call.who.user.id)
        self._account = call.account
        self._stop = call.callers.stop
        self._user = call.who.user.id
        self._named = named
        self._key = key
        self._now: tuple[Part, ...] = ()

    @property
    def _model(self) -> str | None:
        return None if self.body.model in DEFAULTS else self.body.model

    async def prepare(self) -> None:
        """Everything that can be refused before anything is said."""
        said = conversation(self.body)
        model = await self._resolved()
        now = [part for each in said.now for part in await self._parts(each)]
        self._now = message_parts(tuple(now))
        found = await self._existing()
        if found is not None:
            self.session = found.id
            await self._choose(found, model)
            return
        self.session = (await self._open(said)).id

    async def _open(self, said: Conversation) -> Session:
        before = await self._before(said.before)
        check_text((said.instructions, before))
        # A request of its own is named after its words: no model is asked for that.
        title = None if self._named else plain_title(plain_text(self._now)) or None
        try:
            return await self.completions.open(
                self._new_id(),
                origin="api" if self._named else ONCE,
                model=self._model,
                instructions=said.instructions,
                title=title,
                said=before,
            )
        except InvalidInput:
            if self._named in (None, NEW):
                raise
            raise NotFound("session", self._named) from None  # it is someone else's

    async def _resolved(self) -> str:
        try:
            return (await self._account.answerer(self._model)).name
        except (InvalidInput, ConfigError) as error:
            code, param = "model_not_found", "model"
            raise OpenAIError(HTTPStatus.NOT_FOUND, str(error), code=code, param=param) from error

    async def _existing(self) -> Session | None:
        named = self._named
        if named is None or named == NEW:
            return None
        if not re.search(SESSION_ID, named):
            raise NotFound("session", named[:80])
        try:
            return await self._account.session(SessionId(named))
        except NotFound:
            if not _OWN_ID.fullmatch(named):
                raise
            return None

    def _new_id(self) -> SessionId:
        if self._named is not None and self._named != NEW:
            return SessionId(self._named)
        if self._key is not None:
            return SessionId(derived_id(f"ses_{self._key}", self._user))
        return new_session_id()

    async def _choose(self, session: Session, model: str) -> None:
        """A request that names a model is answered by that one."""
        config = session.config
        now = None if config is None else f"{config.provider}/{config.model}"
        if self._model is not None and model != (now or (await self._account.answerer()).name):
            await self._account.choose(session.id, model=self._model)

    async def _before(self, spoken: Sequence[Spoken]) -> tuple[Draft, ...]:
        drafts: list[Draft] = []
        for message in spoken:
            if isinstance(message, UserMessage):
                parts, role = await self._parts(message), "user"
            else:
                parts, role = _text_parts(text_of(message.content)), "assistant"
            if parts:
                drafts.append(Draft(new_message_id(), role, parts))
        return tuple(drafts)

    async def _parts(self, message: UserMessage) -> tuple[Part, ...]:
        if isinstance(message.content, str):
            return _text_parts(message.content)
        parts: list[Part] = []
        for each in message.content:
            if isinstance(each, TextContent):
                parts += _text_parts(each.text)
            else:
                parts.append(await kept(self._account.files, each.image_url.url))
        return tuple(parts)

    # The turn.

    @asynccontextmanager
    async def followed(self) -> AsyncGenerator[Followed]:
        async with self._account.watch(self.session) as events:
            followed = Followed(self._account, await self._send(), events)
            try:
                yield followed
            finally:
                await self._leave(followed.turn)

    async def _send(self) -> Turn:
        id = self._turn_id()
        turn = await self._account.send(
            self.session, self._now, id=id, key=self._key, effort=self.body.effort
        )
        if turn.id != id:
            raise KeyReused(key=self._key)
        return turn

    def _turn_id(self) -> TurnId:
        """With a key it tells by all of the request whether it is the same one."""
        if self._key is None:
            return new_turn_id()
        digest = sha256(msgspec.json.encode([self._key, self.body])).hexdigest()
        return TurnId(derived_id(f"trn_{digest}", self.session))

    async def _leave(self, turn: Turn) -> None:
        """Who hangs up on a request of its own wants no more of it, unless they can ask for it
        again by its key."""
        if self._named is not None:
            return
        if turn.state not in ENDED and (self._key is not None or self._stop.is_set()):
            return
        try:
            await self._account.end(self.session)
        except RoostError as error:
            log.warning("a session could not be ended", session=self.session, error=str(error))


def _text_parts(text: str) -> tuple[TextPart, ...]:
    return (TextPart(text),) if text else ()
