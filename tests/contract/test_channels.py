"""Messages over a channel: durable before they are acknowledged, handled once, in order."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from roost.channels import progress
from roost.channels.outbox import GIVE_UP
from roost.core.config import ChannelConfig, MemoryConfig
from roost.core.errors import ChannelBusy, ChannelLost, Undeliverable
from roost.core.ids import SessionId
from roost.core.inbound import InboundFile, Place
from roost.core.messages import ContextPart, FilePart, ImagePart, plain_text
from roost.core.settings import ResetRule, ScopeName
from roost.testing.clock import FakeClock
from roost.testing.faults import failing
from roost.testing.models import ModelServer, call, say, stall
from roost.tools.base import Intent
from tests.chatting import Chat, chatting
from tests.engine import ASKS, FunctionTool, eventually
from tests.memories import ScriptedMemory
from tests.small_channel import Post

pytestmark = pytest.mark.both
HOME = "small:dm:42"


@pytest.fixture(autouse=True)
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is: what is posted is the answer, and not how far it has come."""
    monkeypatch.setattr(progress, "FIRST", 3600.0)


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch, unseen: None) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.0)


@pytest.fixture
async def chat(folder: Path, server: ModelServer) -> AsyncGenerator[Chat]:
    async with chatting(Chat(folder, server)) as chat:
        await chat.pair()
        yield chat


async def _turns(chat: Chat, route: str = HOME) -> list[str]:
    account = chat.engine.account
    return [plain_text(turn.parts) for turn in await account.turns(await chat.session(route))]


# Inbound.


@pytest.mark.contract("E1")
async def test_message_is_durable_before_the_platform_is_told(chat: Chat) -> None:
    with failing("channel.store.after"):
        await chat.platform.say("Hello")
        await chat.platform.until_text("Good day.")
    # The process died, so to speak, before it could acknowledge: it was delivered once more.
    await chat.platform.until_acknowledged(1)
    assert await _turns(chat) == ["Hello"]


@pytest.mark.contract("E1")
async def test_message_that_could_not_be_kept_is_not_acknowledged(chat: Chat) -> None:
    with failing("channel.store.before"):
        await chat.platform.say("Hello")
        await eventually(lambda: _lost(chat))
        assert chat.platform.acknowledged == 0
    await chat.platform.until_text("Good day.")
    await chat.platform.until_acknowledged(1)


async def _lost(chat: Chat) -> bool:
    return chat.engine.parts.switchboard.status("small").condition == "lost"


@pytest.mark.contract("E1")
async def test_redelivered_message_is_handled_once(chat: Chat) -> None:
    said = await chat.platform.say("Hello")
    await chat.platform.until_text("Good day.")
    await chat.platform.deliver(said, said)
    await chat.platform.until_acknowledged(3)
    await chat.restart()
    await chat.platform.deliver(said)
    await chat.platform.say("Again")
    await chat.platform.until_posts(2)
    assert await _turns(chat) == ["Hello", "Again"]
    assert chat.platform.texts() == ["Good day.", "Good day."]


@pytest.mark.contract("E1")
@pytest.mark.parametrize("place", ["channel.handle.before", "channel.handle.after"])
async def test_message_whose_handling_broke_off_becomes_one_turn(chat: Chat, place: str) -> None:
    with failing(place):
        await chat.platform.say("Hello")
        await chat.platform.until_text("Good day.")
    await eventually(lambda: _is_empty(chat))
    assert await _turns(chat) == ["Hello"]


async def _is_empty(chat: Chat) -> bool:
    return await chat.engine.store.inbox.count("small") == 0


@pytest.mark.contract("E1")
async def test_backlog_from_before_the_start_is_handled_in_order(
    folder: Path, server: ModelServer
) -> None:
    chat = Chat(folder, server)
    for number in range(20):
        await chat.platform.say(f"Message {number}")
    await chat.engine.start()
    await chat.pair()
    await chat.host()
    await chat.platform.until_posts(20)
    await chat.stop()
    await chat.engine.start()
    assert await _turns(chat) == [f"Message {number}" for number in range(20)]
    await chat.engine.stop()


