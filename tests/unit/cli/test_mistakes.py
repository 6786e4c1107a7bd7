"""What a person reads who typed something that can't be followed."""

import io
import shlex
import sys

import pytest
from cyclopts import CycloptsError

from roost.cli.app import app, invoke
from roost.cli.mistakes import explain


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sessions list --limit x", "--limit is a whole number from 1 on, not 'x'."),
        ("sessions list --limit 0", "--limit is a whole number from 1 on, not '0'."),
        ("sessions list --limit=", "--limit is a whole number from 1 on, not ''."),
        ("usage --days 1.5", "--days is a whole number from 1 on, not '1.5'."),
        ("user cap bob --day-tokens many", "--day-tokens is a whole number, not 'many'."),
        ("token create x --days soon", "--days is a number, not 'soon'."),
        ("token create x --scope all", "--scope is read, chat, admin or metrics, not 'all'."),
        ("channels set x --groups me", "--groups is mention, all or none, not 'me'."),
        ("user role bob king", "ROLE is admin or member, not 'king'."),
        ("doctor --repair=maybe", "--repair takes no value."),
        ("sessions rename ses_1", "TITLE is missing."),
        ("run --port", "--port needs a value."),
        ("run --prot 1", "There is no option --prot. Did you mean --port?"),
        ("run --prot=1", "There is no option --prot. Did you mean --port?"),
        ("chat -m hi", "There is no option -m."),
        ("sessions list --limit 5 --limit 6", "--limit stands there twice. Give it once."),
        (
            "sessions exprt x",
            "There is no `roost sessions exprt`. Did you mean `roost sessions export`?",
        ),
        ("sessions help", "There is no `roost sessions help`."),
        ("sesions", "There is no `roost sesions`. Did you mean `roost sessions`?"),
        ("help", "There is no `roost help`."),
        ("backup here there", "'there' is one word too many."),
        ("sessions --data x", "Options go after the whole command."),
        ("--data x sessions", "Options go after the whole command."),
    ],
)
def test_mistake_is_said_in_plain_words(line: str, said: str) -> None:
    with pytest.raises(CycloptsError) as caught:
        app.parse_args(shlex.split(line), exit_on_error=False, print_error=False)
    help = "roost sessions" if said.startswith("Options") else f"roost {' '.join(_command(line))}"
    expected = f"{said} `{help.strip()} --help` shows what there is."
    assert explain(caught.value, [*app]) == expected


@pytest.mark.parametrize("line", ["sessions show", "sessions list", "pair block x", "ask"])
def test_bytes_that_are_no_text_are_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([*line.split(), "a\udcff"]) == 2
    said = "The command line has characters that are not text. Send it again without them.\n"
    assert capsys.readouterr() == ("", said)


def test_input_that_is_no_text_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\xffb"), "utf-8"))
    assert invoke(["ask"]) == 2
    said = "The question has characters that are not text. Send it again without them.\n"
    assert capsys.readouterr() == ("", said)


def _command(line: str) -> list[str]:
    """The words of a line that are commands."""
    words: list[str] = []
    for word in shlex.split(line):
        found = app
        for each in words:
            found = found[each]
        if word not in [*found] or word.startswith("-"):
            break
        words.append(word)
    return words
