"""The seal on a thought, by which its maker knows it again."""

import hashlib

_PREFIX = "scripted-"


def sign(text: str) -> str:
    return _PREFIX + hashlib.sha256(text.encode()).hexdigest()[:32]


def forged(text: str, signature: str) -> bool:
    """Whether our seal is on a thought that isn't ours. A script's own seals are taken as given."""
    return not signature or (signature.startswith(_PREFIX) and signature != sign(text))