# Outbound.


@pytest.mark.contract("E2")
async def test_answer_survives_a_platform_that_is_away(chat: Chat) -> None:
    chat.platform.trouble += [ChannelLost("small", "a 502")]
    await chat.platform.say("Hello")
    await chat.platform.until_text("Good day.")
    assert chat.platform.texts() == ["Good day."]


@pytest.mark.contract("E2")
async def test_answer_is_delivered_after_a_restart(chat: Chat) -> None:
    chat.platform.trouble += [ChannelLost("small", "down")] * 3
    await chat.platform.say("Hello")
    entry = await eventually(lambda: chat.engine.store.outbox.next(HOME))
    assert entry is not None
    await eventually(lambda: _tried(chat, entry.id))
    await chat.crash()
    chat.platform.trouble.clear()
    await chat.start()
    await chat.platform.until_text("Good day.")
    await eventually(lambda: _is_sent(chat, entry.id))
    assert chat.platform.texts() == ["Good day."]


async def _tried(chat: Chat, entry: str) -> bool:
    return (await chat.engine.store.outbox.get(entry)).tries > 0


async def _is_sent(chat: Chat, entry: str) -> bool:
    return (await chat.engine.store.outbox.get(entry)).state == "sent"


@pytest.mark.contract("E2")
async def test_answer_that_could_not_be_sent_for_a_week_is_left_to_people(
    folder: Path, server: ModelServer
) -> None:
    clock = FakeClock()
    async with chatting(Chat(folder, server, clock=clock)) as chat:
        await chat.pair()
        chat.platform.trouble += [ChannelLost("small", "down")] * 100
        await chat.platform.say("Hello")
        entry = await eventually(lambda: chat.engine.store.outbox.next(HOME))
        assert entry is not None
        await eventually(lambda: _tried(chat, entry.id))
        assert (await chat.engine.store.outbox.get(entry.id)).state == "pending"
        clock.advance(GIVE_UP / 1000 + 1)
        (kept,) = await eventually(lambda: chat.engine.store.outbox.undelivered(limit=10))
        assert (kept.id, "down" in (kept.error or "")) == (entry.id, True)
    assert chat.platform.texts() == []


@pytest.mark.contract("E2")
async def test_confirmed_answer_is_never_sent_again(chat: Chat) -> None:
    await chat.platform.say("Hello")
    (post,) = await chat.platform.until_posts(1)
    entry = post.key.partition(".")[0]
    await eventually(lambda: _is_sent(chat, entry))
    calls = len(chat.platform.calls)
    await chat.restart()
    await chat.platform.say("Again")
    await chat.platform.until_posts(2)
    assert len(chat.platform.calls) == calls + 1


@pytest.mark.contract("E2")
async def test_lost_confirmation_shows_nothing_twice_where_the_platform_takes_a_key(
    chat: Chat,
) -> None:
    chat.platform.lost_answers = 1
    await chat.platform.say("Hello")
    await chat.platform.until_posts(1)
    await chat.platform.say("Again")
    await chat.platform.until_posts(2)
    assert chat.platform.texts() == ["Good day.", "Good day."]
    assert len(chat.platform.calls) == 3


@pytest.mark.contract("E2")
async def test_rate_limit_is_waited_for(chat: Chat) -> None:
    chat.platform.trouble += [ChannelBusy("small", 0.3)]
    await chat.platform.say("Hello")
    await chat.platform.until_text("Good day.")
    first, second = [at for at, _ in chat.platform.calls]
    assert second - first >= 0.3


