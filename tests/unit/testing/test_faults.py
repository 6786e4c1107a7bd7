"""Fault points: armed by name, and only those that there are."""

import pytest

from roost.core.errors import ConfigError
from roost.testing import faults


@pytest.mark.parametrize(
    "armed",
    [
        "store.commit.before",
        "store.commit.before=burn",
        "store.commit.before=kill:often",
        "store.commit.before=kill:0",
        "store.lunch=kill",
    ],
)
def test_what_can_not_be_armed_is_refused_by_its_variable(armed: str) -> None:
    with pytest.raises(ConfigError, match=r"^ROOST_FAULTS: "):
        faults.arm_from_environment({"ROOST_FAULTS": armed})


def test_only_the_chosen_arrival_fails() -> None:
    with faults.failing("store.commit.before", nth=2):
        faults.reach("store.commit.before")
        with pytest.raises(faults.FaultError):
            faults.reach("store.commit.before")
        faults.reach("store.commit.before")
    faults.reach("store.commit.before")
