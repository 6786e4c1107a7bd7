"""What a model call used and what it cost."""

import msgspec

NANO = 1_000_000_000
"""Costs are whole nano-dollars: exact to add up, and fine enough for a single token."""


class Usage(msgspec.Struct, frozen=True):
    """`input_tokens` includes the cached ones, `output_tokens` the reasoning ones. A `cost` of None
    is unknown, which is not the same as free."""

    provider: str
    model: str
    calls: int = 1
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: int | None = None
