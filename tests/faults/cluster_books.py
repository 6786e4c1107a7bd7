"""What people were told, held against what is in the database."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from roost.core.messages import decode_parts, plain_text
from roost.store.operations import Rows
from tests.faults.cluster_fences import Fences, broken_fences
from tests.faults.cluster_model import wrong_with
from tests.faults.cluster_people import Acknowledged
from tests.faults.recount import CHECKS, LOGS, POSTGRES

_TURNS = "SELECT id, session_id, key, state FROM turns"
_SAID = """
SELECT turn_id, role, parts FROM messages WHERE role IN ('user', 'assistant')
ORDER BY session_id, position"""


class Row(msgspec.Struct, frozen=True, array_like=True):
    turn: str
    session: str
    key: str
    state: str


async def check(sent: Sequence[Acknowledged], fences: Fences) -> list[str]:
    """Everything that is wrong."""
    turns = msgspec.convert(await fences.rows(_TURNS), list[Row])
    wrong = [*_turns(sent, turns), *_answers(sent, await fences.rows(_SAID))]
    for what, sql in (CHECKS | LOGS).items():
        wrong += [f"{what}: {row}" for row in await fences.rows(sql.format_map(POSTGRES))]
    return [*wrong, *broken_fences(await fences.entries())]


def _turns(sent: Sequence[Acknowledged], turns: list[Row]) -> Iterator[str]:
    """Every message that was taken is there, once, and was answered; and there is no other."""
    expected = {(each.turn, each.session, each.text, "completed") for each in sent}
    found = Counter((each.turn, each.session, each.key, each.state) for each in turns)
    for each in expected - found.keys():
        yield f"{each} is not stored"
    for each, times in found.items():
        if each not in expected or times > 1:
            yield f"{each} is stored {times} times"


def _answers(sent: Sequence[Acknowledged], said: Rows) -> Iterator[str]:
    """Each stands once in the history, with its answer whole and in order after it."""
    questions: defaultdict[str, list[str]] = defaultdict(list)
    answers: defaultdict[str, list[str]] = defaultdict(list)
    for turn, role, parts in said:
        spoken = questions if role == "user" else answers
        spoken[str(turn)].append(plain_text(decode_parts(str(parts))))
    for each in sent:
        if questions[each.turn] != [each.text]:
            yield f"{each} stands in the history as {questions[each.turn]}"
        yield from wrong_with(each.text, answers[each.turn])
