"""What was said on Slack while nobody listened. Slack sends an event again three times, within some
minutes; what it gave up is read from the conversations themselves."""

import time

import structlog

from roost.channels.base import Inbound
from roost.channels.slack.calls import SlackCalls
from roost.channels.slack.events import Bot
from roost.core.errors import ChannelRefused, Undeliverable

log = structlog.stdlib.get_logger("roost.channels")

_OVERLAP = 600.0
"""Slack does not keep to the order: what came late may be older than what was seen. In seconds."""
_LONGEST = 24 * 3600.0
"""Nobody waits for an answer any longer than that."""
_TYPES = ("im", "mpim", "public_channel", "private_channel")


class Backlog:
    """`behind` are the conversations that were not read yet."""

    def __init__(self, calls: SlackCalls, bot: Bot) -> None:
        self._calls = calls
        self._bot = bot
        self._since = 0.0
        self.behind: set[str] = set()

    async def find(self, *, seen: float) -> None:
        """All conversations that the bot is in, and may list."""
        self._since = max(seen - _OVERLAP, time.time() - _LONGEST)
        for kind in _TYPES:
            try:
                self.behind |= await self._calls.conversations(kind)
            except (ChannelRefused, Undeliverable) as error:
                log.info("slack's conversations can't be listed", types=kind, error=str(error))

    async def read(self, conversation: str) -> list[Inbound]:
        """What people said there since, in order, threads too. It may have been kept before."""
        try:
            found = await self._calls.said(conversation, since=self._since)
        except (ChannelRefused, Undeliverable) as error:
            log.info("a conversation can't be read", conversation=conversation, error=str(error))
            return []
        found.sort(key=lambda message: float(message.ts))
        read = [self._bot.message(self._bot.team, conversation, message) for message in found]
        return [inbound for inbound in read if inbound is not None]
