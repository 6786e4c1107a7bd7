"""Commands that try to pass under a rule that allows another, or by one that denies them."""

from time import process_time

import pytest

from roost.agent.approvals import decide
from roost.core.approvals import parse_rule
from roost.core.ids import new_rule_id
from roost.tools.base import Intent

ALLOWED = ["terminal: git status", "terminal: git log *", "terminal: echo *", "terminal: xargs *"]

SMUGGLED = {
    "after a semicolon": "git status; rm -rf ~",
    "after a newline": "git status\nrm -rf ~",
    "after and": "git status && rm x",
    "after or": "git status || rm x",
    "through a pipe": "git log | sh",
    "through a pipe of errors": "git log |& sh",
    "in the background": "git status & rm x",
    "in a substitution": "git log $(rm x)",
    "in backticks": "git log `rm x`",
    "in quotes that substitute": 'git log "$(rm x)"',
    "in backticks in quotes": 'git log "`rm x`"',
    "in a process substitution": "git log <(rm x)",
    "as output to a file": "git log > ~/.bashrc",
    "as output appended": "echo rm x >> ~/.profile",
    "as output that clobbers": "echo x >| file",
    "as output of both": "echo x &> file",
    "as a here document": "git status <<E\n$(rm x)\nE",
    "as a here string": "git status <<< $(rm x)",
    "by a variable before it": "GIT_PAGER='rm x' git log",
    "by a variable in it": "echo $x${x:=$(rm x)}",
    "by the name in a variable": "g=git; $g status",
    "by another program of that name": "./git status",
    "by a path to it": "/srv/git status",
    "by a wrapper": "env git status",
    "by sudo": "sudo git status",
    "by a wrapper that is allowed": "xargs rm",
    "by a shell": "sh -c 'git status; rm x'",
    "by eval": "eval git status",
    "by exec": "exec git status",
    "by command": "command git status",
    "by a function of that name": "git() { rm x; }; git status",
    "by a function with its word": "function git { rm x; }; git status",
    "by an alias": "alias git='rm x'\ngit status",
    "by hashing another program": "hash -p /tmp/evil git; git status",
    "by a trap": "trap 'rm x' EXIT; git status",
    "in a group": "{ git status; rm x; }",
    "in a subshell": "(git status; rm x)",
    "in a loop": "for i in 1; do git status; done",
    "in a condition": "if git status; then rm x; fi",
    "in an arithmetic expansion": "echo $((a[$(rm x)]))",
    "in an ANSI string": "echo $'\\x27; rm x'",
    "after a quote that never ends": "git log 'a; rm x",
    "after a line that goes on": "git status \\\n; rm x",
    "after a carriage return": "git status\r; rm x",
    "after a NUL": "git status\0; rm x",
    "with a space that is none": "git\u00a0status; rm x",
    "with braces": "{git,status}; rm x",
    "with the files of a pattern": "git log *",
    "with one argument too many": "git status --porcelain",
    "with a coprocess": "coproc rm x; git status",
    "with a comment that hides": "git status # \n rm x",
    "in the time of it": "time rm x",
    "as not": "! git status",
}


@pytest.mark.parametrize("command", SMUGGLED.values(), ids=SMUGGLED.keys())
def test_nothing_is_smuggled_past_a_rule(command: str) -> None:
    rules = [parse_rule(text, "allow", id=new_rule_id()) for text in ALLOWED]
    intent = Intent(does="Run a command", subject=command, command=True, asks=True)
    assert decide("terminal", intent, rules).decision == "ask"


def test_the_rules_do_allow_what_they_say() -> None:
    rules = [parse_rule(text, "allow", id=new_rule_id()) for text in ALLOWED]
    for command in ("git status", "git log -3 --stat", "git status; git log && echo 'it is done'"):
        intent = Intent(does="Run a command", subject=command, command=True, asks=True)
        assert decide("terminal", intent, rules).decision == "allow", command


DENIED = ["terminal: rm *", "terminal: sudo *", "terminal: scp* *"]

DODGED = {
    "by a rule about a wrapper": ("sudo ls", "deny"),
    "by a path to a wrapper": ("/usr/bin/sudo ls", "deny"),
    "by a name that a pattern means": ("scp2 a b", "deny"),
    "by a shell in a shell": ("bash -c 'bash -c \"rm x\"'", "deny"),
    "by a wrapper in a shell": ("sh -c 'nice rm x'", "deny"),
    "by a path in a shell": ("sh -c '/bin/rm x'", "deny"),
    "by an alias": ("alias x=rm", "deny"),
    "by an alias with words": ("alias x='rm -rf'", "deny"),
    "by another user": ("gosu nobody rm x", "deny"),
    "by a variable before it": ("A=1 rm x", "ask"),
    "by a text that is put together": ("bash -c 'r$x x'", "ask"),
    "by eval of a variable": ("eval 'rm $x'", "ask"),
    "by a shell that reads it": ("echo 'rm x' | bash", "ask"),
    "by a shell that is told to read": ("echo 'rm x' | sh -s", "ask"),
    "by words that come later": ("echo rm x | xargs env", "ask"),
    "by a line too long to read": (f"rm {'x' * 10_000}", "ask"),
}


@pytest.mark.parametrize(("command", "decision"), DODGED.values(), ids=DODGED.keys())
def test_nothing_dodges_a_rule_that_denies_it(command: str, decision: str) -> None:
    rules = [parse_rule(text, "deny", id=new_rule_id()) for text in DENIED]
    intent = Intent(does="Run a command", subject=command, command=True)
    assert decide("terminal", intent, rules).decision == decision


def test_rules_that_deny_leave_the_rest_alone() -> None:
    rules = [parse_rule(text, "deny", id=new_rule_id()) for text in DENIED]
    for command in ("find . -name '*.py'", "env A=1 ls", "bash run.sh", "sh -c 'ls; wc -l x'"):
        intent = Intent(does="Run a command", subject=command, command=True)
        assert decide("terminal", intent, rules).decision == "allow", command


@pytest.mark.parametrize("command", ["echo " + "a" * 99_000, "find" + " a" * 49_000])
def test_long_command_holds_up_nobody(command: str) -> None:
    rules = [parse_rule(text, "deny", id=new_rule_id()) for text in DENIED]
    intent = Intent(does="Run a command", subject=command, command=True)
    began = process_time()
    decide("terminal", intent, rules)
    assert process_time() - began < 0.5
