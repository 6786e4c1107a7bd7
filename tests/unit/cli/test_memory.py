"""`roost memory`: everything that is remembered can be seen, corrected and taken back."""

import asyncio
import io
from pathlib import Path

import pytest
from rich.console import Console

from roost.cli.app import invoke
from roost.cli.memory import (
    dropping,
    editing,
    forgetting,
    listing,
    reporting,
    retrying,
    showing,
)
from roost.cli.reach import Work, reached
from roost.core.clock import SystemClock
from roost.core.config import Config
from roost.core.errors import InvalidInput, NotFound
from roost.core.facts import Learned, NewFact
from roost.core.ids import FactId, new_user_id
from roost.core.turns import TurnEnd
from roost.core.users import User
from roost.memory.base import Scope
from roost.runtime.people import OWNER
from roost.testing.models import ModelServer
from tests.engine import config_for
from tests.store_driver import Driver, opened

SAILS, ROWS = FactId("fct_sails"), FactId("fct_rows")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(data=tmp_path / "data")


@pytest.fixture
def kept(config: Config) -> Config:
    """Two facts that can't both be true."""
    asyncio.run(_keep(config.data))
    return config


async def _keep(folder: Path) -> None:
    async with opened(folder, SystemClock()) as store:
        owner = await store.users.create(User(id=new_user_id(), name=OWNER, role="admin"))
        facts = store.of(owner.id).facts
        about = ("Bob", "boats")
        learned = Learned(
            additions=(
                NewFact(id=SAILS, text="Bob\x1b sails.", entities=about, attribute="sport"),
                NewFact(id=ROWS, text="Bob rows.", entities=("Bob",), attribute="sport"),
            )
        )
        scope = Scope("builtin", "default", owner.id)
        await facts.apply(str(scope), "key", learned)


def said(config: Config, work: Work, *, terminal: bool = False) -> str:
    text = io.StringIO()
    console = Console(
        file=text, force_terminal=terminal, no_color=True, width=60, soft_wrap=True, markup=False
    )

    async def done() -> None:
        async with reached(config, {}, {}) as roost:
            await work(roost, console)

    asyncio.run(done())
    return text.getvalue()


def test_list_is_a_line_each_for_programs(kept: Config) -> None:
    lines = [line.split("  ") for line in said(kept, listing("", None)).splitlines()]
    assert [(id, trust, text) for id, _, trust, text in lines] == [
        (ROWS, "50%", "Bob rows."),
        (SAILS, "50%", "Bob sails."),
    ]


def test_list_is_a_table_for_people(kept: Config) -> None:
    head, *rows = said(kept, listing("", None), terminal=True).splitlines()
    assert head.split("\x1b[0m")[0].removeprefix("\x1b[1m").split() == ["Memory"]
    assert len(rows) == 2
    assert all(len(row) <= 60 for row in rows)


@pytest.mark.parametrize(
    ("words", "about", "found"),
    [
        ("sails", None, [SAILS]),
        ("bob", None, [SAILS, ROWS]),
        ("the", None, []),
        ("", "BOATS", [SAILS]),
        ("", "nobody", []),
    ],
)
def test_list_by_words_or_by_name(
    kept: Config, words: str, about: str | None, found: list[FactId]
) -> None:
    out = said(kept, listing(words, about))
    assert sorted([id for id in (SAILS, ROWS) if id in out]) == sorted(found)
    assert found or out == "Nothing that is remembered matches.\n"


def test_words_and_name_exclude_one_another(kept: Config) -> None:
    with pytest.raises(InvalidInput):
        said(kept, listing("sails", "Bob"))


def test_show_says_where_it_comes_from(kept: Config) -> None:
    first, *rest = said(kept, showing(SAILS)).splitlines()
    assert first == "Bob sails."
    assert rest[:4] == [
        "  Id       fct_sails",
        "  Kind     fact",
        "  About    Bob, boats (sport)",
        "  Trust    50%",
    ]


def test_what_a_person_writes_is_trusted_in_full(kept: Config) -> None:
    assert said(kept, editing(ROWS, "Bob rows at dawn.")) == "Changed. Before, it said: Bob rows.\n"
    assert "Bob rows at dawn.\n" in (shown := said(kept, showing(ROWS)))
    assert "Trust    100%" in shown
    with pytest.raises(InvalidInput):
        said(kept, editing(ROWS, " "))


