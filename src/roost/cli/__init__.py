"""The `roost` command."""

from roost.cli.app import main

__all__ = ["main"]
