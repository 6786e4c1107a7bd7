"""What a vendor's prompt cache would have hit, given all that was asked before."""

from collections.abc import Sequence

import msgspec

from roost.testing.models.prompt import Segment

LOOKBACK = 20
"""How many blocks before a mark Anthropic looks for an earlier entry."""


def count(size: int) -> int:
    """Tokens of a text of so many bytes: near enough, and the same on every machine."""
    return size // 4


class CacheUse(msgspec.Struct, frozen=True):
    """`prefix_bytes` is what the request shares with an earlier one, byte for byte;
    `earlier_prompt_tokens` is the length of that one (the latest, of several)."""

    prompt_tokens: int
    hit_tokens: int = 0
    write_tokens: int = 0
    prefix_bytes: int = 0
    earlier_prompt_tokens: int = 0

    @property
    def complete(self) -> bool:
        """Whether the whole of the earlier prompt was hit."""
        return 0 < self.hit_tokens == self.earlier_prompt_tokens


class _Node:
    """A prefix that was seen. `entry` says that it is also in the cache."""

    __slots__ = ("children", "entry", "prompt_tokens")

    def __init__(self) -> None:
        self.children: dict[bytes, _Node] = {}
        self.entry = False
        self.prompt_tokens = 0


class PrefixCache:
    """One model's cache: `automatic` as OpenAI's, where every prefix is kept, or as Anthropic's,
    where only those up to a marked block are. It forgets nothing and has no minimum length."""

    def __init__(self, *, automatic: bool) -> None:
        self._automatic = automatic
        self._root = _Node()

    def look(self, segments: Sequence[Segment]) -> CacheUse:
        ends = _ends(segments)
        path = self._path(segments)
        deepest = path[-1] if path else None
        hit = self._hit(segments, path)
        total = ends[-1] if ends else 0
        written = total if self._automatic else _last_mark(segments, ends)
        hit_tokens = count(ends[hit - 1]) if hit else 0
        return CacheUse(
            prompt_tokens=count(total),
            hit_tokens=hit_tokens,
            write_tokens=max(0, count(written) - hit_tokens),
            prefix_bytes=(ends[len(path) - 1] if path else 0) + self._tail(segments, path),
            earlier_prompt_tokens=deepest.prompt_tokens if deepest else 0,
        )

    def store(self, segments: Sequence[Segment]) -> None:
        total = count(sum(len(segment.data) for segment in segments))
        node = self._root
        for segment in segments:
            node = node.children.setdefault(segment.data, _Node())
            node.prompt_tokens = total
            node.entry |= self._automatic or segment.marked

    def _path(self, segments: Sequence[Segment]) -> list[_Node]:
        path: list[_Node] = []
        node = self._root
        for segment in segments:
            child = node.children.get(segment.data)
            if child is None:
                break
            path.append(child)
            node = child
        return path

    def _hit(self, segments: Sequence[Segment], path: list[_Node]) -> int:
        """How many segments come from the cache."""
        if self._automatic:
            return len(path)
        marks = [at for at, segment in enumerate(segments) if segment.marked]
        looked_at = {at - back for at in marks for back in range(LOOKBACK)}
        return max(
            (at + 1 for at, node in enumerate(path) if node.entry and at in looked_at), default=0
        )

    def _tail(self, segments: Sequence[Segment], path: list[_Node]) -> int:
        """The bytes that the first segment that differs still has in common with an earlier one."""
        if len(path) == len(segments):
            return 0
        mine = segments[len(path)].data
        others = (path[-1] if path else self._root).children
        return max((_common(mine, other) for other in others), default=0)


def _ends(segments: Sequence[Segment]) -> list[int]:
    ends: list[int] = []
    size = 0
    for segment in segments:
        size += len(segment.data)
        ends.append(size)
    return ends


def _last_mark(segments: Sequence[Segment], ends: list[int]) -> int:
    return max(
        (end for segment, end in zip(segments, ends, strict=True) if segment.marked), default=0
    )


def _common(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
