"""Figures for Prometheus: of admins' tokens, since they tell how much everyone does."""

from starlette.responses import Response

from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.runtime.measuring import scrape
from roost.runtime.metrics import CONTENT_TYPE


async def scraped(call: Call) -> Response:
    """How Roost does, as Prometheus reads it."""
    body = await scrape(call.callers.app.parts)
    return Response(body, headers={"Cache-Control": "no-store", "Content-Type": CONTENT_TYPE})


ENDPOINTS = (endpoint("GET", "/metrics", scraped, scope="metrics", answers="text/plain"),)
