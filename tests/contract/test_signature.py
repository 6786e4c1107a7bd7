"""The configuration signature: tells configurations apart, and tells nobody a credential."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, fields, replace

from roost.core.ids import SessionId
from roost.core.signature import AgentConfig, signature
from roost.core.turns import TurnOptions
from roost.store.sessions import Prompt
from roost.store.sqlite.store import open_store
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, new_turn

KEY = b"k" * 32
CONFIG = AgentConfig(
    provider="openai",
    model="large",
    protocol="chat",
    base_url="https://api.example/v1",
    toolset="code",
    instructions="Be brief.",
)
CREDENTIAL = "sk-" + "a" * 200


@pytest.mark.contract("A2")
@pytest.mark.parametrize("field", [field.name for field in fields(AgentConfig)])
def test_signature_differs_with_every_field(field: str) -> None:
    other = replace(CONFIG, **{field: "other"})
    assert signature(other, CREDENTIAL, key=KEY) != signature(CONFIG, CREDENTIAL, key=KEY)


@pytest.mark.contract("A2")
def test_configuration_has_all_that_a_signature_must_tell_apart() -> None:
    told = {"model", "provider", "base_url", "protocol", "toolset", "instructions"}
    assert {field.name for field in fields(AgentConfig)} == told


@pytest.mark.contract("A2")
@given(st.text(), st.text())
def test_signature_differs_with_any_part_of_the_credential(one: str, two: str) -> None:
    equal = signature(CONFIG, one, key=KEY) == signature(CONFIG, two, key=KEY)
    assert equal == (one == two)


@pytest.mark.contract("A2")
def test_credentials_that_share_a_long_prefix_differ() -> None:
    assert signature(CONFIG, CREDENTIAL, key=KEY) != signature(CONFIG, CREDENTIAL + "b", key=KEY)


@pytest.mark.contract("A2")
@given(st.lists(st.text(), min_size=6, max_size=6), st.lists(st.text(), min_size=6, max_size=6))
def test_moving_words_between_fields_is_another_configuration(
    one: list[str], two: list[str]
) -> None:
    names = [field.name for field in fields(AgentConfig)]
    first, second = (AgentConfig(**dict(zip(names, each, strict=True))) for each in (one, two))
    equal = signature(first, "", key=KEY) == signature(second, "", key=KEY)
    assert equal == (one == two)


@pytest.mark.contract("A2")
def test_equal_configurations_have_equal_signatures_in_another_process() -> None:
    program = (
        "from roost.core.signature import AgentConfig, signature\n"
        f"print(signature(AgentConfig(**{asdict(CONFIG)!r}), {CREDENTIAL!r}, key={KEY!r}))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=30
    )
    assert elsewhere.stdout.strip() == signature(CONFIG, CREDENTIAL, key=KEY)


@pytest.mark.contract("A2")
async def test_key_is_the_same_after_a_restart_and_another_in_another_store(
    tmp_path: Path, clock: FakeClock
) -> None:
    keys: list[bytes] = []
    for folder in ("one", "one", "two"):
        store = open_store(tmp_path / folder, clock=clock, version="test")
        keys.append(store.signing_key)
        await store.close()
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.contract("A2")
def test_signature_tells_nothing_of_a_credential_without_the_key() -> None:
    made = signature(CONFIG, "1234", key=KEY)
    guesses = {signature(CONFIG, "1234", key=bytes([byte]) * 32) for byte in range(64)}
    assert made not in guesses
    assert "1234" not in signature(CONFIG, "1234" * 10, key=KEY)
    assert len(made) == len(signature(CONFIG, CREDENTIAL, key=KEY)), "not even its length"


@pytest.mark.contract("A3")
async def test_effort_changes_per_turn_under_one_signature_and_prompt(
    ada: Driver, session: SessionId
) -> None:
    signed = signature(CONFIG, CREDENTIAL, key=ada.store.signing_key)
    prompt = Prompt(signed, "Be brief.", "[]")
    lease = await ada.claim(session)
    await ada.sessions.configure(session, lease.token, CONFIG, prompt)
    await ada.store.leases.release(lease)
    for effort in ("low", "high"):
        new = replace(new_turn(), options=TurnOptions(effort=effort))
        turn = await ada.queue.submit(session, new)
        assert turn.options.effort == effort
        await ada.end(await ada.start(turn.id, await ada.claim(session)), "Yes")
        found = await ada.sessions.get(session)
        assert (found.config, found.signature) == (CONFIG, signed)
        assert await ada.sessions.prompt(session) == prompt