def test_forgetting_names_what_is_gone(kept: Config) -> None:
    with pytest.raises(NotFound):
        said(kept, forgetting([SAILS, "fct_unknown"]))
    assert said(kept, forgetting([SAILS])) == "Forgot fct_sails: Bob sails.\n"
    assert said(kept, forgetting([SAILS])) == "fct_sails was forgotten before.\n"
    assert SAILS not in said(kept, listing("", None))
    assert "Its text is gone.\n" in said(kept, showing(SAILS))


def test_status_counts_and_names_contradictions(kept: Config) -> None:
    assert said(kept, reporting()).splitlines() == [
        "Memory    builtin, profile default",
        "Kept      2 memories by Roost itself",
        "Waiting   0 turns that no commit has yet, 0 commits",
        "At odds   Bob, sport",
        "          fct_sails  Bob sails.",
        "          fct_rows  Bob rows.",
    ]


@pytest.fixture
def resting(kept: Config) -> Config:
    """A commit that failed too often, and a deleted session that is not forgotten."""
    asyncio.run(_fail(kept.data))
    return kept


async def _fail(folder: Path) -> None:
    async with opened(folder, SystemClock()) as store:
        (owner,) = await store.users.all()
        driver = Driver(store, owner)
        ended = TurnEnd(state="completed", memory_scope=f"scripted/default/{owner.id}")
        kept, gone = await driver.session(), await driver.session()
        for session in (kept, gone):
            run = await driver.run(session)
            await driver.turns.end(session, run.token, run.turn, ended)
            (segment,) = await store.memory.cut(owner.id, session)
            assert await store.memory.begin(segment.key, after=0)
            assert await store.memory.failed(segment.key, "unreadable", delay=9.0, most=1)
        await driver.sessions.delete(gone)
        (deleted,) = await store.memory.to_forget(gone)
        await store.memory.not_forgotten(deleted, "read-only", delay=9.0)


def test_what_rests_is_shown_and_tried_or_dropped_when_asked(resting: Config) -> None:
    status = said(resting, reporting())
    assert "Resting   1 commit failed too often." in status
    assert "unreadable" in status
    assert "Not yet forgotten  1 deleted session." in status
    assert "read-only" in status
    assert said(resting, retrying()) == "1 commit will be tried when Roost runs again.\n"
    assert "Failing   1 commit." in said(resting, reporting())
    assert said(resting, dropping()).startswith("Nothing rests.")


def test_what_is_dropped_is_named(resting: Config) -> None:
    out = said(resting, dropping())
    assert out.startswith("1 turn of ses_")
    assert out.endswith("will not be remembered.\n")
    assert said(resting, retrying()) == "Nothing has failed.\n"
    assert "Resting" not in said(resting, reporting())


async def test_command_that_only_looks_asks_no_model_about_what_waits(tmp_path: Path) -> None:
    async with ModelServer() as server:
        config = config_for(tmp_path / "data", server)
        async with opened(config.data, SystemClock()) as store:
            owner = await store.users.create(User(id=new_user_id(), name=OWNER, role="admin"))
            driver = Driver(store, owner)
            run = await driver.run(words="I keep parrots.")
            ended = TurnEnd(state="completed", memory_scope=f"builtin/default/{owner.id}")
            await driver.turns.end(run.session, run.token, run.turn, ended)
        async with reached(config, {}, {}) as roost:
            assert (await roost.account.memory.status()).marked == 1
        assert server.requests == []


def test_empty_memory_says_how_it_fills(config: Config) -> None:
    assert said(config, listing("", None)).startswith("Nothing is remembered yet.")
    assert "0 memories" in said(config, reporting())
    with pytest.raises(NotFound):
        said(config, showing(SAILS))


def test_commands(kept: Config, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(kept.data)]
    assert invoke(["memory", "list", "Bob", "sails", *data]) == 0
    assert SAILS in capsys.readouterr().out
    assert invoke(["memory", "show", SAILS, *data]) == 0
    assert invoke(["memory", "edit", SAILS, "Bob sails far.", *data]) == 0
    assert invoke(["memory", "status", *data]) == 0
    assert invoke(["memory", "retry", *data]) == 0
    assert invoke(["memory", "drop", *data]) == 0
    assert invoke(["memory", "forget", SAILS, ROWS, *data]) == 0
    assert invoke(["memory", "forget", *data]) == 2
    assert invoke(["memory", "show", "fct_unknown", *data]) == 1
    assert "There is no memory fct_unknown here." in capsys.readouterr().err
