"""Finding the configuration file, and what happens when it is not there."""

from pathlib import Path

import pytest

from roost.cli.settings import Settings, read_config
from roost.core.errors import ConfigError


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_file_in_the_config_home_is_read(home: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / ".config" / "roost" / "roost.toml", "[server]\nport = 1001")
    assert read_config(Settings(), home).server.port == 1001


def test_config_home_can_be_elsewhere(home: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / "etc" / "roost" / "roost.toml", "[server]\nport = 1001")
    environ = home | {"XDG_CONFIG_HOME": str(tmp_path / "etc")}
    assert read_config(Settings(), environ).server.port == 1001


def test_no_file_is_fine(home: dict[str, str]) -> None:
    assert read_config(Settings(), home).server.port == 7667


def test_flag_goes_before_variable_goes_before_default_place(
    home: dict[str, str], tmp_path: Path
) -> None:
    write(tmp_path / ".config" / "roost" / "roost.toml", "[server]\nport = 1001")
    second = write(tmp_path / "second.toml", "[server]\nport = 1002")
    third = write(tmp_path / "third.toml", "[server]\nport = 1003")
    environ = home | {"ROOST_CONFIG": str(second)}
    assert read_config(Settings(), environ).server.port == 1002
    assert read_config(Settings(config=str(third)), environ).server.port == 1003


def test_named_file_must_be_there(home: dict[str, str], tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(ConfigError, match=r"There is no configuration file .*missing\.toml"):
        read_config(Settings(config=str(missing)), home)
    with pytest.raises(ConfigError, match=r"missing\.toml"):
        read_config(Settings(), home | {"ROOST_CONFIG": str(missing)})


def test_unreadable_file_is_named(home: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    with pytest.raises(ConfigError, match=r"folder\.toml can't be read: is a directory\."):
        read_config(Settings(config=str(folder)), home)
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"data = '\xe9'")
    with pytest.raises(ConfigError, match=r"latin\.toml is not UTF-8"):
        read_config(Settings(config=str(latin)), home)


def test_relative_data_folder_starts_where_the_person_is(
    home: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_config(Settings(data="here"), home).data == tmp_path / "here"


def test_flags_reach_the_configuration(home: dict[str, str]) -> None:
    config = read_config(Settings(log_level="debug"), home, host="::1", port="8000")
    assert (config.log.level, config.server.host, config.server.port) == ("debug", "::1", 8000)
