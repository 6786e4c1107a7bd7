"""A Telegram of the test's own: the Bot API as a real server on loopback. It keeps what was sent to
it, gives updates out by offset or brings them to a hook, and does to calls whatever a test has put
in their way."""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import aiohttp
from aiohttp import web

from tests.fakes.telegram_calls import (
    Fields,
    Json,
    Refused,
    Trouble,
    buttons_of,
    entities_of,
    failed,
    met,
    text_of,
    topic_of,
    upload_of,
    words_of,
)

TOKEN = "123456:AAF-a_token_of_the_tests_own"  # noqa: S105
BOT: dict[str, object] = {
    "id": 123456,
    "is_bot": True,
    "first_name": "Roost",
    "username": "roost_bot",
}
ANN: dict[str, object] = {"id": 42, "is_bot": False, "first_name": "Ann", "last_name": "Lee"}


@dataclass
class Sent:
    """A message of the bot's, as it stands now."""

    id: int
    chat: int
    topic: int | None
    text: str
    markup: str | None
    buttons: list[tuple[str, str]]
    reply_to: int | None = None
    file: tuple[str, str, bytes] | None = None
    """How it was sent (photo, document), its name, its bytes."""
    edits: int = 0


class Call(NamedTuple):
    at: float
    method: str
    chat: int | None


