"""A session of OpenViking's, which holds one segment: its messages, then its commit, then what came
of that."""

import asyncio
from collections.abc import Sequence
from urllib.parse import quote

import msgspec

from roost.memory.openviking.http import Viking, failed
from roost.memory.openviking.messages import Told

SESSIONS = "/api/v1/sessions"
_TASKS = "/api/v1/tasks"
_ACTIVE = frozenset({"pending", "running", "cancelling"})

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class _Owner(msgspec.Struct, frozen=True):
    user_id: str


class State(msgspec.Struct, frozen=True):
    """`message_count` are those not committed; `commit_count` are its commits, done or not."""

    user: _Owner
    message_count: int = 0
    commit_count: int = 0


class _Added(msgspec.Struct, frozen=True):
    message_count: int


class _Accepted(msgspec.Struct, frozen=True):
    task_id: str | None = None


class _Task(msgspec.Struct, frozen=True):
    task_id: str
    status: str
    error: str | None = None


class VikingSession:
    """By its name, which a repeat finds again."""

    def __init__(self, viking: Viking, user: str, name: str) -> None:
        self._viking = viking
        self._user = user
        self._name = name
        self._path = f"{SESSIONS}/{quote(name, safe='')}"

    async def state(self) -> State | None:
        """None if it was never begun."""
        state = await self._viking.ask("GET", self._path, State, user=self._user)
        if state is not None:
            self._check(state)
        return state

    async def create(self) -> None:
        # Without a policy it is never committed behind our back, between two batches.
        body = {"session_id": self._name, "auto_commit_policy": None}
        made = await self._viking.ask("POST", SESSIONS, State, user=self._user, body=body)
        if made is None:
            raise failed("it has no sessions; is it an OpenViking server?")
        if made.user.user_id != self._user:
            await self.delete()
        self._check(made)

    def _check(self, state: State) -> None:
        """A server that goes by the key alone would put all users' memories into one."""
        if state.user.user_id != self._user:
            raise failed(
                f"the key is that of its user {state.user.user_id}, not of {self._user}; let it "
                "run in trusted mode, or use that user's key"
            )

    async def add(self, batch: Sequence[Told]) -> int:
        """How many it holds then that are not committed."""
        path = f"{self._path}/messages/batch"
        body = {"messages": batch}
        added = await self._viking.ask("POST", path, _Added, user=self._user, body=body)
        if added is None:
            raise failed("the session it had begun is gone")
        return added.message_count

    async def commit(self) -> str | None:
        """The name of the task that extracts memories; None if there was nothing to commit."""
        path = f"{self._path}/commit"
        accepted = await self._viking.ask("POST", path, _Accepted, user=self._user, body={})
        if accepted is None:
            raise failed("the session it had begun is gone")
        return accepted.task_id

    async def delete(self) -> None:
        await self._viking.ask("DELETE", self._path, object, user=self._user)

    async def is_kept(self) -> bool:
        """Whether its first commit is through, memories and all."""
        path = f"{self._path}/archives/archive_001"
        return await self._viking.ask("GET", path, object, user=self._user) is not None

    async def active_task(self) -> str | None:
        """The task that is at work on its latest commit."""
        query = {"task_type": "session_commit", "resource_id": self._name, "limit": "1"}
        tasks = await self._viking.ask("GET", _TASKS, list[_Task], user=self._user, query=query)
        return next((task.task_id for task in tasks or () if task.status in _ACTIVE), None)

    async def settled(self, task_id: str, within: float) -> str | None:
        """Wait until a task is over: None if it succeeded, otherwise what went wrong. Tasks are
        durable: one that takes longer goes on without us, and a repeat finds it."""
        path = f"{_TASKS}/{quote(task_id, safe='')}"
        pause = _FIRST_PAUSE
        try:
            async with asyncio.timeout(within):
                while True:
                    task = await self._viking.ask("GET", path, _Task, user=self._user)
                    if task is None:
                        return None if await self.is_kept() else "its task is gone"
                    if task.status == "completed":
                        return None
                    if task.status not in _ACTIVE:
                        return task.error or task.status
                    await asyncio.sleep(pause)
                    pause = min(pause * 1.5, _LONGEST_PAUSE)
        except TimeoutError as error:
            raise failed("it is still extracting memories from what it was given") from error
