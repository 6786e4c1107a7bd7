"""Builds Roost out of its parts; the only package that names concrete classes."""

from roost.wiring.assembly import Roost, running
from roost.wiring.connections import known_channels, known_models, models
from roost.wiring.memory import check_memory
from roost.wiring.resting import resting

__all__ = [
    "Roost",
    "check_memory",
    "known_channels",
    "known_models",
    "models",
    "resting",
    "running",
]
