"""The `processes` tool: list, poll, type, kill, and being told."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.testing.clock import FakeClock
from roost.tools.base import ToolError
from roost.workspace.processes import MOST
from tests.boxes import DEADLINE, KINDS, commands, until
from tests.terminal_hands import Hands, endless, hands_on

SLEEP = endless()


@pytest.fixture(params=KINDS)
async def hands(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncGenerator[Hands]:
    async with hands_on(tmp_path, request.param, clock) as hands:
        yield hands


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one prints at first, and whether it ends, is waited for on a busy machine too."""
    monkeypatch.setattr("roost.workspace.terminal._AT_ONCE", 4.0)


async def heard(hands: Hands) -> str:
    """What the agent is told without having asked."""
    async with asyncio.timeout(DEADLINE):
        while not hands.ended:
            hands.heard.clear()
            await hands.heard.wait()
    ((session, text),) = hands.ended
    assert session == hands.session
    return text


@pytest.mark.usefixtures("busy")
async def test_process_is_started_in_the_shell_s_directory_with_its_exports(hands: Hands) -> None:
    await hands("cd /; export X='a b\n$HOME'; y=2")
    answer = await hands('pwd; echo "$X$y"; sleep 1000', background=True)
    assert answer == "/\na b\n$HOME\n[It runs on in the background as p1.]"
    assert await hands("echo free") == "free\n"


@pytest.mark.usefixtures("busy")
async def test_jobs_of_a_process_are_part_of_it(hands: Hands) -> None:
    answer = await hands(f"{SLEEP} & echo begun; exit_later() {{ :; }}; false", background=True)
    assert answer == "begun\n[It runs on in the background as p1.]"
    assert commands(SLEEP)
    await hands.processes("kill", id="p1")
    assert not commands(SLEEP)


@pytest.mark.usefixtures("busy")
async def test_one_that_ends_at_once_is_said_to(hands: Hands) -> None:
    answer = await hands("echo oops; exit 3", background=True)
    assert answer.startswith("oops\n[exit status 3 after ")
    assert await hands.processes("list") == "[nothing]"


@pytest.mark.usefixtures("busy")
async def test_poll_gives_what_is_new_and_waits_for_it(hands: Hands) -> None:
    await hands("echo one; read x; echo two; read x; exit 4", background=True)
    assert await hands.processes("poll", id="p1") == "[p1 runs for 0 s]"
    polled = asyncio.create_task(hands.processes("poll", id="p1", wait=100))
    said = await hands.processes("write", id="p1", text="\n") + await polled
    while "two" not in said:
        said = await hands.processes("poll", id="p1", wait=100)
    ending = asyncio.create_task(hands.processes("poll", id="p1", wait=100))
    await hands.processes("write", id="p1", text="\n")
    said = await ending
    while "ended with status 4 after 0 s" not in said:  # what is typed is shown first
        said = await hands.processes("poll", id="p1", wait=100)
    assert await hands.processes("poll", id="p1") == "[p1 ended with status 4 after 0 s]"


async def test_typing_to_it_interrupting_it_and_ending_its_input(hands: Hands) -> None:
    await hands("python3 -c 'print(input())'; cat; echo over; sleep 1000", background=True)
    said = await hands.processes("write", id="p1", text="caf\u00e9\n")
    while "p1 runs" in said and not said.startswith("caf\u00e9\n"):
        said = await hands.processes("poll", id="p1", wait=100)
    assert said.startswith("caf\u00e9\n")
    said = await hands.processes("write", id="p1", text="\u0004")
    while "over" not in said:
        said = await hands.processes("poll", id="p1", wait=100)
    await hands.processes("write", id="p1", text="\u0003")
    while "ended with status" not in said:
        said = await hands.processes("poll", id="p1", wait=100)


async def test_kill_ends_the_whole_tree_and_tells_nobody(hands: Hands) -> None:
    tree = f"trap '' TERM HUP INT; (setsid {SLEEP} & {SLEEP}) & {SLEEP}"
    await hands(tree, background=True, notify=True)
    await until(lambda: len(commands(SLEEP)) >= 3)
    assert await hands.processes("kill", id="p1") == "[p1 ended with status -9 after 0 s]"
    assert not commands(SLEEP)
    assert await hands.processes("list") == f"p1 ended with status -9 after 0 s: {tree}"
    assert hands.ended == []


async def test_list_says_what_runs_since_when(hands: Hands, clock: FakeClock) -> None:
    await hands("sleep 1000; : " + "x" * 200, background=True)
    clock.advance(90)
    listed = await hands.processes("list")
    assert listed.startswith("p1 runs for 90 s: sleep 1000; : xxx")
    assert listed.endswith("xxx...")


