"""Every command, with an argument and with what is said to it after one message was answered."""

from roost.channels.base import COMMANDS

ANSWERS = (
    ("usage", "", "in all."),
    ("sessions", "", "/resume and a number"),
    ("model", "", "answers. /model and a name"),
    ("model", "test/other", "answers from now on"),
    ("compact", "", "nothing to sum up"),
    ("approve", "", "Nothing waits for an answer"),
    ("deny", "", "Nothing waits for an answer"),
    ("stop", "", "Nothing is being done"),
    ("resume", "1", "You are in"),
    ("retry", "", "Good day, again."),
    ("undo", "", "Taken back"),
    ("new", "", "A new conversation begins"),
    ("help", "", "Write to me, and I answer."),
)

assert {name for name, _, _ in ANSWERS} == {command.name for command in COMMANDS}
