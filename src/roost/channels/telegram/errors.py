"""Telegram's errors as those of a channel."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
)

from roost.core.errors import (
    ChannelBusy,
    ChannelError,
    ChannelLost,
    ChannelRefused,
    Undeliverable,
)
from roost.core.keys import Key

# Without it the library warns of its own coming change whenever it is told to wait.
os.environ.setdefault("PTB_TIMEDELTA", "true")

_UNREADABLE = "can't parse entities"
_UNCHANGED = "message is not modified"


@contextmanager
def told_as(channel: str, token: Key) -> Generator[None]:
    """Without a cause: the library's own words have the token in them, at times."""
    try:
        yield
    except TelegramError as error:
        raise _translated(channel, error, token.reveal()) from None


@contextmanager
def connecting_as(channel: str, token: Key) -> Generator[None]:
    """As `told_as`, for what concerns the channel as a whole: nothing is undeliverable there."""
    try:
        yield
    except (Forbidden, BadRequest) as error:
        raise ChannelRefused(channel, error.message) from None
    except TelegramError as error:
        raise _translated(channel, error, token.reveal()) from None


def seconds_of(error: RetryAfter) -> float:
    after = error.retry_after
    return after.total_seconds() if isinstance(after, timedelta) else float(after)


def is_unreadable(error: BadRequest) -> bool:
    """Whether it is the markup that is refused."""
    return _UNREADABLE in error.message.lower()


def is_unchanged(error: BadRequest) -> bool:
    return _UNCHANGED in error.message.lower()


def _translated(channel: str, error: TelegramError, token: str) -> ChannelError:
    detail = error.message.replace(token.partition(":")[2], "…")
    match error:
        case RetryAfter():
            return ChannelBusy(channel, seconds_of(error))
        case InvalidToken():
            return ChannelRefused(channel, "Telegram does not know its token")
        case Conflict():
            return ChannelLost(channel, "another program reads this bot's messages")
        case ChatMigrated():
            return Undeliverable(channel, "the group has become another one")
        case Forbidden() | BadRequest():  # BadRequest is a NetworkError to the library
            return Undeliverable(channel, detail)
        case _:
            return ChannelLost(channel, detail)