@pytest.mark.contract("E2")
async def test_long_answer_is_split_once_and_sent_in_order(chat: Chat, server: ModelServer) -> None:
    text = "\n\n".join([f"Paragraph {number} " + "word " * 20 for number in range(6)])
    server.plan(say(text), model="model")
    chat.platform.trouble += [None, ChannelLost("small", "in the middle")]
    await chat.platform.say("Tell me all")
    await chat.platform.until_text("Paragraph 5")
    texts = chat.platform.texts()
    assert "".join("".join(texts).split()) == "".join(text.split())
    assert all(len(each) <= 200 for each in texts)
    assert chat.platform.keys.count(chat.platform.posts[0].key) == 1, "it was confirmed"


@pytest.mark.contract("E2")
async def test_what_cant_be_delivered_is_kept_and_holds_up_nothing(chat: Chat) -> None:
    chat.platform.trouble += [Undeliverable("small", "the bot was thrown out")]
    await chat.platform.say("Hello")
    store = chat.engine.store.outbox
    (lost,) = await eventually(lambda: store.undelivered(limit=10))
    assert "thrown out" in (lost.error or "")
    await chat.platform.say("Again")
    await chat.platform.until_posts(1)
    await store.again(lost.id)
    chat.engine.parts.delivery.wrote([])
    await chat.restart()
    await chat.platform.until_posts(2)
    assert not await store_undelivered(chat)


async def store_undelivered(chat: Chat) -> bool:
    return bool(await chat.engine.store.outbox.undelivered(limit=10))


@pytest.mark.contract("E2")
async def test_failure_is_told_with_what_can_be_done(chat: Chat, server: ModelServer) -> None:
    server.plan(say(""), say(""), say(""), say(""), model="model")
    await chat.platform.say("Hello")
    post = await chat.platform.until_text("answered with nothing")
    assert [button.data for button in post.piece.buttons] == ["/retry"]
    await chat.platform.say("", press="/retry", message=post.id)
    await chat.platform.until_text("Good day.")


@pytest.mark.contract("E2")
async def test_turn_that_will_not_go_on_by_itself_is_told_of(
    chat: Chat, server: ModelServer
) -> None:
    async def run(arguments: str, context: object) -> str:
        await asyncio.sleep(60)
        return "never"

    chat.engine.tools = (FunctionTool("work", run),)
    await chat.restart()
    server.plan(call("work", {}), model="model")
    await chat.platform.say("Work")
    await eventually(lambda: _tool_runs(chat))
    await chat.crash()
    await chat.start()
    post = await chat.platform.until_text("Roost was stopped")
    assert "/resume" in [button.data for button in post.piece.buttons]


async def _tool_runs(chat: Chat) -> bool:
    session = await chat.engine.account.current(HOME)
    if session is None:
        return False
    calls = (await chat.engine.account.snapshot(session)).calls
    return any(each.state == "running" for each in calls)


# Who is heard.


@pytest.mark.contract("E3")
async def test_unknown_sender_gets_the_hint_and_nothing_else(chat: Chat) -> None:
    await chat.platform.say("Tell me a secret", sender="99", name="Eve")
    (post,) = await chat.platform.until_posts(1, to="small:dm:99")
    await chat.platform.say("Please", sender="99", name="Eve")
    await chat.platform.say("/sessions", sender="99", name="Eve")
    await chat.platform.say("Hello")
    await chat.platform.until_text("Good day.")
    assert "pairing code" in post.piece.text
    assert len(chat.platform.texts("small:dm:99")) == 1
    assert not await chat.engine.store.of(chat.engine.owner.id).sessions.current("small:dm:99")
    assert [request.model for request in chat.server.requests].count("model") == 1


@pytest.mark.contract("E3")
async def test_code_is_approved_by_an_admin_on_another_channel(chat: Chat) -> None:
    await chat.platform.say("Hello?", sender="99", name="Eve")
    code = _code(await chat.platform.until_text("pairing code", to="small:dm:99"))
    await chat.platform.say(f"/approve {code}")
    await chat.platform.until_text("Eve can talk to me")
    await chat.platform.say("Hello!", sender="99", name="Eve")
    await chat.platform.until_text("Good day.", to="small:dm:99")
    await chat.platform.say(f"/approve {code}")
    await chat.platform.until_text("There is no pairing")


