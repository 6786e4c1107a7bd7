"""A way for people who are signed in to sign in elsewhere too: on their phone, by a QR code."""

from roost.core.errors import NotForTokens
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.users import LinkView

SECONDS = 600.0
"""Long enough to find the phone."""


async def linked(call: Call) -> LinkView:
    """Make a link that signs you in on another device, once, within ten minutes. Unused ones from
    before are void."""
    if call.who.via != "browser":
        raise NotForTokens  # it would outlive the token
    secret = await call.identities.link(call.who.user.id, seconds=SECONDS)
    return LinkView(f"/sign-in#{secret.reveal()}")


ENDPOINTS = (endpoint("POST", "/api/me/link", linked, scope="account", status=201),)
