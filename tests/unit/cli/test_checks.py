"""What `roost doctor` makes of what it finds."""

from datetime import datetime
from pathlib import Path

from roost.cli import checks
from roost.core.config import ChannelConfig, Config, MemoryConfig
from roost.core.keys import Key
from roost.core.settings import ScopeName
from roost.http.server import bind
from roost.store.cipher import VARIABLE, load_key
from roost.store.folder import DATABASE, KEY, Owner
from tests import ports

OWNER = Owner(
    pid=42,
    host="nest",
    version="0.1.0",
    started_at=1_700_000_000_000,
    address="http://127.0.0.1:7667",
)


def test_holder_is_named() -> None:
    assert checks.held_by(None).found == "nobody"
    started = f"{datetime.fromtimestamp(1_700_000_000).astimezone():%Y-%m-%d %H:%M:%S}"
    assert checks.held_by(OWNER).found == (
        f"process 42 on nest, started {started}, at http://127.0.0.1:7667"
    )


def test_free_port_is_good() -> None:
    with ports.held() as holder:
        assert checks.port("127.0.0.1", ports.number(holder), None).state == "good"


def test_port_of_another_program_is_bad() -> None:
    with bind("127.0.0.1", 0) as listener:
        number = listener.getsockname()[1]
        finding = checks.port("127.0.0.1", number, OWNER)
    assert finding.state == "bad"
    assert finding.found == f"{number} on 127.0.0.1 is taken by another program"
    assert finding.advice == "Choose another: `roost run --port NUMBER`."


def test_port_of_our_own_server_is_good() -> None:
    with bind("127.0.0.1", 0) as listener:
        number = listener.getsockname()[1]
        owner = Owner(
            pid=42, host="nest", version="1", started_at=0, address=f"http://127.0.0.1:{number}"
        )
        finding = checks.port("127.0.0.1", number, owner)
    assert (finding.state, finding.found) == ("good", f"{number}, held by process 42")


def test_unusable_address_is_bad() -> None:
    finding = checks.port("192.0.2.1", 7667, None)
    assert finding.state == "bad"
    assert finding.found == "7667 on 192.0.2.1 can't be used: cannot assign requested address"


def test_secret_key_that_can_not_be_used_is_bad(tmp_path: Path) -> None:
    assert checks.secret_key(tmp_path, {}).state == "good"
    load_key(tmp_path, {})
    assert checks.secret_key(tmp_path, {}).found == KEY
    (tmp_path / KEY).write_text("spilled\n")
    (tmp_path / KEY).chmod(0o644)
    assert checks.secret_key(tmp_path, {}).state == "bad"
    assert (tmp_path / KEY).stat().st_mode & 0o777 == 0o644
    assert checks.secret_key(tmp_path, {VARIABLE: "short"}).state == "bad"
    assert checks.secret_key(tmp_path, {VARIABLE: "a" * 43 + "="}).found == VARIABLE


def test_secret_key_that_is_lost_is_missed_and_not_made_anew(tmp_path: Path) -> None:
    (tmp_path / DATABASE).touch()
    finding = checks.secret_key(tmp_path, {})
    assert finding.state == "warn"
    assert finding.found == f"{KEY} is missing"
    assert not (tmp_path / KEY).exists()


async def test_model_whose_provider_is_away_is_said(tmp_path: Path) -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    finding = await checks.model(Config(data=tmp_path), {}, environ)
    assert finding.state == "warn"
    assert "anthropic can't be reached" in finding.found


async def test_without_a_key_the_built_in_model_is_named(tmp_path: Path) -> None:
    finding = await checks.model(Config(data=tmp_path), {}, {})
    assert (finding.state, finding.found.split(",")[0]) == ("good", "local/smollm2-135m-instruct")


async def memory_found(folder: Path, name: str, **options: str) -> checks.Finding:
    given = {option: Key(value) for option, value in options.items()}
    memory = MemoryConfig(provider=ScopeName(name), options=given)
    return await checks.memory(Config(data=folder, memory=memory))


async def test_memory_that_a_start_would_refuse_is_bad(tmp_path: Path) -> None:
    unknown = await memory_found(tmp_path, "nope")
    assert unknown.state == "bad"
    assert unknown.found == (
        "There is no memory nope (memory.provider). There are builtin, openviking."
    )
    for name, options in (
        ("builtin", {"half_life": "soon"}),
        ("builtin", {"embeddings": "/nowhere"}),
        ("openviking", {}),
    ):
        assert (await memory_found(tmp_path, name, **options)).state == "bad"


async def test_memory_that_can_be_used_is_named(tmp_path: Path) -> None:
    for name, options in (
        ("builtin", {"half_life": "90d"}),
        ("none", {}),
        ("openviking", {"base_url": "http://127.0.0.1:9"}),
    ):
        finding = await memory_found(tmp_path, name, **options)
        assert (finding.state, finding.found) == ("good", name)
    assert list(tmp_path.iterdir()) == []


async def test_channel_that_a_start_leaves_off_is_a_warning() -> None:
    finding = await checks.channel_found("telegram", ChannelConfig())
    assert finding.state == "warn"
    assert "token" in finding.found
    assert finding.advice == "Set it up anew: `roost channels set`."
