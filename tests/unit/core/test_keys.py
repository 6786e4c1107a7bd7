"""A key that ends up somewhere it should not shows nothing there."""

import copy
import io
import json
import logging
import pickle
import traceback

import msgspec
import pytest
import structlog

from roost.core.keys import Key, StoreAddress

SECRET = "sk-nightjar-4711"  # noqa: S105


class Holder(msgspec.Struct, frozen=True):
    name: str
    key: Key


def test_key_reveals_itself_only_when_asked() -> None:
    key = Key(f" {SECRET}\n")
    assert key.reveal() == SECRET
    shown = [repr(key), str(key), f"{key}", f"{key!r:>40}", "%s" % key, repr([key]), repr({1: key})]  # noqa: UP031
    assert not any("nightjar" in text for text in shown)


def test_struct_that_holds_a_key_does_not_show_it() -> None:
    assert "nightjar" not in repr(Holder("openai", Key(SECRET)))


@pytest.mark.parametrize("encode", [msgspec.json.encode, msgspec.msgpack.encode])
def test_key_can_not_be_encoded(encode: object) -> None:
    assert callable(encode)
    with pytest.raises(TypeError) as caught:
        encode(Holder("openai", Key(SECRET)))
    assert "nightjar" not in str(caught.value)


def test_key_can_not_be_pickled_or_copied() -> None:
    for dump in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError) as caught:
            dump(Key(SECRET))
        assert "nightjar" not in str(caught.value)


def test_log_shows_nothing_of_a_key() -> None:
    out = io.StringIO()
    log = structlog.wrap_logger(
        structlog.PrintLogger(out),
        processors=[structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()],
    )
    key = Key(SECRET)
    try:
        raise ValueError(key)
    except ValueError:
        log.info("asked", key=key, holder=Holder("openai", key), exc_info=True)
    logging.getLogger("roost.test").warning("asked with %s", key)
    assert json.loads(out.getvalue())["key"] == "Key(…)"
    assert "nightjar" not in out.getvalue()


def test_exception_and_its_traceback_show_nothing_of_a_key() -> None:
    try:
        raise RuntimeError("failed", Key(SECRET), Holder("openai", Key(SECRET)))
    except RuntimeError as error:
        captured = traceback.TracebackException.from_exception(error, capture_locals=True)
        assert "nightjar" not in "".join(captured.format())


@pytest.mark.parametrize("text", ["", "  ", "ключ-nightjar", "nightjar\r\nx-evil: 1", "nightjar\0"])
def test_text_that_can_not_stand_in_a_header_is_no_key(text: str) -> None:
    with pytest.raises(ValueError, match="printable") as caught:
        Key(text)
    assert "nightjar" not in str(caught.value)


def test_equal_keys_are_equal() -> None:
    assert Key(SECRET) == Key(SECRET)
    assert hash(Key(SECRET)) == hash(Key(SECRET))
    assert Key(SECRET) != Key(SECRET + "2")
    assert Key(SECRET) != SECRET


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://roost:nightjar@db.example/roost", "roost on db.example"),
        ("postgres://roost:nightjar@db.example:6432/roost", "roost on db.example:6432"),
        ("postgresql://roost:nightjar@h1:5432,h2:5433/roost", "roost on h1:5432, h2:5433"),
        ("postgresql://roost:nightjar%2F%23@[::1]:5432/roost", "roost on [::1]:5432"),
        ("postgresql://%2Frun%2Fdb/roost", "roost on /run/db"),
        ("postgresql://roost@/roost?host=/run/db&password=nightjar", "roost on this machine"),
        ("postgresql://", "postgres on this machine"),
    ],
)
def test_address_of_a_store_is_shown_without_its_password(url: str, shown: str) -> None:
    address = StoreAddress(url)
    assert (str(address), repr(address)) == (shown, f"StoreAddress({shown})")
    assert address.reveal() == url


@pytest.mark.parametrize(
    "url",
    [
        "mysql://roost:nightjar@db.example/roost",
        "postgresql://roost:night/jar@db.example/roost",
        "postgresql://roost:12/nightjar@db.example/roost",
        "postgresql://roost:night#jar@db.example/roost",
        "postgresql://roost:12#@db.example/roost",
        "postgresql://roost:night?jar@db.example/roost",
        "postgresql://roost:night@jar@db.example/roost",
        "postgresql://roost:x@night?jar@db.example/roost",
        "postgresql://roost:night[jar@db.example/roost",
        "postgresql://roost:night\u2100jar@db.example/roost",
        "postgresql://roost:nightjar@db.example:port/roost",
        "postgresql://roost:nightjar@h1:5432,h2:port/roost",
    ],
)
def test_address_whose_password_can_not_be_told_apart_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="%2F") as caught:
        StoreAddress(url)
    said = "".join(traceback.format_exception(caught.value))
    assert "night" not in said
    assert "jar" not in said
