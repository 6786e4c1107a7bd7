"""The command line itself: help, mistakes, defects."""

import json

import pytest

from roost import __version__
from tests.e2e.command import Roost


@pytest.mark.parametrize("arguments", [["version"], ["--version"]])
async def test_version(roost: Roost, arguments: list[str]) -> None:
    assert await roost(*arguments) == (0, f"Roost {__version__}\n", "")


async def test_help_lists_the_commands(roost: Roost) -> None:
    shown = await roost("--help")
    assert shown.code == 0
    for command in ("run", "doctor", "backup", "migrate", "ask", "models", "version"):
        assert command in shown.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["docter"], "Did you mean `roost doctor`?"),
        (["backup", "here", "there"], "'there' is one word too many."),
        (["run", "--prot", "1"], "Did you mean --port?"),
        (["run", "--port"], "--port needs a value."),
        (["doctor", "--config", "missing.toml"], "There is no configuration file"),
    ],
)
async def test_mistake_is_explained_in_one_line(
    roost: Roost, arguments: list[str], message: str
) -> None:
    refused = await roost(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert message in refused.err
    assert len(refused.err.splitlines()) == 1


async def test_defect_is_logged_with_its_traceback(roost: Roost) -> None:
    roost.environ["ROOST_FAULTS"] = "store.migrate.before=fail"
    failed = await roost("run", "--port", "0")
    assert (failed.code, failed.out) == (1, "")
    record, message = failed.err.splitlines()
    assert "Traceback" in json.loads(record)["exception"]
    assert message == "Roost stopped at an error it did not expect. The log above says more."
