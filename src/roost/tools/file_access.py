"""How the file tools reach a session's files: off the loop, and exactly where it was decided."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

import msgspec

from roost.core.errors import WorkspaceError
from roost.core.ids import ToolCallId
from roost.tools.base import Intent, ToolContext, ToolError
from roost.workspace.base import Ground
from roost.workspace.files.content import Check
from roost.workspace.files.paths import Refused, Spot, View
from roost.workspace.files.patience import Patience, in_thread
from roost.workspace.files.seen import Seen
from roost.workspace.plain import as_text
from roost.workspace.workspace import Workspace
from roost.workspace.workspaces import Workspaces

T = TypeVar("T")

SECONDS = 30.0
_MOST_MEANT = 1_000

HasRoom = Callable[[int], Awaitable[bool]]
"""Whether the disk has room for so many bytes more."""


class Files(msgspec.Struct, frozen=True):
    """A session's files, in the thread that works on them."""

    view: View
    seen: Seen
    check: Check
    meant: str | None
    may_leave: bool

    def find(self, path: str, *, writes: bool = False) -> Spot:
        """Where a path leads. It has to be where it led when the call was decided about: a process
        may have put a link there since."""
        spot = self.view.find(path)
        try:
            if self.meant not in (None, spot.path):
                raise Refused(f"{path} leads to {spot.path} now, not to {self.meant}. Try again.")
            if writes:
                spot.must_be_writable()
                if asks(self.view.home.inside, spot) and not self.may_leave:
                    raise Refused(f"{spot.path} is not in the workspace, and nobody was asked.")
        except Refused:
            spot.close()
            raise
        return spot

    def named(self, spot: Spot) -> str:
        """As the model may write it: from the workspace's folder if it is in there."""
        return spot.path.removeprefix(self.view.home.inside.rstrip("/") + "/")


class FileAccess:
    """`has_room` is asked before something is written."""

    def __init__(self, workspaces: Workspaces, *, has_room: HasRoom | None = None) -> None:
        self._workspaces = workspaces
        self._has_room = has_room
        self._seen: WeakKeyDictionary[Workspace, Seen] = WeakKeyDictionary()
        self._meant: OrderedDict[ToolCallId, str] = OrderedDict()

    async def ground(self, context: ToolContext) -> Ground:
        return (await self._workspace(context)).ground

    async def intent(
        self, context: ToolContext, path: str, does: str, *, writes: bool = False
    ) -> Intent:
        workspace = await self._workspace(context)
        home = workspace.ground.home.inside

        def look(view: View) -> tuple[str, bool]:
            with view.find(path) as spot:
                return spot.path, writes and asks(home, spot)

        leads_to, leaves = await _told(path, workspace.ground, lambda view, _: look(view))
        self._meant[context.call] = leads_to
        if len(self._meant) > _MOST_MEANT:
            self._meant.popitem(last=False)
        why = "It is outside of the workspace." if leaves else ""
        return Intent(
            does=does,
            subject=as_text(leads_to),
            asks=leaves,
            why=why,
            directory=home,
            workspace=workspace.id,
        )

    async def run(self, context: ToolContext, path: str, work: Callable[[Files], T]) -> T:
        """Do something with the session's files, in a thread. Whoever does not know yet that they
        are others than before is told that instead."""
        workspace = await self._workspace(context)
        if moved := await workspace.take_move():
            raise ToolError(moved)
        seen = self._seen.setdefault(workspace, Seen())
        meant = self._meant.get(context.call)
        may_leave = context.allowed != "by default"

        def run(view: View, patience: Patience) -> T:
            return work(Files(view, seen, patience.check, meant, may_leave))

        with workspace.used():
            return await _told(path, workspace.ground, run)

    async def are_lent(self, context: ToolContext) -> bool:
        """Whether the files are another session's: whoever asks is a subagent."""
        return await self._workspaces.are_lent(context.user, context.session)

    async def must_have_room(self, size: int) -> None:
        if self._has_room is not None and not await self._has_room(size):
            raise ToolError("The disk is almost full: nothing is written. Remove something first.")

    async def _workspace(self, context: ToolContext) -> Workspace:
        try:
            return await self._workspaces.of(context.user, context.session)
        except WorkspaceError as error:
            raise ToolError(str(error)) from error


def asks(home: str, spot: Spot) -> bool:
    """What is outside of a workspace's own folder is somebody else's."""
    return spot.folder.inside != home


async def _told(path: str, ground: Ground, work: Callable[[View, Patience], T]) -> T:
    """Every trouble with a file is said to the model, under the name that it used."""

    def run(patience: Patience) -> T:
        with View(ground) as view:
            return work(view, patience)

    try:
        return await in_thread(run, seconds=SECONDS)
    except Refused as error:
        raise ToolError(str(error)) from error
    except OSError as error:
        raise ToolError(f"{path[:300]}: {error.strerror or error}.") from error