def _code(post: Post) -> str:
    return post.piece.text.split("**")[1]


@pytest.mark.contract("E3")
async def test_blocked_sender_gets_nothing(chat: Chat) -> None:
    await chat.engine.store.pairings.put("small", "99", None, by="test")
    await chat.platform.say("Hello", sender="99")
    await chat.platform.say("Hello")
    await chat.platform.until_text("Good day.", to=HOME)
    await eventually(lambda: _is_empty(chat))
    assert chat.platform.texts("small:dm:99") == []


# In a conversation.


async def test_approval_is_a_button_for_its_owner_alone(folder: Path, server: ModelServer) -> None:
    async def run(arguments: str, context: object) -> str:
        return "done"

    tool = FunctionTool("work", run, asks=ASKS)
    config = ChannelConfig(members="all")
    async with chatting(Chat(folder, server, tools=(tool,), config=config)) as chat:
        await chat.pair()
        place = Place("small:group:1", group="small:group:1", name="Birds")
        server.plan(call("work", {}), say("It is done."), model="model")
        await chat.platform.say("Do it", place=place)
        asked = await chat.platform.until_text("Sure?")
        yes = asked.piece.buttons[0].data
        await chat.platform.say(
            "", sender="7", name="Bob", place=place, press=yes, message=asked.id
        )
        await chat.platform.until_text("Only whoever this conversation belongs to")
        await chat.platform.say("", place=place, press=yes, message=asked.id)
        await chat.platform.until_text("It is done.")
        assert asked.piece.buttons == ()
        assert "Approved." in asked.piece.text


async def test_question_is_answered_in_words(folder: Path, server: ModelServer) -> None:
    async def run(arguments: str, context: object) -> str:
        return "ok"

    intent = Intent(does="Ask", subject="Which colour?", kind="question", asks=True)
    tool = FunctionTool("ask", run, asks=intent)
    async with chatting(Chat(folder, server, tools=(tool,))) as chat:
        await chat.pair()
        server.plan(call("ask", {}), say("Blue it is."), model="model")
        await chat.platform.say("Paint it")
        await chat.platform.until_text("Which colour?")
        await chat.platform.say("Blue")
        await chat.platform.until_text("Blue it is.")
        assert await _turns(chat) == ["Paint it"]


async def test_commands(chat: Chat) -> None:
    await chat.platform.say("First")
    await chat.platform.until_posts(1)
    first = await chat.session()
    await chat.platform.say("/new")
    await chat.platform.until_text("A new conversation begins")
    assert await chat.session() != first
    await chat.platform.say("Second")
    await chat.platform.until_posts(3)
    await chat.platform.say("/undo")
    await chat.platform.until_text("Taken back: “Second”")
    await chat.platform.say("/resume 1")
    await chat.platform.until_text("You are in")
    assert await chat.session() == first
    await chat.platform.say("/stop")
    await chat.platform.until_text("Nothing is being done")
    await chat.platform.say("/usage")
    await chat.platform.until_text("in all.")
    await chat.platform.say("/model test/other")
    await chat.platform.until_text("answers from now on")
    await chat.platform.say("/nonsense")
    await chat.platform.until_text("There is no /nonsense")
    await chat.platform.say("/help")
    await chat.platform.until_text("/compact")


async def test_stop_keeps_what_was_said(chat: Chat, server: ModelServer) -> None:
    server.plan(say("Half an answer") + stall(), model="model")
    await chat.platform.say("Hello")
    await eventually(lambda: _streams(chat))
    await chat.platform.say("/stop")
    await chat.platform.until_text("Stopped.")


async def _streams(chat: Chat) -> bool:
    session = await chat.engine.account.current(HOME)
    return session is not None and bool((await chat.engine.account.snapshot(session)).deltas)


