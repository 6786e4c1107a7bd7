"""A provider's key: held apart from everything that is printed, logged, stored or sent on."""

import hmac
from typing import NoReturn


class Key:
    """Shows nothing of itself. `reveal` is for the request that is sent with it, nothing else."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """A ValueError that does not repeat the text, if it can't stand in a header."""
        text = text.strip()
        if not text or not text.isascii() or not text.isprintable():
            raise ValueError("a key is one line of printable ASCII characters")
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Key(…)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key):
            return NotImplemented
        return hmac.compare_digest(self._text, other.reveal())

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a key is neither pickled nor copied")
