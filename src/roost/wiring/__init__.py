"""Builds Roost out of its parts; the only package that names concrete classes."""

from roost.wiring.assembly import Roost, running
from roost.wiring.connections import models
from roost.wiring.resting import resting

__all__ = ["Roost", "models", "resting", "running"]
