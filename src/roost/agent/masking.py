"""Keeps secrets that Roost was given out of what tools answer and show."""

import re
from collections.abc import Callable, Iterable

import msgspec

from roost.core.messages import TextPart
from roost.tools.base import ToolOutput

SHORTEST = 8
"""Characters; what is shorter may be any word."""
HIDDEN = "[secret]"


class Mask:
    """Knows the secrets to look for, which the outside can't ask for. One that was learned is never
    unlearned: what a tool kept of it may come up long after it was replaced."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._found: re.Pattern[str] | None = None
        self._known: tuple[str, ...] = ()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        more = {each for each in secrets if len(each) >= SHORTEST}
        # The longest first: of two that begin alike the whole one goes.
        known = sorted({*self._known, *more}, key=len, reverse=True)
        self._found = re.compile("|".join(map(re.escape, known))) if known else None
        self._known = tuple(known)

    def text(self, text: str) -> str:
        return text if self._found is None else self._found.sub(HIDDEN, text)

    def output(self, output: ToolOutput) -> ToolOutput:
        if self._found is None:
            return output
        content = tuple(
            [
                msgspec.structs.replace(part, text=self.text(part.text))
                if isinstance(part, TextPart)
                else part
                for part in output.content
            ]
        )
        return msgspec.structs.replace(output, content=content)

    def stream(self, show: Callable[[str], None]) -> "Stream":
        return Stream(self, show)

    def begun(self, text: str) -> int:
        """How many characters at the end may be the beginning of a secret."""
        longest = max(map(len, self._known), default=0)
        for size in range(min(longest - 1, len(text)), 0, -1):
            if any(secret.startswith(text[-size:]) for secret in self._known):
                return size
        return 0


class Stream:
    """Text that comes in pieces, shown without secrets that lie across two of them."""

    def __init__(self, mask: Mask, show: Callable[[str], None]) -> None:
        self._mask = mask
        self._show = show
        self._held = ""

    def write(self, text: str) -> None:
        text = self._mask.text(self._held + text)
        held = self._mask.begun(text)
        self._held = text[len(text) - held :]
        if shown := text[: len(text) - held]:
            self._show(shown)

    def flush(self) -> None:
        if self._held:
            self._show(self._held)
            self._held = ""


NO_MASK = Mask()