async def test_command_that_broke_off_is_done_once(chat: Chat) -> None:
    for number in range(3):
        await chat.platform.say(f"Message {number}")
    await chat.platform.until_posts(3)
    with failing("channel.handle.after"):
        await chat.platform.say("/undo")
        await chat.platform.until_text("Taken back")
    texts = await chat.engine.texts(await chat.session())
    assert [text for text in texts if text.startswith("Message")] == ["Message 0", "Message 1"]


async def test_edit_of_the_last_message_is_answered_anew(chat: Chat) -> None:
    said = await chat.platform.say("Helo")
    await chat.platform.until_posts(1)
    await chat.platform.say("Hello", message=said.message, edited=True)
    await chat.platform.until_posts(2)
    texts = await chat.engine.texts(await chat.session())
    assert texts == ["Hello", "Good day."]


async def test_reply_says_what_it_is_a_reply_to(chat: Chat) -> None:
    await chat.platform.say("Hello")
    (post,) = await chat.platform.until_posts(1)
    await chat.platform.say("What do you mean?", reply_to=post.id)
    await chat.platform.until_posts(2)
    messages = await chat.engine.messages(await chat.session())
    parts = [part for message in messages for part in message.parts]
    quoted = [part for part in parts if isinstance(part, ContextPart) and part.label == "reply_to"]
    assert [part.text for part in quoted] == ["Good day."]


async def test_files_come_in_and_a_voice_note_gets_a_note(chat: Chat) -> None:
    chat.platform.files = {"a": b"\x89PNG", "b": b"text"}
    picture = InboundFile("a", "a.png", "image/png", kind="image", size=4)
    file = InboundFile("b", "b.txt", "text/plain", size=4)
    await chat.platform.say("Look", files=(picture, file))
    await chat.platform.until_posts(1)
    parts = [p for m in await chat.engine.messages(await chat.session()) for p in m.parts]
    assert [type(part) for part in parts if isinstance(part, ImagePart | FilePart)] == [
        ImagePart,
        FilePart,
    ]
    await chat.platform.say("", files=(InboundFile("v", "v.ogg", "audio/ogg", kind="voice"),))
    await chat.platform.until_text("can't hear voice notes")


async def test_file_that_could_not_be_fetched_just_now_is_fetched_later(chat: Chat) -> None:
    chat.platform.files = {"b": b"text"}
    chat.platform.fetching += [ChannelLost("small", "a 502")]
    await chat.platform.say("Look", files=(InboundFile("b", "b.txt", "text/plain", size=4),))
    await chat.platform.say("And this")
    await chat.platform.until_posts(2)
    assert await _turns(chat) == ["Look", "And this"]


async def test_in_a_group_it_listens_when_mentioned(chat: Chat) -> None:
    place = Place("small:group:1", group="small:group:1", mentioned=False)
    await chat.platform.say("Just talking", place=place)
    spoken_to = Place("small:group:1", group="small:group:1")
    await chat.platform.say("You there", place=spoken_to)
    await chat.platform.until_text("Good day.", to="small:group:1")
    assert await _turns(chat, "small:group:1") == ["Ann: You there"]


async def test_idle_route_begins_anew_and_says_so(folder: Path, server: ModelServer) -> None:
    clock = FakeClock()
    config = ChannelConfig(reset=ResetRule("idle 8h"))
    async with chatting(Chat(folder, server, clock=clock, config=config)) as chat:
        await chat.pair()
        await chat.platform.say("Hello")
        await chat.platform.until_posts(1)
        first = await chat.session()
        clock.advance(9 * 3600)
        await chat.platform.say("Good morning")
        await chat.platform.until_posts(3)
        assert "nothing was said for 8 hours" in chat.platform.texts()[1]
        assert await chat.session() != first
        assert (await chat.engine.account.session(first)).ended_at is not None


