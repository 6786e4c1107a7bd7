"""Rules, the tool's own default, or a person: who decides about a call."""

import pytest
from msgspec.structs import replace

from roost.agent.approvals import decide, holds, question
from roost.core.approvals import Approval, Rule, RuleDecision, parse_rule
from roost.core.errors import InvalidInput
from roost.core.ids import new_rule_id, new_session_id, new_tool_call_id, new_turn_id
from roost.core.turns import ToolCall
from roost.tools.base import Intent


def rules(**texts: list[str]) -> list[Rule]:
    found: list[Rule] = []
    decisions: tuple[RuleDecision, ...] = ("allow", "ask", "deny")
    for decision in decisions:
        found += [parse_rule(t, decision, id=new_rule_id()) for t in texts.get(decision, ())]
    return found


def command(text: str, *, asks: bool = True) -> Intent:
    return Intent(does="Run a command", subject=text, command=True, asks=asks)


def page(url: str) -> Intent:
    return Intent(does="Fetch a page", subject=url)


def test_without_rules_the_tool_says_whether_to_ask() -> None:
    assert decide("terminal", command("ls"), []).decision == "ask"
    assert decide("terminal", command("ls", asks=False), []).decision == "allow"
    assert decide("todo", None, []).decision == "allow"


def test_deny_goes_before_ask_and_ask_before_allow() -> None:
    all_three = rules(allow=["terminal: ls *"], ask=["terminal: ls -l *"], deny=["terminal: ls /"])
    assert decide("terminal", command("ls src"), all_three).decision == "allow"
    assert decide("terminal", command("ls -l src"), all_three).decision == "ask"
    assert decide("terminal", command("ls /"), all_three).decision == "deny"


def test_rule_for_a_whole_tool_holds_for_all_it_does() -> None:
    assert decide("todo", None, rules(deny=["todo"])).decision == "deny"
    assert decide("mcp_git_push", None, rules(ask=["mcp_git_*"])).decision == "ask"
    assert decide("terminal", command("a $(b)"), rules(allow=["terminal"])).decision == "allow"
    assert decide("terminal", command("ls"), rules(allow=["processes"])).decision == "ask"


def test_rule_says_by_what_it_allowed() -> None:
    line = command("git status")
    assert decide("terminal", line, rules(allow=["terminal"])).allowed == "by tool"
    assert decide("terminal", line, rules(allow=["terminal: git *"])).allowed == "by rule"
    assert decide("terminal", command("ls", asks=False), []).allowed == "by default"


def test_addresses_and_paths_are_matched_as_a_whole() -> None:
    wiki = rules(deny=["fetch: https://wiki.example/*"])
    assert decide("fetch", page("https://wiki.example/a"), wiki).decision == "deny"
    assert decide("fetch", page("https://other.example/wiki"), wiki).decision == "allow"


def test_every_command_of_a_line_has_to_be_allowed() -> None:
    some = rules(allow=["terminal: git status", "terminal: wc *"])
    assert decide("terminal", command("git status | wc -l"), some).decision == "allow"
    assert decide("terminal", command("git status | tee x"), some).decision == "ask"


def test_one_denied_command_denies_the_line() -> None:
    some = rules(deny=["terminal: rm *"])
    for line in ("ls && rm x", "sudo rm x", "sh -c 'rm x'", "xargs -0 rm", "/bin/rm x"):
        assert decide("terminal", command(line, asks=False), some).decision == "deny", line


def test_what_can_not_be_read_is_asked_about_where_something_is_denied() -> None:
    some = rules(deny=["terminal: rm *"])
    assert decide("terminal", command("$X y", asks=False), some).decision == "ask"
    assert decide("terminal", command("$X y", asks=False), []).decision == "allow"


def test_one_line_denied_for_good_does_not_make_every_other_ask() -> None:
    kept = [Rule(id=new_rule_id(), tool="terminal", pattern="=rm $X", decision="deny")]
    assert decide("terminal", command("rm $X", asks=False), kept).decision == "deny"
    assert decide("terminal", command("rm $Y", asks=False), kept).decision == "allow"


def test_everything_a_tool_runs_can_be_denied_by_a_pattern_too() -> None:
    for pattern in ("*", "* *"):
        some = rules(deny=[f"terminal: {pattern}"])
        assert decide("terminal", command("ls -l", asks=False), some).decision == "deny"


def test_pattern_of_nothing_matches_nothing() -> None:
    empty = [Rule(id=new_rule_id(), tool="terminal", pattern=" ", decision="deny")]
    assert decide("terminal", command("ls", asks=False), empty).decision == "allow"


def test_line_that_a_person_allowed_for_good_is_just_that_line() -> None:
    line = "for f in *.py; do wc -l $f; done"
    kept = [Rule(id=new_rule_id(), tool="terminal", pattern=f"={line}", decision="allow")]
    assert decide("terminal", command(line), kept).decision == "allow"
    assert decide("terminal", command(f"{line} "), kept).decision == "ask"


def test_no_rule_answers_a_question_of_the_agents() -> None:
    question = Intent(does="Ask", subject="Which?", kind="question")
    for decision in (rules(allow=["ask_user"]), rules(deny=["ask_user"])):
        assert decide("ask_user", question, decision).decision == "ask"


@pytest.mark.parametrize("text", ["", ":", "terminal:", " : ls"])
def test_half_a_rule_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is no rule"):
        parse_rule(text, "allow", id=new_rule_id())


CALL = ToolCall(
    call=new_tool_call_id(), turn=new_turn_id(), name="terminal", arguments='{"command":"make"}'
)
INTENT = Intent(does="Run", subject="make", directory="/work/a", workspace="box 1", command=True)


@pytest.mark.parametrize(
    ("call", "intent"),
    [
        (replace(CALL, name="other"), INTENT),
        (replace(CALL, arguments='{"command":"make","background":true}'), INTENT),
        (CALL, replace(INTENT, subject="make install")),
        (CALL, replace(INTENT, directory="/work/b")),
        (CALL, replace(INTENT, workspace="box 2")),
    ],
    ids=["tool", "arguments", "meaning", "directory", "workspace"],
)
def test_answer_holds_for_what_was_asked_and_nothing_else(call: ToolCall, intent: Intent) -> None:
    asked = question(CALL, INTENT)
    approval = Approval(
        id=asked.id,
        session=new_session_id(),
        turn=CALL.turn,
        call=CALL.call,
        kind=asked.kind,
        arguments=asked.arguments,
        directory=asked.directory,
        workspace=asked.workspace,
        body=asked.body,
        state="approved",
        answer=None,
        asked_at=0,
        expires_at=1,
        answered_at=0,
        answered_by=None,
        answered_on=None,
    )
    assert holds(approval, CALL, INTENT)
    assert not holds(approval, call, intent)
