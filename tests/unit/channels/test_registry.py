"""Platforms' libraries: imported when they are needed, missed by name."""

import subprocess
import sys

import pytest

from roost.channels.base import Channel, Options
from roost.channels.registry import Registry
from roost.core.errors import ConfigError
from roost.core.keys import Key

LIBRARIES = {"telegram": "telegram", "discord": "discord", "slack": "slack_bolt.app.async_app"}


def test_starting_roost_imports_no_library_of_a_platform() -> None:
    script = (
        "import sys, roost.cli.app, roost.wiring, roost.channels.hosting\n"
        "print({'telegram', 'discord', 'slack_bolt', 'slack_sdk'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("kind", sorted(LIBRARIES))
def test_library_that_is_not_there_is_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(f"roost.channels.{kind}")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, LIBRARIES[kind], None)

    with pytest.raises(ConfigError, match=rf"Install roost\[{kind}\]"):
        Registry().load(kind)


def test_unknown_kind_is_told_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match="There are discord, slack, telegram, webhook"):
        Registry().load("pigeon")


def test_what_is_wrong_with_options_is_said_without_them() -> None:
    def strict(name: str, options: Options) -> Channel:
        raise ValueError(f"{options['token'].reveal()} is no number")

    with pytest.raises(ConfigError, match="could not be made: … is no number") as refused:
        Registry({"strict": strict}).make("strict", "mine", {"token": Key("hush-hush")})
    assert "hush" not in str(refused.value)
