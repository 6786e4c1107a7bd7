"""Roost, a self-hosted agent server whose sessions never lose a turn."""

__version__ = "0.1.0"
