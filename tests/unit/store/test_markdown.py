"""Markdown for people: every kind of part has a form, and no content breaks out of it."""

import pytest
from msgspec.structs import replace

from roost.core.ids import BlobId, MessageId, SessionId, ToolCallId
from roost.core.messages import (
    ContextPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from roost.core.sessions import Session
from roost.store.markdown import markdown
from tests.store_driver import Driver

pytestmark = pytest.mark.both


def message(role: Role, *parts: Part) -> Message:
    return Message(MessageId("msg_1"), role, parts, created_at=1_800_000_000_000)


async def session_of(ada: Driver, session: SessionId, title: str | None = None) -> Session:
    return replace(await ada.sessions.get(session), title=title)


async def test_every_kind_of_part_is_shown(ada: Driver, session: SessionId) -> None:
    call = ToolCallId("cal_1")
    blob = BlobId("0123456789abcdef")
    shown = markdown(
        await session_of(ada, session),
        [
            message("user", ContextPart("Time", "noon"), TextPart("Hello")),
            message("assistant", ReasoningPart("hm\nso"), ToolCallPart(call, "ls", '{"a": 1}')),
            message("tool", ToolResultPart(call, (TextPart("no"),), error=True)),
            message("tool", ToolResultPart(call, (TextPart("file"), ImagePart(blob, "image/png")))),
            message("note", FilePart(blob, "text/plain", "a.txt", 1), UnknownPart(b"{}")),
        ],
    )
    assert shown.startswith("# Untitled session\n")
    for piece in (
        "## You, 2027-01-15 08:00 UTC\n\n_Time_\n\n```\nnoon\n```\n\nHello\n",
        "## Roost, 2027-01-15 08:00 UTC\n\n> hm\n> so\n",
        '**ls**\n\n```json\n{"a": 1}\n```',
        "Failed:\n\n```\nno\n```",
        "Result:\n\n```\nfile\n_Attachment: image/png (0123456789ab)_\n```",
        "_Attachment: a.txt (0123456789ab)_",
        "can't read",
    ):
        assert piece in shown


async def test_partial_answer_says_so(ada: Driver, session: SessionId) -> None:
    partial = replace(message("assistant", TextPart("ab")), partial=True)
    shown = markdown(await session_of(ada, session), [partial])
    assert "stopped short" in shown
    assert ", 1 message\n" in shown


async def test_fences_and_titles_in_the_content_break_nothing(
    ada: Driver, session: SessionId
) -> None:
    nasty = ToolResultPart(ToolCallId("c"), (TextPart("````\n# Not a title\n````"),))
    shown = markdown(await session_of(ada, session, "A\n# title"), [message("tool", nasty)])
    assert shown.startswith("# A # title\n")
    assert "`````\n````\n# Not a title\n````\n`````" in shown
