"""What servers on one database tell one another: names; what they stand for is in the store."""

from collections.abc import AsyncIterator
from typing import Protocol

import msgspec

from roost.core.ids import SessionId


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """Sessions that were written to, those whose turn has streamed more, and routes that something
    is to be sent to. `people` says that somebody may not do any more what they might, `settings`
    that what an admin has set up is another, `left` that a server has let go of what it held.
    `everything` is what is told where something may have been missed: look at all that matters
    here."""

    changed: tuple[SessionId, ...] = ()
    streamed: tuple[SessionId, ...] = ()
    routes: tuple[str, ...] = ()
    people: bool = False
    settings: bool = False
    left: bool = False
    everything: bool = False


class Signals(Protocol):
    def tell(
        self,
        *,
        changed: SessionId | None = None,
        streamed: SessionId | None = None,
        route: str | None = None,
        people: bool = False,
        settings: bool = False,
        left: bool = False,
    ) -> None:
        """Let the others know soon, together with what else there is."""
        ...

    def listen(self) -> AsyncIterator[Told]:
        """What the others tell, without end, to each who listens. It begins with `everything`."""
        ...
