"""A small platform in memory, for the tests of what all channels share. It keeps what was sent to
it, in order, and does to calls whatever a test has put in their way."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

from roost.channels.base import (
    Attachment,
    Channel,
    Inbound,
    InboundFile,
    Inlet,
    Limits,
    Piece,
    Rate,
)
from roost.core.errors import ChannelError, ChannelLost
from roost.core.inbound import Place, Sender

LIMITS = Limits(
    text=200,
    chat=Rate(1000, 1),
    overall=Rate(1000, 1),
    edit_every=0.01,
    file_in=1 << 20,
    file_out=1 << 20,
    keyed=True,
)


class Post:
    """A message on the platform: what it says now, and how often it was edited."""

    def __init__(self, id: str, to: str, piece: Piece, key: str) -> None:
        self.id = id
        self.to = to
        self.piece = piece
        self.key = key
        self.edits = 0


class SmallPlatform:
    """What outlives the channel: updates that were not acknowledged, and everything posted."""

    def __init__(self) -> None:
        self.updates: list[Inbound] = []
        self.acknowledged = 0
        self.posts: list[Post] = []
        self.files: dict[str, bytes] = {}
        self.typed: list[str] = []
        self.calls: list[tuple[float, str]] = []
        self.keys: list[str] = []
        """By which something was to be posted."""
        self.trouble: deque[ChannelError | None] = deque()
        """What the next calls meet; None is a call that goes through."""
        self.fetching: deque[ChannelError] = deque()
        """The same, for files."""
        self.lost_answers = 0
        """How many of the next messages are posted without anyone being told."""
        self.changed = asyncio.Condition()

    async def say(
        self,
        text: str,
        *,
        sender: str = "42",
        name: str = "Ann",
        address: str | None = None,
        channel: str = "small",
        **more: object,
    ) -> Inbound:
        """Someone writes. Returns what the channel will be given."""
        number = str(len(self.updates) + 1)
        place = more.pop("place", None) or Place(address or f"{channel}:dm:{sender}")
        assert isinstance(place, Place)
        values: Mapping[str, object] = {
            "id": number,
            "message": f"m{number}",
            "sender": Sender(sender, name),
            "place": place,
            "text": text,
            **more,
        }
        inbound = Inbound(**values)  # pyright: ignore[reportArgumentType] (a test's own words)
        await self.deliver(inbound)
        return inbound

    async def deliver(self, *inbounds: Inbound) -> None:
        """As the platform would, again too."""
        async with self.changed:
            self.updates += inbounds
            self.changed.notify_all()

    def texts(self, to: str | None = None) -> list[str]:
        return [post.piece.text for post in self.posts if to in (None, post.to)]

    def sent_files(self) -> list[Attachment]:
        return [post.piece.file for post in self.posts if post.piece.file is not None]

    async def until_posts(
        self, count: int, *, to: str | None = None, seconds: float = 60
    ) -> Sequence[Post]:
        async with self.changed:
            await asyncio.wait_for(
                self.changed.wait_for(lambda: len(self._to(to)) >= count), timeout=seconds
            )
        return self._to(to)

    async def until_text(self, words: str, *, to: str | None = None) -> Post:
        """The first post that says this, once one does."""

        def found() -> Post | None:
            return next((post for post in self._to(to) if words in post.piece.text), None)

        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(found), timeout=60)
        post = found()
        assert post is not None
        return post

    async def until_acknowledged(self, count: int) -> None:
        async with self.changed:
            await asyncio.wait_for(
                self.changed.wait_for(lambda: self.acknowledged >= count), timeout=60
            )

    def _to(self, to: str | None) -> list[Post]:
        return [post for post in self.posts if to in (None, post.to)]


class SmallChannel:
    """See `channels.base.Channel`."""

    def __init__(
        self, platform: SmallPlatform, *, name: str = "small", limits: Limits = LIMITS
    ) -> None:
        self.platform = platform
        self._name = name
        self._limits = limits
        self.drop = asyncio.Event()
        """Set to lose the connection."""

    @property
    def name(self) -> str:
        return self._name

    @property
    def limits(self) -> Limits:
        return self._limits

    async def run(self, inlet: Inlet) -> None:
        platform = self.platform
        inlet.connected("roostbot")
        while True:
            async with platform.changed:
                await platform.changed.wait_for(
                    lambda: platform.acknowledged < len(platform.updates) or self.drop.is_set()
                )
            if self.drop.is_set():
                self.drop.clear()
                raise ChannelLost(self._name, "the line went dead")
            read = len(platform.updates)
            fresh = platform.updates[platform.acknowledged : read]
            await inlet.put(fresh, cursors={"read": str(read)})
            async with platform.changed:
                platform.acknowledged = read
                platform.changed.notify_all()

    async def deliver(self, to: str, piece: Piece, *, key: str) -> str:
        platform = self.platform
        platform.calls.append((asyncio.get_running_loop().time(), to))
        platform.keys.append(key)
        self._meet_trouble()
        known = [post for post in platform.posts if self._limits.keyed and post.key == key]
        if not known:
            async with platform.changed:
                known = [Post(f"p{len(platform.posts) + 1}", to, piece, key)]
                platform.posts += known
                platform.changed.notify_all()
        if platform.lost_answers:
            platform.lost_answers -= 1
            raise ChannelLost(self._name, "no answer came")
        return known[0].id

    async def edit(self, to: str, message: str, piece: Piece) -> None:
        platform = self.platform
        platform.calls.append((asyncio.get_running_loop().time(), to))
        self._meet_trouble()
        async with platform.changed:
            (post,) = [post for post in platform.posts if post.id == message]
            post.piece = piece
            post.edits += 1
            platform.changed.notify_all()

    async def typing(self, to: str) -> None:
        self.platform.typed.append(to)

    async def fetch(self, file: InboundFile) -> bytes:
        if self.platform.fetching:
            raise self.platform.fetching.popleft()
        return self.platform.files[file.ref]

    def measure(self, markdown: str) -> int:
        return len(markdown)

    def chat_of(self, to: str) -> str:
        return to.partition(":topic:")[0]

    def _meet_trouble(self) -> None:
        trouble = self.platform.trouble
        if trouble and (error := trouble.popleft()) is not None:
            raise error


def is_a_channel(channel: SmallChannel) -> Channel:
    """For the type checker: the small one has all that a channel needs."""
    return channel
