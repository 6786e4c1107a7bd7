"""A model that counts: what was lost of an answer, said twice, or mixed up with another shows."""

import random
import re
from collections.abc import Sequence

from roost.testing.models import ModelRequest, Reply, say

_QUESTION = re.compile(r"Count to (\d+) for ([\w.-]+)\.")
_DONE = "(That was all.)"


def question(name: str, count: int) -> str:
    """`name` is never used again."""
    return f"Count to {count} for {name}."


def wrong_with(asked: str, answers: Sequence[str]) -> list[str]:
    """What is wrong with the answer that was given in these pieces."""
    found = _QUESTION.fullmatch(asked)
    assert found, asked
    count, name = int(found[1]), found[2]
    said = [word for word in " ".join(answers).split() if word not in _DONE.split()]
    if said == [f"{name}:{number}" for number in range(1, count + 1)]:
        return []
    return [f"{asked} was answered with {answers}"]


class Counting:
    """`pace` is how long a word takes, in seconds. An answer that broke off goes on where it did:
    a model reads what it has said."""

    def __init__(self, seed: int, pace: float) -> None:
        self._random = random.Random(seed)  # noqa: S311 (reproducible, not secret)
        self._pace = pace

    def __call__(self, request: ModelRequest) -> Reply:
        text = request.body.decode()
        request.body, request.json = b"", {}  # there will be many
        asked = list(_QUESTION.finditer(text))
        if not asked:
            return say("A title")
        last = asked[-1]
        count, name = int(last[1]), last[2]
        said = re.findall(rf"{re.escape(name)}:(\d+)\b", text[last.end() :])
        rest = range(int(said[-1]) + 1 if said else 1, count + 1)
        words = " ".join(f"{name}:{number}" for number in rest) or _DONE
        return say(words + " ", pace=self._pace * self._random.uniform(0.5, 1.5))
