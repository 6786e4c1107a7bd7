"""How many there are of something, in words."""

import re


def amount(number: int, thing: str) -> str:
    return f"{number:,} {thing if number == 1 else _many(thing)}"


def _many(thing: str) -> str:
    return re.sub("([^aeiou])y$", r"\1ie", thing) + "s"