async def test_agent_is_told_of_an_end_once(hands: Hands, clock: FakeClock) -> None:
    await hands("read x; echo last words; exit 5", background=True, notify=True)
    clock.advance(7)
    (process,) = [(await hands.workspace()).processes.find("p1")]
    await process.write("\n")
    told = await heard(hands)
    assert told == (
        "Process p1 (read x; echo last words; exit 5) ended with status 5 after 7 s.\n"
        "Its last output:\nlast words\n"
    )
    assert "status 5" in await hands.processes("poll", id="p1")
    assert len(hands.ended) == 1


async def test_agent_that_is_looking_is_not_told_again(hands: Hands) -> None:
    # Nothing is shown of what is typed: that would be news to who looks, and they would go.
    said = await hands("stty -echo; echo up; read x", background=True, notify=True)
    while "up" not in said:
        said = await hands.processes("poll", id="p1", wait=100)
    polled = asyncio.create_task(hands.processes("poll", id="p1", wait=100))
    await asyncio.sleep(0)
    await (await hands.workspace()).processes.find("p1").write("\n")
    assert "ended with status 0" in await polled
    assert hands.ended == []


async def test_slow_command_of_the_shell_tells_of_its_end_too(hands: Hands) -> None:
    await hands("read x; echo $x", wait=1, notify=True)
    await (await hands.workspace()).processes.find("p1").write("done\n")
    assert "ended with status 0" in await heard(hands)


async def test_too_many_processes_are_refused(hands: Hands) -> None:
    starts = [hands("sleep 1000", background=True) for _ in range(MOST)]
    await asyncio.gather(*starts)
    refused = await hands.refused("sleep 1000", background=True)
    assert f"{MOST} processes run in the background. Kill one first." in refused
    assert "was stopped" in await hands.refused("sleep 1000", wait=1)
    await hands.processes("kill", id="p3")
    await hands("sleep 1000", background=True)


async def test_ended_ones_are_remembered_up_to_a_number(hands: Hands) -> None:
    processes = (await hands.workspace()).processes
    for _ in range(2):
        await asyncio.gather(*[hands("sleep 1000", background=True) for _ in range(MOST - 1)])
        running = [view.id for view in processes.views() if view.status is None]
        await asyncio.gather(*[hands.processes("kill", id=id) for id in running])
    await hands("sleep 1000", background=True)
    assert len(processes.views()) == MOST + 1


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"action": "poll"}, "needs the `id`"),
        ({"action": "kill", "id": "p9"}, "no process 'p9'. There are: none"),
        ({"action": "start", "id": "p1"}, "action"),
        ({"action": "poll", "id": "p1", "wait": 301}, "wait"),
    ],
)
async def test_wrong_call_is_explained(hands: Hands, given: dict[str, object], why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await hands.processes(**given)  # pyright: ignore[reportArgumentType]


async def test_typing_to_one_that_ended_is_refused(hands: Hands) -> None:
    await hands("sleep 1000", background=True)
    await hands.processes("kill", id="p1")
    with pytest.raises(ToolError, match="p1 has ended"):
        await hands.processes("write", id="p1", text="x")


async def test_one_that_does_not_read_is_not_waited_for_forever(hands: Hands) -> None:
    await hands("read x; stty raw; echo ready; sleep 1000", background=True)
    answer = await hands.processes("write", id="p1", text="go\n")
    while "ready" not in answer:
        answer = await hands.processes("poll", id="p1", wait=10)
    with pytest.raises(ToolError, match="does not read its input"):
        await hands.processes("write", id="p1", text="x\n" * 30_000)


async def test_line_that_a_terminal_would_cut_is_refused(hands: Hands) -> None:
    await hands("cat", background=True)
    with pytest.raises(ToolError, match="takes lines of 4000 bytes"):
        await hands.processes("write", id="p1", text="x" * 5_000)


async def test_typing_is_asked_for_where_nothing_keeps_it_in_a_box(hands: Hands) -> None:
    workspace = await hands.workspace()
    await hands("read x", background=True)
    typed = await hands.intends_to("write", id="p1", text="rm -r nest\n")
    assert (typed.subject, typed.workspace) == ("p1 rm -r nest", workspace.id)
    assert typed.asks is (workspace.kind == "local")
    assert not (await hands.intends_to("poll", id="p1")).asks


async def test_typing_to_what_has_network_is_asked_for(tmp_path: Path, clock: FakeClock) -> None:
    async with hands_on(tmp_path, "bubblewrap", clock) as hands:
        await hands("read x", background=True, network=True)
        typed = await hands.intends_to("write", id="p1", text="curl nest\n")
        assert typed.asks
        assert "network" in typed.why
        with pytest.raises(ToolError, match="there is no process"):
            await hands.intends_to("write", id="p9", text="x")
