"""The bytes of one answer into the events of its stream. Knows nothing of connections."""

from collections.abc import Iterator

from roost.core.messages import ToolCallPart
from roost.llm.base import Decoder, StreamEvent, ToolCallDone
from roost.llm.sse import EventReader


class Reading:
    def __init__(self, provider: str, decoder: Decoder) -> None:
        self._reader = EventReader(provider)
        self._decoder = decoder

    @property
    def over(self) -> bool:
        """Whether the stream has said that it ends."""
        return self._decoder.over

    def feed(self, chunk: bytes) -> Iterator[StreamEvent]:
        for name, data in self._reader.feed(chunk):
            yield from self._decoder.feed(name, data)

    def whole(self, body: bytes) -> Iterator[StreamEvent]:
        """All of it at once, from a server that was asked to stream and did not."""
        yield from self._decoder.feed("", body)

    def end(self) -> Iterator[StreamEvent]:
        """What was still waiting, the tool calls and the whole answer. Raises if it broke off."""
        for name, data in self._reader.end():
            yield from self._decoder.feed(name, data)
        self._reader.check_something_came()
        finished = self._decoder.end()
        for part in finished.parts:
            if isinstance(part, ToolCallPart):
                yield ToolCallDone(part)
        yield finished
