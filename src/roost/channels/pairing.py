"""What someone is told whom Roost does not know yet."""

from roost.core.inbound import Sender, plain_name
from roost.core.pairing import hashed
from roost.store.pairings import Offer

CODE_TTL = 3600.0


def offer(sender: Sender, code: str) -> Offer:
    return Offer(sender.id, plain_name(sender.name), hashed(code), CODE_TTL)


def hint(code: str) -> str:
    """All that someone unknown is told."""
    return (
        f"I don't know you yet. Your pairing code is **{code}**; it holds for an hour.\n\nWhoever "
        f"runs this Roost can let you in with it: in the web app, or with `roost pair {code}`."
    )
