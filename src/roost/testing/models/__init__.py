"""The scripted model server: a real HTTP server that answers what a test told it to."""

from roost.testing.models.pieces import (
    call,
    cut,
    echo,
    fail,
    finish,
    nothing,
    pause,
    raw,
    refuse,
    say,
    stall,
    think,
    use,
)
from roost.testing.models.prefix_cache import CacheUse
from roost.testing.models.request import ModelRequest
from roost.testing.models.script import Problem, Quirk, Reply
from roost.testing.models.server import Answer, ModelServer

__all__ = [
    "Answer",
    "CacheUse",
    "ModelRequest",
    "ModelServer",
    "Problem",
    "Quirk",
    "Reply",
    "call",
    "cut",
    "echo",
    "fail",
    "finish",
    "nothing",
    "pause",
    "raw",
    "refuse",
    "say",
    "stall",
    "think",
    "use",
]
