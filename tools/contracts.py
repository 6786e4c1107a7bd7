"""Writes docs/contracts.md: each promise, and the tests marked with its number."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "contracts.md"

INTRODUCTION = """\
# Contracts

What Roost promises about its sessions, and the tests that hold it to that. A test names its promise
with `@pytest.mark.contract("A7")`; `make contracts` writes this page from those marks, and a test
fails when it is out of date. A promise without a test is marked *not yet*.
"""

PROMISES = {
    "A. Live agents": {
        "A1": "Turns under one configuration run on the same live agent.",
        "A2": "The signature tells configurations and credentials apart, and reveals neither.",
        "A3": "Reasoning effort and observers change per turn without a new agent.",
        "A4": "The system prompt is built once; each request is a byte prefix of the next.",
        "A5": "Reset, end, delete and a change of model empty that session's slot, and no other.",
        "A6": "The cache has a cap and drops its oldest idle agents first.",
        "A7": "An agent in mid-turn is never dropped, and no younger one pays for it.",
        "A8": "A slot under construction counts as nothing; two requests build one agent.",
        "A9": "The idle sweep drops what is idle too long and leaves the busy and the unknown.",
        "A10": "A slow release delays no other session.",
        "A11": "Dropping keeps the workspace, ending closes it; nothing is closed twice.",
        "A12": "A dropped session's next agent finds the same shell, processes and tabs.",
        "A13": "Eight inserters at once settle exactly at the cap.",
        "A14": "No turn answers without a message that someone else wrote to its session.",
        "A15": "Switching a route between sessions confuses neither's position.",
    },
    "B. Leases and compaction": {
        "B1": "Of many concurrent claims to a lease exactly one wins.",
        "B2": "Only the holder can release a lease; names are independent.",
        "B3": "An expired lease can be claimed, and its old holder's writes are refused.",
        "B4": "Work longer than the time to live keeps its lease by renewing it.",
        "B5": "Compaction keeps the id and opens one epoch, in one transaction, and can be undone.",
        "B6": "Of racing compactions one opens an epoch; the others go on unchanged.",
        "B7": "A failed compaction changes nothing and never parts a tool call from its result.",
        "B8": "Who holds a lease, since when and until when can be asked.",
        "B9": "Leases lapse after their time to live; a restarted sole owner takes them over.",
        "B10": "Compaction in mid-turn keeps the lease; of a deleted session it ends quietly.",
    },
    "C. Memory": {
        "C1": "Only completed turns are committed to memory.",
        "C2": "Turns are marked when they complete and committed at boundaries, several at once.",
        "C3": "A commit with nothing new calls no provider.",
        "C4": "A turn that completes during a commit waits for the next.",
        "C5": "Commits of one session never overlap.",
        "C6": "A failed commit is retried unchanged, and its failures can be seen.",
        "C7": "Turns are committed to the memory scope they ran under.",
        "C8": "Eviction waits for no commit, and closes nothing that one uses.",
        "C9": "Shutdown drains commits inside a deadline; the rest follow after the next start.",
        "C10": "A crash between a turn and its commit loses no commit and doubles none.",
        "C11": "An unknown session id does nothing and raises nothing.",
        "C12": "Undo, edit and delete withdraw turns.",
        "C13": "What is uncommitted can be asked, and a commit says what it did.",
    },
    "D. Turns": {
        "D1": "A message is durable before it is accepted; one key is one turn.",
        "D2": "Streaming is checkpointed at least every 250 ms, all turns in one commit.",
        "D3": "After a kill the answer is there up to the last checkpoint, and nothing runs.",
        "D4": "A tool call of unknown effect is shown as that and never silently repeated.",
        "D5": "A subscriber who reconnects sees every durable event once, in order.",
        "D6": "Cancel stops model and tools within a second and keeps the partial answer.",
        "D7": "Undo, edit, clear, delete and the like are seen whole or not at all.",
        "D8": "A message sent during a turn is queued, durable and editable; order is kept.",
        "D9": "A model's title never overwrites a person's.",
        "D10": "The list of sessions reads no messages and is right without rewriting.",
        "D11": "Several surfaces watching one session see the same events.",
        "D12": "A turn that fails says why, keeps the message and blocks nothing.",
        "D13": "A running turn moves its session up the list; maintenance does not.",
        "D14": "A checkpoint that comes after the end of its turn changes nothing.",
        "D15": "Concurrent writes to one session all succeed.",
        "D16": "A slow store call delays no other session's stream.",
        "D17": "Older stores open whole; one that needs a newer Roost is left untouched.",
    },
    "E. Surfaces": {
        "E1": "A channel's message is durable before it is acknowledged, and handled once.",
        "E2": "An answer to a channel is delivered at least once, and not again once confirmed.",
        "E3": "Unknown senders get the pairing hint and nothing else.",
        "E4": "What starts on one surface goes on in another.",
        "E5": "An approval survives restarts, is answered once, and binds what it was asked for.",
    },
}


def find_tests(folder: Path) -> dict[str, list[str]]:
    """Links to the marked tests, by number."""
    links: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        target = Path("..", folder.name, path.relative_to(folder)).as_posix()
        for number, test in _marked(ast.parse(path.read_text(encoding="utf-8"))):
            links[number].append(f"[{test}]({target})")
    return links


def _marked(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                yield from ((number, node.name) for number in _numbers(decorator))


def _numbers(decorator: ast.expr) -> Iterator[str]:
    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.contract":
        yield from (str(ast.literal_eval(argument)) for argument in decorator.args)


def render(links: dict[str, list[str]]) -> str:
    known = {number for promises in PROMISES.values() for number in promises}
    if unknown := links.keys() - known:
        raise ValueError(f"tests are marked with unknown contracts: {', '.join(sorted(unknown))}")
    parts = [INTRODUCTION]
    for group, promises in PROMISES.items():
        rows = (
            f"| {number} | {promise} | {'<br>'.join(links.get(number, ['*not yet*']))} |\n"
            for number, promise in promises.items()
        )
        parts.append(f"\n## {group}\n\n| | Promise | Tests |\n|---|---|---|\n{''.join(rows)}")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render(find_tests(ROOT / "tests")), encoding="utf-8")
