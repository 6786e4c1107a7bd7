"""What was used over time, and what it cost."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.store.usage import UsedOnDay


class Days(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=400)] = 30


class UsageOverTime(msgspec.Struct, frozen=True):
    days: Sequence[UsedOnDay]


async def by_day(call: Call, query: Days) -> UsageOverTime:
    """What you used in the last days (UTC), by day and model. Costs are in billionths of a
    dollar."""
    return UsageOverTime(await call.account.usage_by_day(days=query.days))


ENDPOINTS = (endpoint("GET", "/api/usage", by_day, scope="read"),)
