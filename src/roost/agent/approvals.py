"""Who decides whether a tool call may run: a rule, the tool's own default, or a person."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from hashlib import blake2b

import msgspec

from roost.agent.commands import Words, certain, matches, read, refuses
from roost.core.approvals import Approval, Asked, Question, Rule, RuleDecision
from roost.core.ids import new_approval_id
from roost.core.turns import ToolCall
from roost.tools.base import Allowed, Intent

EXACTLY = "="
"""Before a pattern that is meant letter by letter: what a person once read and allowed for good."""


class Verdict(msgspec.Struct, frozen=True):
    decision: RuleDecision
    rule: Rule | None = None

    @property
    def allowed(self) -> Allowed:
        if self.rule is None:
            return "by default"
        return "by tool" if self.rule.pattern is None else "by rule"


def decide(tool: str, intent: Intent | None, rules: Sequence[Rule]) -> Verdict:
    """Of the rules that match, one that denies goes before one that asks, and that before one that
    allows; without any it is as the tool says by itself."""
    if intent is not None and intent.kind == "question":
        return Verdict("ask")  # what a person is asked, no rule can answer
    about = [rule for rule in rules if fnmatchcase(tool, rule.tool)]
    for decision in ("deny", "ask"):
        for rule in about:
            if rule.decision == decision and _refuses(rule, intent):
                return Verdict(decision, rule)
    if _can_not_tell(about, intent):
        return Verdict("ask")
    allowing = _allowing([rule for rule in about if rule.decision == "allow"], intent)
    if allowing is not None:
        return Verdict("allow", allowing)
    return Verdict("ask" if intent is not None and intent.asks else "allow")


def question(call: ToolCall, intent: Intent) -> Question:
    """What a person has to decide, with all that they need to see for it."""
    body = Asked(
        does=intent.does,
        subject=intent.subject,
        why=intent.why,
        choices=intent.choices,
        rule=EXACTLY + intent.subject if intent.kind == "approval" else "",
    )
    return Question(
        id=new_approval_id(),
        call=call.call,
        kind=intent.kind,
        arguments=_fingerprint(call, intent),
        body=msgspec.json.encode(body).decode(),
        directory=intent.directory,
        workspace=intent.workspace,
    )


def holds(approval: Approval, call: ToolCall, intent: Intent) -> bool:
    """Whether what was answered is what would run now: the same arguments, meaning the same, in the
    same place."""
    return approval.arguments == _fingerprint(call, intent)


def _fingerprint(call: ToolCall, intent: Intent) -> bytes:
    about = [call.name, call.arguments, intent.subject, intent.directory, intent.workspace]
    return blake2b(msgspec.json.encode(about), digest_size=16).digest()


def _refuses(rule: Rule, intent: Intent | None) -> bool:
    """Whatever of a line a rule matches, the line as a whole is refused, or asked for."""
    if rule.pattern is None:
        return True
    if intent is None:
        return False
    if not intent.command or rule.pattern.startswith(EXACTLY):
        return _matches_whole(rule.pattern, intent.subject)
    return any(refuses(rule.pattern, words) for words in read(intent.subject) or ())


def _matches_whole(pattern: str, subject: str) -> bool:
    if pattern.startswith(EXACTLY):
        return subject == pattern.removeprefix(EXACTLY)
    return fnmatchcase(subject, pattern)


def _can_not_tell(rules: Iterable[Rule], intent: Intent | None) -> bool:
    """A rule that refuses some commands can't be held against one that nobody can read."""
    if intent is None or not intent.command or not any(map(_refuses_some, rules)):
        return False
    commands = read(intent.subject)
    return commands is None or not all(map(certain, commands))


def _refuses_some(rule: Rule) -> bool:
    """One that is meant letter by letter has been held against it already."""
    pattern = rule.pattern or EXACTLY
    return rule.decision != "allow" and not pattern.startswith(EXACTLY)


def _allowing(rules: Sequence[Rule], intent: Intent | None) -> Rule | None:
    """Each command of a line has to be allowed; or just this line, as a person once read it."""
    for rule in rules:
        if rule.pattern is None or (intent is not None and _allows_whole(rule.pattern, intent)):
            return rule
    if intent is None or not intent.command:
        return None
    found = [_allowing_command(rules, words) for words in read(intent.subject) or ()]
    return found[0] if found and None not in found else None


def _allows_whole(pattern: str, intent: Intent) -> bool:
    whole = pattern.startswith(EXACTLY) or not intent.command
    return whole and _matches_whole(pattern, intent.subject)


def _allowing_command(rules: Sequence[Rule], words: Words) -> Rule | None:
    return next((rule for rule in rules if matches(rule.pattern or "", words)), None)
