"""What the tests of the OpenViking memory share: segments, and a look at what the server has."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from roost.core.ids import MessageId, SessionId, UserId, new_session_id, new_turn_id, new_user_id
from roost.core.messages import Message, Role, TextPart
from roost.memory.base import Memory, Scope, Segment
from roost.memory.openviking import OpenViking, viking_user
from tests.unit.memory.viking_server import KEY, VikingServer


def some_scope(user: UserId | None = None) -> Scope:
    return Scope("openviking", "default", user or new_user_id())


def segment(
    *texts: str, scope: Scope, key: str = "seg_1", session: SessionId | None = None
) -> Segment:
    """Turns of one exchange each: a text, and a nod."""
    turns = tuple(new_turn_id() for _ in texts)
    messages: list[Message] = []
    for turn, text in zip(turns, texts, strict=True):
        pair: tuple[tuple[Role, str], ...] = (("user", text), ("assistant", "Noted."))
        for role, said in pair:
            id = MessageId(f"msg_{len(messages)}")
            messages.append(
                Message(id, role, (TextPart(said),), turn, created_at=1_800_000_000_000)
            )
    return Segment(
        key=key,
        scope=scope,
        session=session or new_session_id(),
        turns=turns,
        messages=tuple(messages),
    )


@asynccontextmanager
async def memory_at(
    server: VikingServer, *, key: str | None = KEY, patience: float = 20, settle: float = 40
) -> AsyncGenerator[OpenViking]:
    memory = OpenViking(server.url, key, timeout=patience, settle=settle)
    try:
        yield memory
    finally:
        await memory.close()


class Look:
    """What a server has of a scope, asked of it directly."""

    def __init__(self, server: VikingServer, scope: Scope) -> None:
        self._server = server
        self._headers = {
            "x-api-key": KEY,
            "x-openviking-account": "default",
            "x-openviking-user": viking_user(scope),
        }

    async def sessions(self) -> list[str]:
        return [each["session_id"] for each in await self._get("/api/v1/sessions") or ()]

    async def archived(self) -> list[list[str]]:
        """The texts of what was committed, for each session."""
        return [await self._archived(id) for id in await self.sessions()]

    async def _archived(self, id: str) -> list[str]:
        archive = await self._get(f"/api/v1/sessions/{id}/archives/archive_001")
        assert archive is not None
        return [part["text"] for each in archive["messages"] for part in each["parts"]]

    async def commits(self) -> list[int]:
        ids = await self.sessions()
        return [(await self._get(f"/api/v1/sessions/{id}"))["commit_count"] for id in ids]

    async def wait(self) -> None:
        async with (
            aiohttp.ClientSession(headers=self._headers) as client,
            client.post(f"{self._server.url}/api/v1/system/wait") as response,
        ):
            assert response.status == 200

    async def _get(self, path: str) -> Any:  # noqa: ANN401 (as JSON has it)
        async with (
            aiohttp.ClientSession(headers=self._headers) as client,
            client.get(self._server.url + path) as response,
        ):
            return (await response.json())["result"] if response.status == 200 else None


async def recalled(
    memory: OpenViking, server: VikingServer, scope: Scope, words: str
) -> list[Memory]:
    """What is recalled once the server has nothing left to do: its index comes after the fact."""
    await Look(server, scope).wait()
    return list(await memory.recall(scope, words, limit=5))
