"""Calls of Slack's Web API, with its errors told apart: later, never, or for a person to see to."""

import contextlib
import logging
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from typing import TypeVar, cast
from urllib.parse import urlsplit

import aiohttp
import msgspec
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from roost.channels.base import Attachment
from roost.channels.slack.answers import (
    METADATA,
    Completed,
    Conversations,
    Done,
    FileInfo,
    History,
    Identity,
    Pages,
    Posted,
    Socket,
    UserInfo,
)
from roost.channels.slack.events import Address, Bot, Message
from roost.core.errors import ChannelBusy, ChannelError, ChannelLost, ChannelRefused, Undeliverable

CALL_SECONDS = 30
QUIET = logging.getLogger("roost.channels.slack.library")
"""Below errors the library tells of what comes and goes, with what people wrote."""
QUIET.setLevel(logging.ERROR)
_USUAL_WAIT = 30.0
"""What to wait if Slack does not say."""
_PAGE = 200
_PAGES = 100
_PAGES_OF_SENT = 5

_REFUSED = frozenset(
    {
        "access_denied",
        "account_inactive",
        "ekm_access_denied",
        "enterprise_is_restricted",
        "invalid_auth",
        "missing_scope",
        "no_permission",
        "not_allowed_token_type",
        "not_authed",
        "org_login_required",
        "team_access_not_granted",
        "token_expired",
        "token_revoked",
    }
)
_LOST = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_BUSY = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})

Answered = TypeVar("Answered", bound=msgspec.Struct)
Paged = TypeVar("Paged", bound=Pages)


