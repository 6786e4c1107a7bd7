"""Keys and passwords: held apart from everything that is printed, logged, stored or sent on."""

import hmac
import re
from typing import NoReturn
from urllib.parse import SplitResult, unquote, urlsplit

_HOST = re.compile(r"(\[[^]]+]|[^:[\]]*)(:[0-9]{1,5})?")


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


class StoreAddress:
    """Of a database, with the password it may hold: shown without it. It may name several hosts,
    with commas between them: those that a database may move to."""

    __slots__ = ("_url",)

    def __init__(self, url: str) -> None:
        """A ValueError that does not repeat the address, if it can't be told what is what in it."""
        try:
            parts = urlsplit(url)
        except ValueError:
            parts = SplitResult("", "", "", "", "")  # what it says may hold the password
        if "#" in url or not _is_plain(parts):
            raise ValueError(
                "not the address of a PostgreSQL database; in a password / is written %2F, # %23, "
                "? %3F and @ %40"
            )
        self._url = url

    def reveal(self) -> str:
        return self._url

    def __str__(self) -> str:
        parts = urlsplit(self._url)
        hosts = ", ".join(map(unquote, _hosts(parts)))
        return f"{parts.path.lstrip('/') or 'postgres'} on {hosts or 'this machine'}"

    def __repr__(self) -> str:
        return f"StoreAddress({self})"


def _hosts(parts: SplitResult) -> list[str]:
    return parts.netloc.rpartition("@")[2].split(",")


def _is_plain(parts: SplitResult) -> bool:
    """Whether a password ends where it seems to: what stands behind it is shown."""
    is_cut = "@" in parts.path + parts.query or parts.netloc.count("@") > 1
    is_ours = parts.scheme in ("postgresql", "postgres")
    return is_ours and not is_cut and all(map(_HOST.fullmatch, _hosts(parts)))
