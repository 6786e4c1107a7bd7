"""The cipher: opens what it sealed, where it was sealed, with the key it was sealed with."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import ConfigError, DataFolderError, StoreError
from roost.store.cipher import VARIABLE, Cipher, has_key, load_key
from roost.store.folder import KEY

cipher = Cipher(b"k" * 32)


@given(st.text(), st.text(), st.text())
def test_what_was_sealed_is_opened_again(value: str, owner: str, name: str) -> None:
    sealed = cipher.seal(value, owner=owner, name=name)
    assert cipher.open(sealed, owner=owner, name=name) == value


def test_sealing_twice_gives_different_bytes() -> None:
    first, second = (cipher.seal("secret", owner="ada", name="key") for _ in range(2))
    assert first != second
    assert b"secret" not in first


@pytest.mark.parametrize(("owner", "name"), [("bob", "key"), ("ada", "other"), ("", "ada\x00key")])
def test_sealed_value_opens_only_where_it_stands(owner: str, name: str) -> None:
    sealed = cipher.seal("secret", owner="ada", name="key")
    with pytest.raises(StoreError):
        cipher.open(sealed, owner=owner, name=name)


def test_other_key_and_changed_or_cut_bytes_do_not_open() -> None:
    sealed = cipher.seal("secret", owner="ada", name="key")
    with pytest.raises(StoreError, match="another key"):
        Cipher(b"x" * 32).open(sealed, owner="ada", name="key")
    for damaged in (sealed[:-1], sealed[:-1] + b"\x00", b"\x00" + sealed[1:], sealed[:13]):
        with pytest.raises(StoreError):
            cipher.open(damaged, owner="ada", name="key")


def test_signing_key_is_stable_and_is_not_the_key() -> None:
    assert cipher.signing_key == Cipher(b"k" * 32).signing_key
    assert cipher.signing_key != b"k" * 32
    assert len(cipher.signing_key) == 32


def test_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    first = load_key(tmp_path, {})
    assert load_key(tmp_path, {}) == first
    assert (tmp_path / KEY).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [KEY]


def test_key_file_that_is_no_text_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / KEY).write_bytes(b"\xff" * 44)
    with pytest.raises(ConfigError, match=KEY):
        load_key(tmp_path, {})


def test_looking_for_a_key_makes_none(tmp_path: Path) -> None:
    assert not has_key(tmp_path, {VARIABLE: ""})
    assert list(tmp_path.iterdir()) == []
    assert has_key(tmp_path, {VARIABLE: "given"})
    load_key(tmp_path, {})
    assert has_key(tmp_path, {})


def test_key_file_that_others_can_read_is_made_private(tmp_path: Path) -> None:
    load_key(tmp_path, {})
    (tmp_path / KEY).chmod(0o644)
    load_key(tmp_path, {})
    assert (tmp_path / KEY).stat().st_mode & 0o777 == 0o600


def test_key_from_the_environment_goes_first_and_writes_no_file(tmp_path: Path) -> None:
    given = base64.b64encode(b"e" * 32).decode()
    assert load_key(tmp_path, {VARIABLE: given}) == b"e" * 32
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["short", "!" * 44, "\u043a" * 44, base64.b64encode(b"x" * 31).decode()]
)
def test_key_that_is_none_is_refused_by_where_it_stands(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=VARIABLE):
        load_key(tmp_path, {VARIABLE: text})
    (tmp_path / KEY).write_text(text)
    with pytest.raises(ConfigError, match=KEY):
        load_key(tmp_path, {})
    assert (tmp_path / KEY).read_text() == text


def test_folder_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DataFolderError):
        load_key(tmp_path / "nowhere", {})
