"""Long-term memory in an OpenViking context database, over its HTTP API."""

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from roost.core.errors import MemoryFailed
from roost.core.ids import SessionId
from roost.memory.base import Memory, Scope, Segment
from roost.memory.openviking.http import Viking, failed
from roost.memory.openviking.messages import Told, batches, told
from roost.memory.openviking.session import SESSIONS, VikingSession
from roost.memory.openviking.withdrawal import Withdrawal

REQUEST_SECONDS = 30.0
SETTLE_SECONDS = 45.0
"""So long a commit waits for the memories; the next try goes on waiting. It is less than
`memory.timeout`, which could not say what it was waiting for."""

RECALL_TOKENS = 1600

_QUERY_LIMIT = 2_000
"""In characters: those who embed it take no more than a page."""


class _Hit(msgspec.Struct, frozen=True):
    uri: str
    text: str = ""
    score: float = 0.0


class _Context(msgspec.Struct, frozen=True):
    entries: list[_Hit]


class _Listed(msgspec.Struct, frozen=True):
    session_id: str
    uri: str


class _Health(msgspec.Struct, frozen=True):
    status: str
    auth_mode: str = ""
    role: str = ""


def viking_user(scope: Scope) -> str:
    """The user of OpenViking's whose memory a scope is. No profile has an @ in it."""
    return f"{scope.user}@{scope.profile}"


class OpenViking:
    """Each scope is a user of OpenViking's, each segment a session of that user's."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        account: str = "default",
        user_of: Callable[[Scope], str] = viking_user,
        timeout: float = REQUEST_SECONDS,
        settle: float = SETTLE_SECONDS,
        recall_tokens: int = RECALL_TOKENS,
    ) -> None:
        self._viking = Viking(base_url, api_key, account=account, timeout=timeout)
        self._user_of = user_of
        self._settle = settle
        self._recall_tokens = recall_tokens

    async def recall(self, scope: Scope, words: str, *, limit: int) -> Sequence[Memory]:
        """OpenViking chooses how much of each: its first lines, its summary or the whole, so that
        all fit the budget. Summaries of whole folders are left out: nobody could forget them."""
        if not words.strip() or limit < 1:
            return []
        user = self._user_of(scope)
        query = {
            "query": words[:_QUERY_LIMIT],
            "context_type": "memory",
            "mode": "context",
            "limit": 2 * limit,
            "max_tokens": self._recall_tokens,
            "query_expansion": "off",  # it would ask a model first
        }
        path = "/api/v1/search/search"
        found = await self._viking.ask("POST", path, _Context, user=user, body=query)
        if found is None:
            raise failed("it can't search; is it an OpenViking server?")
        ranked = sorted(found.entries, key=lambda hit: -hit.score)
        mine = [hit for hit in ranked if _is_memory_of(user, hit.uri) and hit.text.strip()]
        return [Memory(id=hit.uri, text=hit.text.strip()) for hit in mine[:limit]]

    async def commit(self, segment: Segment) -> None:
        messages = told(segment.messages)
        if not messages:
            return
        user = self._user_of(segment.scope)
        session = VikingSession(self._viking, user, session_name(segment))
        state = await session.state()
        if state is not None and state.commit_count:
            if await self._is_taken(session):
                return
            # Its extraction failed, or was lost in a crash of its own: it has learned nothing.
            await session.delete()
            state = None
        if state is None:
            await session.create()
        await self._add(session, messages, state.message_count if state else 0)
        if (task := await session.commit()) is not None:
            await self._wait(session, task)

    async def _is_taken(self, session: VikingSession) -> bool:
        """Whether an earlier try has come through, now or once its task is done."""
        if await session.is_kept():
            return True
        task = await session.active_task()
        if task is None:
            return False
        await self._wait(session, task)
        return True

    async def _wait(self, session: VikingSession, task: str) -> None:
        if (problem := await session.settled(task, self._settle)) is not None:
            raise failed(f"it could not extract memories ({problem[:300]})")

    async def _add(self, session: VikingSession, messages: list[Told], added: int) -> None:
        """Those that are not there yet. A request that we gave up may still have been carried out,
        even just now: then the count is off, and the next try begins anew."""
        count = added
        for batch in batches(messages[added:]):
            count = await session.add(batch)
            added += len(batch)
            if count != added:
                break
        if not count == added == len(messages):
            await session.delete()
            raise failed("an earlier try came in between; all is sent anew")

    async def forget(self, scope: Scope, id: str) -> None:
        user = self._user_of(scope)
        if _is_memory_of(user, id):
            await Withdrawal(self._viking, user).remove(id)

    async def withdraw(self, scope: Scope, session: SessionId) -> None:
        user = self._user_of(scope)
        listed = await self._viking.ask("GET", SESSIONS, list[_Listed], user=user)
        for each in listed or ():
            if each.session_id.startswith(_names_begin(session)):
                await self._withdraw(user, each)

    async def _withdraw(self, user: str, listed: _Listed) -> None:
        session = VikingSession(self._viking, user, listed.session_id)
        if (task := await session.active_task()) is not None:
            await session.settled(task, self._settle)
        await Withdrawal(self._viking, user).undo(listed.uri)
        # Last, so that a repeat after a crash still finds what there is to take back.
        await session.delete()

    async def health(self) -> str | None:
        try:
            health = await self._viking.look("/health", _Health)
            await self._viking.look("/ready", object)
        except MemoryFailed as error:
            return str(error)
        if health.auth_mode == "api_key" and health.role == "root":
            return "OpenViking's root key opens no memories unless the server is in trusted mode."
        if health.auth_mode not in ("", "dev") and not self._viking.has_key:
            return "OpenViking wants a key, and none is set."
        return None

    async def close(self) -> None:
        await self._viking.close()


def _is_memory_of(user: str, uri: str) -> bool:
    """A file of this user's: whatever else it holds, and whoever else's, is not ours to show."""
    return uri.startswith(f"viking://user/{user}/") and uri.endswith(".md") and "/." not in uri


def session_name(segment: Segment) -> str:
    """The same for the same key, so that a repeat finds what it began."""
    digest = hashlib.blake2b(segment.key.encode(), digest_size=16).hexdigest()
    return _names_begin(segment.session) + digest


def _names_begin(session: SessionId) -> str:
    return f"roost-{session}-"