async def test_route_with_a_turn_under_way_does_not_begin_anew(
    folder: Path, server: ModelServer
) -> None:
    """A question that was left open over night is still there in the morning."""

    async def run(arguments: str, context: object) -> str:
        return "done"

    clock, tool = FakeClock(), FunctionTool("work", run, asks=ASKS)
    config = ChannelConfig(reset=ResetRule("idle 8h"))
    async with chatting(Chat(folder, server, tools=(tool,), clock=clock, config=config)) as chat:
        await chat.pair()
        server.plan(call("work", {}), say("It is done."), model="model")
        await chat.platform.say("Do it")
        asked = await chat.platform.until_text("Sure?")
        clock.advance(9 * 3600)
        await chat.platform.say("Good morning")
        await chat.platform.until_acknowledged(2)
        await eventually(lambda: _is_empty(chat))
        assert await _turns(chat) == ["Do it", "Good morning"]
        await chat.platform.say("", press=asked.piece.buttons[0].data, message=asked.id)
        await chat.platform.until_text("It is done.")
        await chat.platform.until_text("Good day.")


async def test_route_begins_anew_when_its_own_rule_says_so(
    folder: Path, server: ModelServer
) -> None:
    """Whatever its channel's is; over resets and restarts, and for that route alone."""
    clock = FakeClock()
    config = ChannelConfig(reset=ResetRule("never"), allow=("43",))
    async with chatting(Chat(folder, server, clock=clock, config=config)) as chat:
        await chat.pair()
        await chat.platform.say("/new whenever")
        await chat.platform.until_text("/new idle 8h")
        await chat.platform.say("/new Idle 8h")
        await chat.platform.until_text("after 8 hours without a word")
        first = await _hears(chat, HOME, 3)
        other = await _hears(chat, "small:dm:43", 1)
        for posts in (5, 7):
            await chat.restart()
            clock.advance(9 * 3600)
            second = await _hears(chat, HOME, posts)
            assert second != first
            assert (await chat.engine.account.session(first)).ended_at is not None
            first = second
        assert await _hears(chat, "small:dm:43", 2) == other
        await chat.platform.say("/new default")
        await chat.platform.until_text("As on all")
        clock.advance(9 * 3600)
        assert await _hears(chat, HOME, 9) == first


@pytest.mark.contract("C2")
async def test_reset_by_a_rule_is_a_boundary_for_memory(folder: Path, server: ModelServer) -> None:
    clock, memory = FakeClock(), ScriptedMemory()
    config = ChannelConfig(reset=ResetRule("idle 8h"))
    chat = Chat(folder, server, clock=clock, config=config)
    chat.engine.memories = {"scripted": memory}
    provider = MemoryConfig(provider=ScopeName("scripted"), idle_commit=timedelta(days=30))
    chat.engine.config = replace(chat.engine.config, memory=provider)
    async with chatting(chat):
        await chat.pair()
        first = await _hears(chat, HOME, 1)
        clock.advance(9 * 3600)
        await _hears(chat, HOME, 3)
        (committed,) = await memory.called(1)
        assert committed.session == first


async def _hears(chat: Chat, route: str, posts: int) -> SessionId:
    """The session in which something is said; so many posts are there once it is answered."""
    await chat.platform.say("Hello", sender=route.rpartition(":")[2])
    await chat.platform.until_posts(posts, to=route)
    session = await chat.session(route)
    await eventually(lambda: _rests(chat, session))
    return session


async def _rests(chat: Chat, session: SessionId) -> bool:
    return (await chat.engine.account.session(session)).state == "idle"


async def test_lost_connection_is_made_again(chat: Chat) -> None:
    chat.channel.drop.set()
    async with chat.platform.changed:
        chat.platform.changed.notify_all()
    await eventually(lambda: _lost(chat))
    await chat.platform.say("Hello")
    await chat.platform.until_text("Good day.")


# Live.


@pytest.mark.usefixtures("live")
async def test_answer_grows_in_one_message_and_is_replaced_by_the_whole(
    chat: Chat, server: ModelServer
) -> None:
    server.plan(say("One two three ") + stall() + say("four five."), model="model")
    await chat.platform.say("Count")
    post = await chat.platform.until_text("One two three")
    assert HOME in chat.platform.typed
    server.release()
    await chat.platform.until_text("four five.")
    assert chat.platform.texts() == ["One two three four five."]
    assert post.edits >= 1


