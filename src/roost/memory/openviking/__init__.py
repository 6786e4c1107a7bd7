"""Memory in an OpenViking context database."""

from roost.memory.openviking.options import from_options
from roost.memory.openviking.provider import OpenViking, viking_user

__all__ = ["OpenViking", "from_options", "viking_user"]
