"""What becomes of a read in the background that fails."""

import structlog

from roost.core.errors import StoreError

log = structlog.get_logger()

RETRY = 0.2
LONGEST_RETRY = 5.0


class Trouble:
    """A read that fails, again and again maybe: reported, and tried again ever later."""

    def __init__(self, **about: object) -> None:
        """`about` says of what it was."""
        self._about = about
        self._delay = RETRY / 2

    def met(self, error: Exception) -> float:
        """How long to wait now."""
        expected = isinstance(error, StoreError)
        log.warning(
            "events can't be read",
            **self._about,
            error=str(error),
            exc_info=None if expected else error,
        )
        self._delay = min(2 * self._delay, LONGEST_RETRY)
        return self._delay
