"""Codes for people whom Roost does not know yet."""

import hashlib
import re
import secrets

from roost.core.errors import InvalidInput

_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Nothing that is mistaken for something else when it is read out."""
_CODE = re.compile(rf"([{_ALPHABET}]{{4}})-?([{_ALPHABET}]{{4}})")


def new_code() -> str:
    letters = "".join([secrets.choice(_ALPHABET) for _ in range(8)])
    return f"{letters[:4]}-{letters[4:]}"


def is_code(text: str) -> bool:
    return _CODE.fullmatch(text.strip().upper()) is not None


def hashed(code: str) -> bytes:
    """Codes are looked up by this; the code itself is known to whoever was given it."""
    match = _CODE.fullmatch(code.strip().upper())
    if match is None:
        raise InvalidInput("A pairing code is eight letters and digits, such as K7QF-2MXA.")
    return hashlib.sha256(f"pairing/{match[1]}{match[2]}".encode()).digest()
