"""The configuration of an agent, and the signature that tells two of them apart."""

import hashlib
from typing import NewType

import msgspec

Signature = NewType("Signature", str)


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is built from. Whatever may change from turn to turn without a rebuild
    (reasoning effort, observers) is not here, nor is the credential."""

    provider: str
    model: str
    protocol: str
    base_url: str
    toolset: str = "chat"
    instructions: str = ""


def signature(config: AgentConfig, credential: str, *, key: bytes) -> Signature:
    """Equal for equal configurations in every process that shares `key` (at most 64 bytes).

    The credential goes in whole and is covered by the key: a signature may stand in a log or a
    table without telling even a short credential to someone who guesses.
    """
    fields = msgspec.json.encode([msgspec.structs.asdict(config), credential], order="sorted")
    return Signature(
        hashlib.blake2b(fields, key=key, digest_size=20, person=b"roost-agent").hexdigest()
    )
