"""What arrives from Slack, by socket or by HTTP: kept first, acknowledged then."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import msgspec
import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.signature import SignatureVerifier

from roost.channels.base import HookCall, HookReply, Inbound, Inlet
from roost.channels.slack.backlog import Backlog
from roost.channels.slack.calls import QUIET, SlackCalls
from roost.channels.slack.events import Bot, address_of
from roost.channels.slack.markup import from_mrkdwn
from roost.core.errors import ChannelBusy, ChannelError, ChannelLost
from roost.core.inbound import Sender

log = structlog.stdlib.get_logger("roost.channels")

LOOK_SECONDS = 1.0
"""Slack waits three seconds for an acknowledgement."""
_MOST_KNOWN = 10_000
_SEEN = "seen"
_AGAIN = 5.0
_ANY = re.compile(".*")

Body = dict[str, Any]
Found = TypeVar("Found")
Acknowledge = Callable[[], Awaitable[object]]


class Receiver:
    """The library runs a task for each thing that arrives, begun in the order of arrival. Nothing
    in its way waits for anything before `_keep` asks for its turn: so they are kept in order."""

    def __init__(self, inlet: Inlet, calls: SlackCalls, bot: Bot, signing_secret: str) -> None:
        self._inlet = inlet
        self._calls = calls
        self._bot = bot
        self._secret = signing_secret
        self._names: dict[str, str] = {}
        self._quoted: set[str] = set()
        """Threads whose beginning was handed on: the first time that the bot was named in them."""
        self._turn = asyncio.Lock()
        self._closed = False
        self._seen = self._began = 0.0
        self._backlog = Backlog(calls, bot)
        self.app = self._listening()

    def _listening(self) -> AsyncApp:
        bot = self._bot

        async def authorize() -> AuthorizeResult:
            """Known already: the library would ask Slack, and meanwhile mix up the order."""
            return AuthorizeResult(
                enterprise_id=None, team_id=bot.team, bot_user_id=bot.user, bot_id=bot.id
            )

        app = AsyncApp(
            name=QUIET.name,  # Bolt sets the level of the logger of this name
            logger=QUIET,
            # Listeners run before the acknowledgement; one that fails leaves it out.
            process_before_response=True,
            signing_secret=self._secret,
            authorize=authorize,
        )
        # The library says in part only what they take.
        app.event(_ANY)(self._event)  # pyright: ignore[reportUnknownMemberType]
        app.action(_ANY)(self._press)  # pyright: ignore[reportUnknownMemberType]
        app.command(_ANY)(self._command)  # pyright: ignore[reportUnknownMemberType]
        return app

    async def look_back(self) -> None:
        """Before it listens: what there is to catch up on, since what was seen last."""
        seen = (await self._inlet.cursors()).get(_SEEN)
        if seen is None:
            await self._put([], at=time.time())  # it begins now
            return
        self._seen = self._began = float(seen)
        await self._backlog.find(seen=self._seen)

    async def catch_up(self) -> None:
        """While it listens: conversation by conversation, as fast as Slack lets."""
        while self._backlog.behind:
            wait = 0.0
            try:
                async with self._turn:
                    for conversation in [*self._backlog.behind][:1]:
                        await self._catch_up_on(conversation)
            except ChannelBusy as busy:
                wait = busy.seconds
            except ChannelLost:
                wait = _AGAIN
            except Exception:
                log.exception("what was missed on slack could not be kept; trying again")
                wait = _AGAIN
            await asyncio.sleep(wait)

    async def _catch_up_on(self, conversation: str) -> None:
        missed = [await self._whole(inbound) for inbound in await self._backlog.read(conversation)]
        self._backlog.behind.discard(conversation)
        try:
            await self._put(missed, at=max((inbound.at / 1000 for inbound in missed), default=0))
        except BaseException:
            self._backlog.behind.add(conversation)
            raise

    async def _put(self, inbounds: Sequence[Inbound], *, at: float) -> None:
        """Until all is caught up on, it is to be caught up on from where it was before."""
        self._seen = max(self._seen, at)
        seen = self._began if self._backlog.behind else self._seen
        await self._inlet.put(inbounds, cursors={_SEEN: f"{seen:.3f}"})

    async def close(self) -> None:
        """After this nothing more is kept."""
        async with self._turn:
            self._closed = True

    async def hook(self, call: HookCall) -> HookReply:
        """A request of Slack's. Its signature is looked at before anything is made of its body."""
        if call.method != "POST":
            return HookReply(405)
        if not self._is_signed(call):
            return HookReply(401, b"The signature is wrong or too old.")
        headers: dict[str, Any] = {name: [value] for name, value in call.headers.items()}
        request = AsyncBoltRequest(body=call.body.decode(), query=call.query, headers=headers)
        response = await self.app.async_dispatch(request)
        media_type: str = response.headers.get("content-type", ["text/plain"])[0]
        return HookReply(response.status, response.body.encode(), media_type)

    def _is_signed(self, call: HookCall) -> bool:
        try:
            return SignatureVerifier(self._secret).is_valid_request(call.body, call.headers)
        except ValueError:  # a time that is no number, a body that is no text
            return False

    async def _event(self, body: Body) -> None:
        await self._keep(body, self._bot.event)

    async def _press(self, body: Body, ack: Acknowledge) -> None:
        await self._keep(body, self._bot.press)
        await ack()

    async def _command(self, body: Body, ack: Acknowledge) -> None:
        now = int(time.time() * 1000)
        await self._keep(body, lambda given: self._bot.command(given, now=now))
        await ack()

    async def _keep(self, body: Body, read: Callable[[Body], Inbound | None]) -> None:
        try:
            inbound = read(body)
        except (msgspec.ValidationError, ValueError) as error:
            # It would be no clearer the next time: it is acknowledged.
            log.warning("slack sent what can't be read", error=str(error))
            return
        if inbound is None:
            return
        async with self._turn:
            if self._closed:
                raise ChannelLost(self._bot.channel, "it is being closed")
            # What was said there before comes before it.
            conversation = address_of(inbound.place.address).conversation
            if conversation in self._backlog.behind:
                await self._catch_up_on(conversation)
            await self._put([await self._whole(inbound)], at=inbound.at / 1000)

    async def _whole(self, inbound: Inbound) -> Inbound:
        """With the sender's name and with what a thread is about, which messages lack."""
        inbound = await self._named(inbound)
        place, thread = inbound.place, inbound.reply_to
        if not place.mentioned or not thread or thread in self._quoted:
            return inbound
        if len(self._quoted) >= _MOST_KNOWN:
            self._quoted.clear()
        self._quoted.add(thread)
        found = await _soon(self._calls.first(address_of(place.address).conversation, thread))
        if found is None:
            return inbound
        text = from_mrkdwn(found.text or "", bot=self._bot.user)
        return msgspec.structs.replace(inbound, reply_text=text)

    async def _named(self, inbound: Inbound) -> Inbound:
        user = inbound.sender.id
        if inbound.sender.name != user:
            return inbound
        if user not in self._names:
            if len(self._names) >= _MOST_KNOWN:
                self._names.clear()
            self._names[user] = await _soon(self._calls.user_name(user)) or user
        return msgspec.structs.replace(inbound, sender=Sender(user, self._names[user]))


async def _soon(call: Coroutine[None, None, Found]) -> Found | None:
    """What it finds, if that takes no longer than there is time."""
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            return await call
    except (ChannelError, TimeoutError):
        return None
