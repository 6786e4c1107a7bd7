"""The `terminal` tool: what it says it would do, where it runs it, and what the model reads."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.tools.base import ToolError
from roost.tools.terminal import LONGEST
from tests.boxes import KINDS
from tests.terminal_hands import Hands, hands_on


@pytest.fixture
async def hands(tmp_path: Path) -> AsyncGenerator[Hands]:
    async with hands_on(tmp_path, "bubblewrap") as hands:
        yield hands


@pytest.fixture
async def local(tmp_path: Path) -> AsyncGenerator[Hands]:
    async with hands_on(tmp_path, "local") as hands:
        yield hands


async def test_intent_names_the_command_the_directory_and_the_workspace(hands: Hands) -> None:
    await hands("cd /usr")
    intent = await hands.intent("ls -l")
    workspace = await hands.workspace()
    assert (intent.subject, intent.command, intent.directory) == ("ls -l", True, "/usr")
    assert intent.workspace == workspace.id
    assert not intent.asks


async def test_folder_whose_name_is_no_text_can_be_told_of(hands: Hands) -> None:
    await hands(r"mkdir $'\xff' $'\xfe' && cd $'\xff'")
    here = await hands.intent("ls")
    assert here.directory == r"/workspace/\xff"
    assert (await hands.workspace()).view.directory == here.directory
    await hands(r"cd ../$'\xfe'")
    assert (await hands.intent("ls")).directory != here.directory


async def test_network_asks_and_says_why(hands: Hands) -> None:
    intent = await hands.intent("curl example.com", network=True)
    assert intent.asks
    assert intent.why == "It would have network access, this machine's own services included."


async def test_every_command_asks_where_there_is_no_box(local: Hands) -> None:
    for given in ({}, {"network": True}, {"background": True}):
        intent = await local.intent("ls", **given)
        assert intent.asks
        assert "on this machine itself" in intent.why


async def test_intent_opens_nothing(hands: Hands) -> None:
    await hands.intent("ls")
    assert not (await hands.workspace()).is_live


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo a\0b", "NUL"),
        ("x" * (LONGEST + 1), "longer than"),
        ("", "empty"),
        (" \n", "empty"),
    ],
)
async def test_command_that_can_not_be_run_is_refused(hands: Hands, command: str, why: str) -> None:
    assert why in await hands.refused(command)
    with pytest.raises(ToolError, match=why):
        await hands.intent(command)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_rule_allows_runs_in_a_fresh_shell_in_the_same_directory(
    tmp_path: Path, kind: str
) -> None:
    async with hands_on(tmp_path, kind) as hands:  # pyright: ignore[reportArgumentType]
        await hands("cd /usr; export X=1; y=2; ls() { echo evil; }; alias ls='echo evil'")
        answer = await hands('pwd; echo "x$X$y"; type -t ls', allowed="by rule")
        assert answer == "/usr\nx\nfile\n"
        assert await hands("ls") == "evil\n"


async def test_what_a_person_allowed_runs_in_the_shell_that_lasts(hands: Hands) -> None:
    await hands("x=1")
    assert await hands("echo $x", allowed="by a person") == "1\n"


async def test_network_is_another_box_on_the_same_files(hands: Hands) -> None:
    await hands("x=1; echo here >file; export Y=2")
    devices = "wc -l </proc/net/route; "
    inside = await hands(f"cat file; {devices}")
    outside = await hands(f"cat file; echo $x$Y; {devices}", network=True, allowed="by a person")
    assert inside.startswith("here\n")
    assert outside.startswith("here\n\n")
    workspace = await hands.workspace()
    assert (await workspace.box(network=True)).network
    assert not (await workspace.box()).network


async def test_fresh_command_that_takes_too_long_becomes_a_process(hands: Hands) -> None:
    answer = await hands("echo begun; sleep 1000", wait=4, allowed="by rule")
    assert answer == "begun\n[It runs on in the background as p1.]"
    assert "status -9" in await hands.processes("kill", id="p1")


async def test_output_is_shown_while_it_runs(hands: Hands) -> None:
    task = hands.running("echo one; read line")
    await hands.seen("one\n")
    task.cancel()


async def test_wait_has_bounds(hands: Hands) -> None:
    assert "wait" in await hands.refused("true", wait=0)
    assert "wait" in await hands.refused("true", wait=601)


async def test_schemas_are_small(hands: Hands) -> None:
    assert len(hands.schemas) < 1900