@pytest.mark.usefixtures("live")
async def test_what_was_shown_before_a_crash_becomes_the_answer(
    chat: Chat, server: ModelServer
) -> None:
    server.plan(say("One two three ") + stall(), say("four five."), model="model")
    await chat.platform.say("Count")
    await chat.platform.until_text("One two three")
    await eventually(lambda: _streams(chat))
    await chat.crash()
    server.release()
    await chat.start()
    await chat.platform.until_text("four five.")
    assert chat.platform.texts() == ["One two three four five."]


@pytest.mark.usefixtures("live")
@pytest.mark.contract("E2")
async def test_what_was_shown_without_anyone_being_told_becomes_the_answer(
    chat: Chat, server: ModelServer
) -> None:
    """As after a crash between the two: where the platform takes a key, nothing is there twice."""
    server.plan(say("One two three ") + stall() + say("four five."), model="model")
    chat.platform.lost_answers = 1
    await chat.platform.say("Count")
    await chat.platform.until_text("One two three")
    server.release()
    await chat.platform.until_text("four five.")
    assert chat.platform.texts() == ["One two three four five."]


@pytest.mark.usefixtures("live")
@pytest.mark.contract("E2")
async def test_answer_is_posted_anew_if_what_was_shown_of_it_is_gone(
    chat: Chat, server: ModelServer
) -> None:
    server.plan(say("One two three") + stall(), model="model")
    await chat.platform.say("Count")
    await chat.platform.until_text("One two three")
    chat.platform.trouble += [Undeliverable("small", "somebody has deleted it")]
    server.release()
    await chat.platform.until_posts(2)
    assert chat.platform.texts() == ["One two three"] * 2


@pytest.mark.usefixtures("live")
async def test_tool_at_work_is_shown_in_one_line(chat: Chat, server: ModelServer) -> None:
    done = asyncio.Event()

    async def run(arguments: str, context: object) -> str:
        await done.wait()
        return "done"

    chat.engine.tools = (FunctionTool("digging", run),)
    await chat.restart()
    server.plan(say("Let me look. ") + call("digging", {}), say("Found it."), model="model")
    await chat.platform.say("Find it")
    await chat.platform.until_text("digging …")
    done.set()
    await chat.platform.until_text("Found it.")
    assert chat.platform.texts() == ["Found it."]


@pytest.mark.usefixtures("live")
@pytest.mark.contract("D11")
@pytest.mark.contract("E4")
async def test_session_that_began_here_goes_on_elsewhere_and_is_seen_here(
    chat: Chat, server: ModelServer
) -> None:
    await chat.platform.say("Hello")
    await chat.platform.until_posts(1)
    session = await chat.session()
    server.plan(say("From the web, ") + stall() + say("to you."), model="model")
    await chat.engine.account.send(session, "And now?", route="web")
    await chat.platform.until_text("From the web,")
    server.release()
    await chat.platform.until_text("> And now?\n\nFrom the web, to you.")
    await chat.platform.say("Good")
    await chat.platform.until_posts(3)
    assert await _turns(chat) == ["Hello", "And now?", "Good"]


@pytest.mark.contract("E4")
async def test_session_that_is_current_in_two_chats_is_seen_in_both(chat: Chat) -> None:
    await chat.pair("43")
    await chat.platform.say("Hello")
    await chat.platform.until_posts(1)
    await chat.platform.say("/resume 1", sender="43")
    await chat.platform.until_text("You are in", to="small:dm:43")
    await chat.platform.say("And now?", sender="43")
    await chat.platform.until_text("> And now?\n\nGood day.", to=HOME)
    await chat.platform.until_posts(2, to="small:dm:43")
    assert chat.platform.texts("small:dm:43")[1:] == ["Good day."]
    assert await _turns(chat) == ["Hello", "And now?"]