@dataclass
class FakeTelegram:
    url: str = ""
    sent: list[Sent] = field(default_factory=list[Sent])
    calls: list[Call] = field(default_factory=list[Call])
    typing: list[tuple[int, int | None]] = field(default_factory=list[tuple[int, int | None]])
    released: list[str] = field(default_factory=list[str])
    commands: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    blocked: set[int] = field(default_factory=set[int])
    moved: dict[int, int] = field(default_factory=dict[int, int])
    """Groups that became supergroups, with their new number."""
    hook: Json = field(default_factory=dict[str, object])
    pending: list[Json] = field(default_factory=list[Json])
    """Updates that nobody has confirmed."""
    given: list[list[int]] = field(default_factory=list[list[int]])
    """The numbers of the updates that each question was answered with."""
    confirmed: list[Json] = field(default_factory=list[Json])
    troubles: defaultdict[str, deque[Trouble | None]] = field(
        default_factory=lambda: defaultdict[str, deque[Trouble | None]](deque)
    )
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _messages: dict[int, Json] = field(default_factory=dict[int, Json])
    _message: int = 0
    _update: int = 1000
    _pollers: int = 0

    def meet(self, method: str, *troubles: Trouble | None) -> None:
        """What the next calls of a method meet; None is one that goes through."""
        self.troubles[method].extend(troubles)

    # What people do.

    async def say(self, text: str | None = None, **more: object) -> int:
        """Someone writes: Ann, in her own chat with the bot, unless `more` says otherwise."""
        return (await self.say_all({"text": text, **more}))[0]

    async def say_all(self, *messages: Mapping[str, object]) -> list[int]:
        """All at once, as the pictures of an album come."""
        made = [self._made(message) for message in messages]
        updates: list[Json] = [{"message": message} for message in made]
        await self.deliver(*updates)
        return [cast("int", message["message_id"]) for message in made]

    async def edit(self, message: int, **changes: object) -> None:
        self._messages[message] |= {**changes, "edit_date": 1_800_000_100}
        await self.deliver({"edited_message": self._messages[message]})

    async def press(self, message: int, data: str, who: Json = ANN) -> None:
        sent = self._message_of(self.by_id(message))
        query = {"id": f"q{self._update}", "from": who, "chat_instance": "1", "data": data}
        await self.deliver({"callback_query": {**query, "message": sent}})

    async def deliver(self, *updates: Json) -> None:
        async with self.changed:
            for update in updates:
                self._update += 1
                self.pending.append({"update_id": self._update, **update})
            self.changed.notify_all()

    async def deliver_again(self, count: int) -> None:
        """The last that were confirmed, as if they had not been."""
        async with self.changed:
            kept = max(0, len(self.confirmed) - count)
            self.pending[:0] = self.confirmed[kept:]
            del self.confirmed[kept:]
            self.changed.notify_all()

    def count_from(self, number: int) -> None:
        """After a quiet week updates are counted anew, from anywhere."""
        self._update = number

    # What a test looks at.

    def by_id(self, message: int) -> Sent:
        return next(sent for sent in self.sent if sent.id == message)

    async def until(self, met: Callable[[], object], *, within: float = 60) -> None:
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(met), timeout=within)

    async def until_confirmed(self) -> None:
        await self.until(lambda: not self.pending)

    # What the server does.

    async def answer(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        if request.match_info["token"] != TOKEN:
            return failed(Trouble(401, "Unauthorized"))
        fields = cast("Fields", await request.post())
        chat = int(cast("str", fields["chat_id"])) if "chat_id" in fields else None
        self.calls.append(Call(asyncio.get_running_loop().time(), method, chat))
        trouble = self.troubles[method].popleft() if self.troubles[method] else None
        if trouble is not None and not trouble.done:
            return met(request, trouble)
        try:
            result = await self._methods()[method](fields)
        except Refused as refused:
            return failed(refused.trouble)
        async with self.changed:
            self.changed.notify_all()
        if trouble is not None:
            return met(request, trouble)
        return web.json_response({"ok": True, "result": result})

    async def download(self, request: web.Request) -> web.StreamResponse:
        trouble = self.troubles["download"].popleft() if self.troubles["download"] else None
        if trouble is not None:
            return met(request, trouble)
        return web.Response(body=self.files[request.match_info["path"]])

    async def bring(self) -> None:
        """Updates to the hook, one after the other, each until it is taken."""
        async with aiohttp.ClientSession() as http:
            while True:
                await self._until_for_hook()
                update = self.pending[0]
                if await self._brought(http, update):
                    async with self.changed:
                        self._confirm(cast("int", update["update_id"]) + 1)
                        self.changed.notify_all()
                else:
                    await asyncio.sleep(0.05)

    def _methods(self) -> Mapping[str, Callable[[Fields], Awaitable[object]]]:
        return {
            "getMe": self._get_me,
            "getUpdates": self._get_updates,
            "setWebhook": self._set_webhook,
            "deleteWebhook": self._delete_webhook,
            "setMyCommands": self._set_my_commands,
            "sendMessage": self._send_message,
            "editMessageText": self._edit_message_text,
            "sendPhoto": self._send_photo,
            "sendDocument": self._send_document,
            "sendChatAction": self._send_chat_action,
            "answerCallbackQuery": self._answer_callback_query,
            "getFile": self._get_file,
        }

    async def _get_me(self, _: Fields) -> object:
        return BOT

    async def _get_updates(self, fields: Fields) -> object:
        if self.hook:
            raise Refused(409, "Conflict: can't use getUpdates method while webhook is active")
        self._confirm(int(text_of(fields, "offset", "0")))
        self._pollers += 1
        me = self._pollers

        def is_over() -> bool:
            return bool(self.pending) or self._pollers != me

        async with self.changed:
            self.changed.notify_all()
            try:
                async with asyncio.timeout(float(text_of(fields, "timeout", "0"))):
                    await self.changed.wait_for(is_over)
            except TimeoutError:
                pass
        if self._pollers != me:
            raise Refused(409, "Conflict: terminated by other getUpdates request")
        found = self.pending[: int(text_of(fields, "limit", "100"))]
        self.given.append([cast("int", update["update_id"]) for update in found])
        return found

    def _confirm(self, offset: int) -> None:
        self.confirmed += [one for one in self.pending if cast("int", one["update_id"]) < offset]
        self.pending = [one for one in self.pending if cast("int", one["update_id"]) >= offset]

    async def _set_webhook(self, fields: Fields) -> object:
        self.hook = {name: text_of(fields, name) for name in fields}
        return True

    async def _delete_webhook(self, _: Fields) -> object:
        self.hook = {}
        return True

    async def _until_for_hook(self) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: self.hook and self.pending)

    async def _brought(self, http: aiohttp.ClientSession, update: Json) -> bool:
        headers = {"X-Telegram-Bot-Api-Secret-Token": str(self.hook["secret_token"])}
        try:
            async with http.post(str(self.hook["url"]), json=update, headers=headers) as reply:
                if reply.status != 200:
                    return False
                body = await reply.read()
        except aiohttp.ClientError:
            return False
        if body:
            call = json.loads(body)
            await self._methods()[call.pop("method")](call)
        return True

    async def _set_my_commands(self, fields: Fields) -> object:
        given = json.loads(text_of(fields, "commands"))
        self.commands = [(command["command"], command["description"]) for command in given]
        return True

    async def _send_message(self, fields: Fields) -> object:
        self._check_chat(fields)
        text, markup = words_of(fields)
        return self._keep(fields, text, markup, None)

    async def _edit_message_text(self, fields: Fields) -> object:
        self._check_chat(fields)
        text, markup = words_of(fields)
        number = int(text_of(fields, "message_id"))
        found = next((sent for sent in self.sent if sent.id == number), None)
        if found is None:
            raise Refused(400, "Bad Request: message to edit not found")
        buttons = buttons_of(fields)
        if (found.text, found.markup, found.buttons) == (text, markup, buttons):
            raise Refused(400, "Bad Request: message is not modified: it is the same")
        found.text, found.markup, found.buttons = text, markup, buttons
        found.edits += 1
        return self._message_of(found)

    async def _send_photo(self, fields: Fields) -> object:
        self._check_chat(fields)
        if not upload_of(fields, "photo")[2].startswith((b"\xff\xd8", b"\x89PNG", b"RIFF")):
            raise Refused(400, "Bad Request: IMAGE_PROCESS_FAILED")
        return self._keep(fields, "", None, upload_of(fields, "photo"))

    async def _send_document(self, fields: Fields) -> object:
        self._check_chat(fields)
        return self._keep(fields, "", None, upload_of(fields, "document"))

    async def _send_chat_action(self, fields: Fields) -> object:
        self._check_chat(fields)
        self.typing.append((int(text_of(fields, "chat_id")), topic_of(fields)))
        return True

    async def _answer_callback_query(self, fields: Fields) -> object:
        self.released.append(text_of(fields, "callback_query_id"))
        return True

    async def _get_file(self, fields: Fields) -> object:
        id = text_of(fields, "file_id")
        if id not in self.files:
            raise Refused(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        sizes = {"file_size": len(self.files[id]), "file_path": id}
        return {"file_id": id, "file_unique_id": id, **sizes}

    def _check_chat(self, fields: Fields) -> None:
        chat = int(text_of(fields, "chat_id"))
        if chat in self.blocked:
            raise Refused(403, "Forbidden: bot was blocked by the user")
        if chat in self.moved:
            words = "Bad Request: group chat was upgraded to a supergroup chat"
            raise Refused(400, words, {"migrate_to_chat_id": self.moved[chat]})

    def _keep(
        self, fields: Fields, text: str, markup: str | None, file: tuple[str, str, bytes] | None
    ) -> object:
        self._message += 1
        sent = Sent(
            id=self._message,
            chat=int(text_of(fields, "chat_id")),
            topic=topic_of(fields),
            text=text,
            markup=markup,
            buttons=buttons_of(fields),
            reply_to=self._reply(fields),
            file=file,
        )
        self.sent.append(sent)
        return self._message_of(sent)

    def _reply(self, fields: Fields) -> int | None:
        given = json.loads(text_of(fields, "reply_parameters", "{}"))
        if not given:
            return None
        if given["message_id"] in self._messages:
            return given["message_id"]
        if not given.get("allow_sending_without_reply"):
            raise Refused(400, "Bad Request: message to be replied not found")
        return None

    def _made(self, message: Mapping[str, object]) -> Json:
        self._message += 1
        made: Json = {
            "message_id": self._message,
            "date": 1_800_000_000,
            "chat": {"id": 42, "type": "private", "first_name": "Ann"},
            "from": ANN,
            **{name: value for name, value in message.items() if value is not None},
        }
        for words, marks in (("text", "entities"), ("caption", "caption_entities")):
            if words in made:
                made.setdefault(marks, entities_of(str(made[words])))
        self._messages[self._message] = made
        return made

    def _message_of(self, sent: Sent) -> Json:
        kind = "private" if sent.chat > 0 else "supergroup"
        message: Json = {
            "message_id": sent.id,
            "date": 1_800_000_000,
            "chat": {"id": sent.chat, "type": kind, "title": "The group"},
            "from": BOT,
            "text": sent.text,
        }
        if sent.topic is not None:
            message |= {"message_thread_id": sent.topic, "is_topic_message": True}
        return message


@asynccontextmanager
async def fake_telegram(port: int = 0) -> AsyncGenerator[FakeTelegram]:
    fake = FakeTelegram()
    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/bot{token}/{method}", fake.answer)
    app.router.add_get("/file/bot{token}/{path}", fake.download)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    fake.url = f"http://127.0.0.1:{cast('Sequence[tuple[str, int]]', runner.addresses)[0][1]}"
    bringing = asyncio.create_task(fake.bring())
    try:
        yield fake
    finally:
        bringing.cancel()
        await asyncio.gather(bringing, return_exceptions=True)
        await runner.cleanup()
