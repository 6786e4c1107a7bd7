"""Named statements: read from files, each with a name of its own and the parameters it is given."""

import re
from importlib import resources
from pathlib import Path

import pytest

import roost.store
from roost.store.statements import load, parse

SOURCE = Path(roost.store.__file__ or "").parent


def test_statements_are_cut_at_their_names() -> None:
    found = parse(
        "-- A file.\n"
        "-- name: one\n"
        "SELECT :a, :b_c; -- not :d\n"
        "\n"
        "-- name: two\n"
        "SELECT json_extract(x, '$.y') ->> 0, x::text;\n"
    )
    assert {name: sorted(each.parameters) for name, each in found.items()} == {
        "one": ["a", "b_c"],
        "two": [],
    }
    assert found["one"].sql.startswith("SELECT")


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="one"):
        parse("-- name: one\nSELECT 1;\n-- name: one\nSELECT 2;\n")


def test_every_statement_is_used_and_every_use_is_a_statement() -> None:
    files = [
        path for path in SOURCE.rglob("*.py") if "postgres" not in path.relative_to(SOURCE).parts
    ]
    code = "\n".join(path.read_text() for path in files)
    named = set(load("sqlite"))
    quoted = set(re.findall(r'"([a-z]+(?:_[a-z]+)*)"', code))
    assert named - quoted == set()
    asked = set(re.findall(r'query\(\s*"(\w+)"', code))
    assert asked - named == set()


def test_statements_ship_with_the_package() -> None:
    folder = resources.files("roost.store") / "sql" / "sqlite"
    assert any(item.name.endswith(".sql") for item in folder.iterdir())


def test_what_both_databases_understand_is_written_once() -> None:
    sqlite, postgres = load("sqlite"), load("postgres")
    shared = parse(_text("both")).keys()
    twice = [
        name
        for name in (sqlite.keys() & postgres.keys()) - shared
        if sqlite[name].sql.split() == postgres[name].sql.split()
    ]
    assert twice == []


def _text(folder: str) -> str:
    found = resources.files("roost.store") / "sql" / folder
    return "\n".join([item.read_text() for item in found.iterdir() if item.is_file()])
