"""The models' part: the price of a streamed token, of a first request, of 500 streams at once."""

from collections.abc import Callable, Sequence

from bench.models import concurrent, ready, tokens
from bench.report import Figure


def measure(tell: Callable[[str], None]) -> Sequence[Figure]:
    tell("the first request")
    figures = ready.measure()
    tell("CPU time per token")
    figures += tokens.measure()
    tell(f"{concurrent.STREAMS} streams at once")
    return figures + concurrent.measure()
