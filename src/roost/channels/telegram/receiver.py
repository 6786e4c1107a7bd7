"""How Telegram's updates are received: asked for, or brought by Telegram."""

import asyncio
import hmac
from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec
from telegram import Bot, CallbackQuery, Update
from telegram.error import Conflict, RetryAfter, TelegramError

from roost.channels.base import HookCall, HookReply, Inlet
from roost.channels.telegram.errors import seconds_of
from roost.channels.telegram.updates import KINDS, Reader, album_of

_POLL = 30
"""Seconds that Telegram waits for news before it answers with none."""
_BATCH = 100
_ALBUM = 0.5
"""Seconds that the pictures of an album may be apart."""
_NEAR = 10_000
"""Updates that are as little behind as this came again. After a quiet week Telegram counts from
another number, which may well be lower."""

_decode = msgspec.json.Decoder(dict[str, object]).decode


class Polling:
    """An update is kept before the next question confirms it. The library's own loop would confirm
    first."""

    def __init__(self, bot: Bot, inlet: Inlet, name: str) -> None:
        self._bot = bot
        self._inlet = inlet
        self._reader = Reader(name, bot.bot)
        self._cursor = _cursor(bot)
        self._offset: int | None = None

    async def run(self) -> None:
        await self._bot.delete_webhook()
        self._offset = await _kept_offset(self._bot, self._inlet)
        self._inlet.connected(f"@{self._bot.username}")
        while True:
            try:
                await self._receive()
            except RetryAfter as error:
                await asyncio.sleep(seconds_of(error))

    async def _receive(self) -> None:
        updates = await self._whole_albums(await self._ask(_POLL))
        fresh = sorted(filter(self._is_new, updates), key=lambda update: update.update_id)
        if not fresh:
            return
        following = fresh[-1].update_id + 1
        await self._inlet.put(self._reader.read(fresh), cursors={self._cursor: str(following)})
        self._offset = following
        await _release(self._bot, fresh)

    async def _ask(self, seconds: int) -> Sequence[Update]:
        return await self._bot.get_updates(
            offset=self._offset, limit=_BATCH, timeout=seconds, allowed_updates=KINDS
        )

    async def _whole_albums(self, updates: Sequence[Update]) -> Sequence[Update]:
        """Asked again from the same place, which confirms nothing, until no more of it comes."""
        while updates and album_of(updates[-1]) is not None and len(updates) < _BATCH:
            await asyncio.sleep(_ALBUM)
            again = await self._ask(0)
            if len(again) <= len(updates):
                break
            updates = again
        return updates

    def _is_new(self, update: Update) -> bool:
        return self._offset is None or not 0 < self._offset - update.update_id <= _NEAR


class Hook:
    """Telegram calls, with a secret that both know. What it does not hear back about, it sends
    again; one call at a time, so that the order stays."""

    def __init__(self, bot: Bot, inlet: Inlet, name: str, *, secret: str) -> None:
        self._bot = bot
        self._inlet = inlet
        self._reader = Reader(name, bot.bot)
        self._secret = secret

    async def register(self, url: str) -> None:
        # What was received by asking is not confirmed yet, and would be brought again.
        if (offset := await _kept_offset(self._bot, self._inlet)) is not None:
            with suppress(Conflict):  # there was a hook before
                await self._bot.get_updates(offset=offset, limit=1, timeout=0)
        await self._bot.set_webhook(
            url, secret_token=self._secret, allowed_updates=KINDS, max_connections=1
        )
        self._inlet.connected(f"@{self._bot.username}")

    async def receive(self, call: HookCall) -> HookReply:
        given = call.headers.get("x-telegram-bot-api-secret-token", "")
        if not hmac.compare_digest(given.encode(), self._secret.encode()):
            return HookReply(401, b"That is not the secret.")
        try:
            update = Update.de_json(_decode(call.body), self._bot)
        except (msgspec.DecodeError, KeyError, TypeError, ValueError):
            return HookReply(400, b"That is not an update.")
        await self._inlet.put(self._reader.read([update]))
        return _released(update.callback_query)


async def _kept_offset(bot: Bot, inlet: Inlet) -> int | None:
    kept = (await inlet.cursors()).get(_cursor(bot))
    return None if kept is None else int(kept)


def _cursor(bot: Bot) -> str:
    """Each bot counts by itself, and the token may be another one's by now."""
    return f"offset:{bot.bot.id}"


async def _release(bot: Bot, updates: Iterable[Update]) -> None:
    """A button shows that it waits, until someone says that it was heard. It is no harm if not."""

    async def release(query: CallbackQuery) -> None:
        with suppress(TelegramError):
            await bot.answer_callback_query(query.id)

    queries = [update.callback_query for update in updates if update.callback_query is not None]
    await asyncio.gather(*map(release, queries))


def _released(query: CallbackQuery | None) -> HookReply:
    """The answer to a hook may be a call itself."""
    if query is None:
        return HookReply()
    call = {"method": "answerCallbackQuery", "callback_query_id": query.id}
    return HookReply(body=msgspec.json.encode(call), media_type="application/json")
