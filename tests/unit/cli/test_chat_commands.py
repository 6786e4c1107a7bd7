"""What can be typed after a slash, on a real account."""

import pytest

from roost.cli.chat import commands
from roost.cli.chat.commands import COMMANDS, ROUTE, Outcome, Room, is_command
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.events import Changed, TurnUpdated
from roost.core.ids import TurnId
from roost.core.messages import plain_text
from roost.core.turns import ENDED
from roost.runtime.account import Account
from roost.testing.models import ModelServer, cut, fail, say
from roost.wiring import Roost
from tests.attached import attached_to


async def talk(room: Room, *lines: str) -> None:
    for line in lines:
        async with room.account.watch(room.session) as events:
            turn = await room.account.send(room.session, line, route=ROUTE)
            async for event in events:
                if isinstance(event, Changed) and _ends(event, turn.id):
                    break


def _ends(change: Changed, turn: TurnId) -> bool:
    return any(
        isinstance(each, TurnUpdated) and each.turn == turn and each.state in ENDED
        for each in change.events
    )


async def told(room: Room, line: str) -> str:
    outcome = await commands.run(room, line)
    assert outcome == Outcome(say=outcome.say)
    return outcome.say


async def history(room: Room) -> list[str]:
    return [plain_text(each.parts) for each in await room.account.messages(room.session)]


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/new", True),
        ("/model nest/owl", True),
        ("/", True),
        ("/etc/hosts is a file", False),
        ("/2 is half", False),
        ("hello /new", False),
        ("", False),
    ],
)
def test_command_is_one_word_after_a_slash(line: str, command: bool) -> None:
    assert is_command(line) is command


async def test_unknown_command_is_told_which_there_are(room: Room) -> None:
    said = await told(room, "/udno")
    assert said.startswith("There is no /udno. Did you mean /undo? There are /new, /sessions,")
    assert "Did you mean" not in await told(room, "/xyzzy\x1b[2J")
    assert "\x1b" not in await told(room, "/xyzzy\x1b[2J")


async def test_help_names_every_command(room: Room) -> None:
    said = await told(room, "/help")
    assert all(f"/{name}" in said for name in COMMANDS)
    assert await told(room, "/") == said


async def test_new_ends_the_session_and_opens_another(room: Room) -> None:
    assert "is new" in await told(room, "/new")
    await talk(room, "hi")
    outcome = await commands.run(room, "/new")
    assert outcome.session not in (None, room.session)
    assert await room.account.current(ROUTE) == outcome.session
    assert (await room.account.session(room.session)).ended_at is not None


async def test_sessions_are_listed_and_resumed_by_number_or_id(room: Room) -> None:
    await talk(room, "hi")
    opened = (await commands.run(room, "/new")).session
    assert opened is not None
    there = room._replace(session=opened)
    lines = (await told(there, "/sessions")).splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["1", "2"]
    assert "this one" in next(line for line in lines if "new session" in line)
    number = next(line.split()[0] for line in lines if "First" in line)
    assert (await commands.run(there, f"/resume {number}")).session == room.session
    assert await room.account.current(ROUTE) == room.session
    assert (await commands.run(room, f"/resume {opened}")).session == opened
    assert await told(there, f"/resume {opened}") == "You are in this session."
    assert await told(there, "/resume") == await told(there, "/sessions")


@pytest.mark.parametrize("name", ["0", "9", "-1", "heron", "ses_nobody's"])
async def test_session_that_is_not_there_is_refused(room: Room, name: str) -> None:
    with pytest.raises((InvalidInput, NotFound), match="There is no session"):
        await commands.run(room, f"/resume {name}")


async def test_session_without_a_title_is_known_by_its_first_words(
    room: Room, account: Account, server: ModelServer
) -> None:
    server.plan(fail(400))
    opened = await account.create(origin="cli")
    there = room._replace(session=opened.id)
    await talk(there, "Where do herons\nsleep? " + "Tell me. " * 20)
    assert "Where do herons sleep? Tell me. Tell me. Tell m…" in await told(there, "/sessions")


async def test_undo_takes_the_last_turn_back_and_restore_brings_it(room: Room) -> None:
    await talk(room, "one", "two")
    before = await history(room)
    assert await told(room, "/undo") == "Taken back: “two”. /restore brings it back."
    assert await history(room) == before[:2]
    assert await told(room, "/restore") == "It is back."
    assert await history(room) == before


async def test_undo_of_nothing_is_a_conflict(room: Room) -> None:
    with pytest.raises(Conflict, match="Nothing has been said"):
        await commands.run(room, "/undo")


async def test_retry_asks_the_same_again(room: Room, server: ModelServer) -> None:
    server.plan(say("No."), say("Yes."))
    await talk(room, "Well?")
    async with room.account.watch(room.session) as events:
        turn = (await commands.run(room, "/retry")).turn
        assert turn is not None
        async for _ in events:
            if (await history(room)) == ["Well?", "Yes."]:
                break


async def test_continue_goes_on_with_what_stopped_short(room: Room, server: ModelServer) -> None:
    server.plan(*[say("One two") + cut()] * 3, say(" three"))
    await talk(room, "Count.")
    async with room.account.watch(room.session) as events:
        outcome = await commands.run(room, "/continue")
        assert outcome.turn is not None
        async for _ in events:
            if (await history(room))[-1] == " three":
                break


async def test_model_is_shown_and_chosen(room: Room, server: ModelServer) -> None:
    assert (await told(room, "/model")).startswith("nest/heron.")
    assert await told(room, "/model nest/heron") == "nest/heron answers already."
    assert await told(room, "/model owl") == "nest/owl answers from now on."
    assert (await told(room, "/model")).startswith("nest/owl.")
    await talk(room, "hi")
    assert server.requests[-1].model == "owl"
    with pytest.raises(InvalidInput, match="It is not clear who has the model"):
        await commands.run(room, "/model zebra")


async def test_compact_says_what_it_gained(room: Room, server: ModelServer) -> None:
    assert "nothing to gain" in await told(room, "/compact")
    for _ in range(8):
        await talk(room, "A long story. " * 400)
    server.plan(say("They told long stories."))
    said = await told(room, "/compact the stories")
    assert "messages summed up by nest/heron: " in said
    assert said.endswith(" after. /restore brings them back.")
    assert await told(room, "/restore") == "It is back."


async def test_what_is_no_text_is_refused(room: Room) -> None:
    with pytest.raises(InvalidInput, match="characters that are not text"):
        await room.account.send(room.session, "half a \ud83e")


async def test_message_that_is_too_long_beside_a_server_is_refused(
    roost: Roost, room: Room
) -> None:
    async with attached_to(roost) as attached:
        with pytest.raises(InvalidInput, match="and this is 500,001"):
            await attached.send(room.session, "x" * 500_001)


async def test_usage_is_of_this_session(room: Room) -> None:
    assert await told(room, "/usage") == "Nothing has been used yet."
    await talk(room, "hi")
    said = await told(room, "/usage")
    assert said.startswith("1 turn: ")
    assert said.endswith("out, the price of 1 model call is unknown.")


async def test_stop_with_nothing_under_way_says_so(room: Room) -> None:
    assert await told(room, "/stop") == "Nothing is under way."


async def test_quit_leaves(room: Room) -> None:
    assert await commands.run(room, "/quit") == Outcome(leave=True)
    assert await commands.run(room, "/EXIT") == Outcome(leave=True)
