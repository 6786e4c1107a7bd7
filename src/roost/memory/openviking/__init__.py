"""Memory in an OpenViking context database."""

from roost.memory.openviking.provider import OpenViking, viking_user

__all__ = ["OpenViking", "viking_user"]
