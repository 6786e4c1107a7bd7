"""How many tokens each family of models makes of what is in a text: first guesses, as data."""

import re
from functools import lru_cache

import msgspec

from roost.llm.scripts import Census

IMAGE = 1200
"""Tokens of an image: vendors take from 85 to 1,600, by a size that is not known here."""


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens for one of each thing that is counted. Fitted to the vocabulary of SmolLM2, which is
    small and made for English; larger ones take fewer for everything else."""

    name: str
    words: float = 1.07
    long: float = 0.34
    capitals: float = 0.27
    capitalised: float = 0.81
    digits: float = 1.24
    punctuation: float = 0.11
    marks: float = 1.04
    lines: float = 0.72
    kana: float = 1.81
    han: float = 1.79
    hangul: float = 2.83
    accented: float = 4.5
    other: float = 0.89
    rare: float = 1.14

    def plain(self, census: Census) -> float:
        return (
            self.words * census.words
            + self.long * census.long
            + self.capitals * census.capitals
            + self.capitalised * census.capitalised
            + self.digits * census.digits
            + self.punctuation * census.punctuation
            + self.marks * census.marks
            + self.lines * census.lines
        )

    def wide(self, census: Census) -> float:
        return (
            self.kana * census.kana
            + self.han * census.han
            + self.hangul * census.hangul
            + self.accented * census.accented
            + self.other * census.other
            + self.rare * census.rare
        )


_MODERN = Family(
    name="modern",
    digits=0.45,
    capitalised=0.75,
    lines=0.6,
    kana=0.8,
    han=0.8,
    hangul=0.75,
    accented=1.8,
    other=0.35,
    rare=0.9,
)
"""Vocabularies of 100,000 and more, with digits in threes."""


def _scaled(name: str, factor: float) -> Family:
    weights = {
        field: value * factor
        for field, value in msgspec.structs.asdict(_MODERN).items()
        if field != "name"
    }
    return Family(name=name, **weights)


_FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"smollm.*", Family(name="smollm")),
    # From 4.7 on Anthropic counts about a third more for the same text.
    (r"claude-[a-z]+-(4[.-][7-9]|[5-9]).*|claude-mythos.*", _scaled("claude-4.7", 1.4)),
    (r"claude-.*", _scaled("claude", 1.1)),
    (r"(qwen|deepseek|glm|kimi).*", msgspec.structs.replace(_MODERN, name="qwen", han=0.65)),
    (r"(llama|mistral|mixtral|phi).*", _scaled("llama", 1.05)),
)


@lru_cache(maxsize=256)
def family_of(model: str) -> Family:
    bare = model.lower().rpartition("/")[2]
    for pattern, family in _FAMILIES:
        if re.fullmatch(pattern, bare):
            return family
    return _MODERN
