"""A compaction: which messages leave the live history, and what takes their places."""

from typing import Literal

import msgspec

from roost.core.ids import MessageId
from roost.core.messages import Draft
from roost.core.usage import Usage

Trigger = Literal["turn", "overflow", "person", "idle"]
"""Before a step that would not fit; after the provider said so; asked for; while nobody waits."""


class Replacement(msgspec.Struct, frozen=True):
    """A message that takes the place of a replaced one."""

    at: MessageId
    message: Draft


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """`epoch` is the one it was made from. What is replaced leaves the live history and stays
    readable; a replacement is a summary, or a tool result cut down. `model` made the summary; None
    if none was asked, or none answered."""

    epoch: int
    replaced: tuple[MessageId, ...]
    replacements: tuple[Replacement, ...]
    trigger: str
    focus: str | None = None
    model: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    usage: tuple[Usage, ...] = ()
    spares_pinned: bool = False
    """It was planned around what is pinned: refused if something of it has been pinned since."""