class SlackCalls:
    def __init__(
        self, name: str, token: str, api: str, session: aiohttp.ClientSession | None = None
    ) -> None:
        """Without a session each call makes a connection of its own."""
        self._name = name
        self._token = token
        self._session = session
        # No retries in there: those would send a message twice whose answer was lost.
        # What its methods take and answer, the library says in part only.
        self.client = AsyncWebClient(
            token, api, timeout=CALL_SECONDS, session=session, logger=QUIET, retry_handlers=[]
        )

    async def identify(self) -> Bot:
        found = await self._call("auth.test", Identity, {})
        return Bot(self._name, found.team_id, found.user_id, found.bot_id, found.user)

    async def socket(self, app_token: str) -> str:
        with self._errors():
            opened = await self.client.apps_connections_open(app_token=app_token)  # pyright: ignore[reportUnknownMemberType]
            return _read(opened, Socket).url

    async def post(
        self, to: Address, text: str, blocks: Sequence[Mapping[str, object]], *, key: str
    ) -> str:
        message: dict[str, object] = {
            "channel": to.conversation,
            "text": text,
            "unfurl_links": False,
            "unfurl_media": False,
            "metadata": {"event_type": METADATA, "event_payload": {"key": key}},
        }
        if blocks:
            message["blocks"] = blocks
        if to.thread:
            message["thread_ts"] = to.thread
        return (await self._call("chat.postMessage", Posted, message)).ts

    async def update(
        self, to: Address, ts: str, text: str, blocks: Sequence[Mapping[str, object]]
    ) -> None:
        message = {"channel": to.conversation, "ts": ts, "text": text, "blocks": blocks}
        await self._call("chat.update", Posted, message)

    async def upload(self, to: Address, file: Attachment) -> str:
        with self._errors():
            completed = await self.client.files_upload_v2(  # pyright: ignore[reportUnknownMemberType]
                filename=file.name,
                file=file.data,
                title=file.name,
                channel=to.conversation,
                thread_ts=to.thread,
            )
            return _read(completed, Completed).files[0].id

    async def show_status(self, to: Address, status: str) -> None:
        said = {"channel_id": to.conversation, "thread_ts": to.thread, "status": status}
        await self._call("assistant.threads.setStatus", Done, said)

    async def sent(self, to: Address, *, since: float) -> dict[str, str]:
        """What Roost has sent there, by the keys it had."""
        asked: dict[str, object] = {"channel": to.conversation, "oldest": f"{since:.6f}"}
        asked["include_all_metadata"] = True
        method = "conversations.history"
        if to.thread:
            method, asked["ts"] = "conversations.replies", to.thread
        pages = self._pages(method, History, asked, most=_PAGES_OF_SENT)
        return {said.key: said.ts async for page in pages for said in page.read() if said.key}

    async def conversations(self, types: str) -> set[str]:
        """Those that the bot is in."""
        pages = self._pages("users.conversations", Conversations, {"types": types})
        return {each.id async for page in pages for each in page.channels}

    async def said(self, conversation: str, *, since: float) -> list[Message]:
        """What was said there since, in no order. A thread is listed where it began, so that is
        looked for among what is older, too: as far as a page goes."""
        found: list[Message] = []
        asked = {"channel": conversation}
        async for page in self._pages("conversations.history", History, asked):
            messages = page.read()
            for message in messages:
                if float(message.ts) > since:
                    found.append(message)
                if float(message.latest_reply or 0) > since:
                    found += await self._replies(conversation, message.ts, since)
            if messages and float(messages[-1].ts) <= since:
                break
        return found

    async def first(self, conversation: str, thread: str) -> Message | None:
        """What a thread is about."""
        asked = {"channel": conversation, "ts": thread, "limit": 1}
        found = await self._read("conversations.replies", History, asked)
        return next(iter(found.read()), None)

    async def _replies(self, conversation: str, thread: str, since: float) -> list[Message]:
        asked = {"channel": conversation, "ts": thread, "oldest": f"{since:.6f}"}
        pages = self._pages("conversations.replies", History, asked)
        found = [message async for page in pages for message in page.read()]
        # The first of a thread comes with its replies, however old it is.
        return [message for message in found if message.ts != thread]

    async def _pages(
        self, method: str, kind: type[Paged], values: Mapping[str, object], *, most: int = _PAGES
    ) -> AsyncGenerator[Paged]:
        cursor: dict[str, object] = {}
        for _ in range(most):
            page = await self._read(method, kind, {**values, **cursor, "limit": _PAGE})
            yield page
            cursor["cursor"] = page.next
            if not cursor["cursor"]:
                return

    async def user_name(self, user: str) -> str:
        found = (await self._read("users.info", UserInfo, {"user": user})).user
        return found.profile.display_name or found.profile.real_name or found.name or user

    async def fetch(self, file: str, *, limit: int) -> bytes:
        info = (await self._read("files.info", FileInfo, {"file": file})).file
        address = info.url_private_download or info.url_private or ""
        if self._session is None or not self._is_slacks(address):
            raise Undeliverable(self._name, "this file is kept elsewhere")
        with self._errors():
            headers = {"Authorization": f"Bearer {self._token}"}
            async with self._session.get(address, headers=headers, allow_redirects=False) as answer:
                self._look_at(answer, info.mimetype or "")
                data = await answer.content.read(limit + 1)
                while len(data) <= limit and (more := await answer.content.read(limit + 1)):
                    data += more
        if len(data) > limit:
            raise Undeliverable(self._name, f"the file is larger than {limit} bytes")
        return data

    def _look_at(self, answer: aiohttp.ClientResponse, media_type: str) -> None:
        if answer.status >= 500:
            raise ChannelLost(self._name, f"HTTP {answer.status} for a file")
        # Without the right to read files Slack shows the page for signing in.
        if answer.status in (302, 401, 403) or (
            answer.content_type == "text/html" and not media_type.startswith("text/html")
        ):
            raise ChannelRefused(self._name, "the right files:read is missing")
        if answer.status != 200:
            raise Undeliverable(self._name, f"HTTP {answer.status} for a file")

    def _is_slacks(self, address: str) -> bool:
        """The token goes nowhere else."""
        parts, own = urlsplit(address), urlsplit(self.client.base_url)
        if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
            return True
        host = parts.hostname or ""
        return parts.scheme == "https" and host.endswith((".slack.com", ".slack-gov.com"))

    async def _call(
        self, method: str, kind: type[Answered], values: Mapping[str, object]
    ) -> Answered:
        with self._errors():
            answer = await self.client.api_call(method, json=dict(values))  # pyright: ignore[reportUnknownMemberType]
            return _read(answer, kind)

    async def _read(
        self, method: str, kind: type[Answered], values: Mapping[str, object]
    ) -> Answered:
        """Methods that read take no JSON."""
        with self._errors():
            answer = await self.client.api_call(  # pyright: ignore[reportUnknownMemberType]
                method, http_verb="GET", params=dict(values)
            )
            return _read(answer, kind)

    @contextlib.contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except SlackApiError as error:
            raise self._told_apart(error) from error
        except (aiohttp.ClientError, TimeoutError, OSError, SlackClientError) as error:
            raise ChannelLost(self._name, str(error) or type(error).__name__) from error
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise ChannelLost(self._name, f"an answer that can't be read: {error}") from error

    def _told_apart(self, error: SlackApiError) -> ChannelError:
        answer = cast("object", error.response)
        if not isinstance(answer, AsyncSlackResponse):
            return ChannelLost(self._name, "an answer that is not JSON")
        headers = cast("Mapping[str, str]", answer.headers)  # pyright: ignore[reportUnknownMemberType]
        status = cast("int", answer.status_code)  # pyright: ignore[reportUnknownMemberType]
        data = cast("object", answer.data)  # pyright: ignore[reportUnknownMemberType]
        code = str(cast("dict[str, object]", data).get("error")) if isinstance(data, dict) else ""
        if status == 429 or code in _BUSY:
            return ChannelBusy(self._name, _seconds(headers.get("Retry-After")))
        if status >= 500 or not code or code in _LOST:
            return ChannelLost(self._name, code or f"HTTP {status}")
        if code in _REFUSED:
            return ChannelRefused(self._name, code)
        return Undeliverable(self._name, code)


def _read(answer: AsyncSlackResponse, kind: type[Answered]) -> Answered:
    data = cast("object", answer.data)  # pyright: ignore[reportUnknownMemberType]
    return msgspec.convert(data, kind)


def _seconds(header: str | None) -> float:
    try:
        return max(float(header or _USUAL_WAIT), 0.1)
    except ValueError:
        return _USUAL_WAIT
