"""Who answers: which model a name stands for."""

import msgspec

from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import Phrase
from roost.llm.providers import Answerer


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`provider/model`, or the bare name of either; without one it is who answers by default."""

    model: Phrase | None = None


async def answerer(call: Call, query: Named) -> Answerer:
    """Say which model a name stands for, or who answers if nobody is named. `tiny` is the one that
    comes with Roost."""
    return await call.account.answerer(query.model)


ENDPOINTS = (endpoint("GET", "/api/answerer", answerer, scope="read"),)
