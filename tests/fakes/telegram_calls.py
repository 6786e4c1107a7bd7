"""The Bot API on the wire: the fields of a call, and what meets it."""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from aiohttp import web

from tests.fakes.telegram_markup import Unreadable, read_html

Json = dict[str, object]
Fields = Mapping[str, str | web.FileField]
_MARKED = re.compile(r"(?P<mention>@\w+)|(?P<bot_command>(?<!\S)/\w+(?:@\w+)?)")


class Trouble(NamedTuple):
    """What meets a call: an answer with this status, or with none at all the line is cut. `done`
    says that the call is carried out all the same."""

    status: int = 0
    words: str = "trouble"
    parameters: Mapping[str, int] | None = None
    done: bool = False


def too_many(seconds: int) -> Trouble:
    return Trouble(429, f"Too Many Requests: retry after {seconds}", {"retry_after": seconds})


CUT = Trouble()
LOST_ANSWER = Trouble(done=True)


class Refused(Exception):
    def __init__(
        self, status: int, words: str, parameters: Mapping[str, int] | None = None
    ) -> None:
        self.trouble = Trouble(status, words, parameters)


def met(request: web.Request, trouble: Trouble) -> web.StreamResponse:
    if trouble.status:
        return failed(trouble)
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def failed(trouble: Trouble) -> web.Response:
    body: Json = {"ok": False, "error_code": trouble.status, "description": trouble.words}
    if trouble.parameters is not None:
        body["parameters"] = dict(trouble.parameters)
    return web.json_response(body, status=trouble.status)


def text_of(fields: Fields, name: str, default: str | None = None) -> str:
    value = fields.get(name, default)
    assert isinstance(value, str), f"{name} is missing"
    return value


def topic_of(fields: Fields) -> int | None:
    return int(text_of(fields, "message_thread_id")) if "message_thread_id" in fields else None


def upload_of(fields: Fields, kind: str) -> tuple[str, str, bytes]:
    value = fields[kind]
    assert isinstance(value, web.FileField)
    value.file.seek(0)
    return kind, value.filename, value.file.read()


def words_of(fields: Fields) -> tuple[str, str | None]:
    """What people see, and the markup that it was."""
    text, markup = text_of(fields, "text"), None
    if fields.get("parse_mode") == "HTML":
        markup = text
        try:
            text = read_html(markup)
        except Unreadable as why:
            raise Refused(400, f"Bad Request: can't parse entities: {why}") from None
    if not text.strip():
        raise Refused(400, "Bad Request: message text is empty")
    if len(text.strip().encode("utf-16-le")) > 2 * 4096:
        raise Refused(400, "Bad Request: message is too long")
    return text, markup


def buttons_of(fields: Fields) -> list[tuple[str, str]]:
    rows = json.loads(text_of(fields, "reply_markup", "{}")).get("inline_keyboard", [])
    keys = [(key["text"], key["callback_data"]) for row in rows for key in row]
    if any(len(data.encode()) > 64 for _, data in keys):
        raise Refused(400, "Bad Request: BUTTON_DATA_INVALID")
    return keys


def entities_of(text: str) -> list[Json]:
    return [
        {
            "type": found.lastgroup,
            "offset": len(text[: found.start()].encode("utf-16-le")) // 2,
            "length": len(found[0].encode("utf-16-le")) // 2,
        }
        for found in _MARKED.finditer(text)
    ]
