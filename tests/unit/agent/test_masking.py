"""Secrets do not pass, whole or in pieces."""

from hypothesis import given
from hypothesis import strategies as st

from roost.agent.masking import HIDDEN, Mask
from roost.tools.base import ToolOutput

SECRETS = ["sk-live-0123456789", "sk-live-0123456789-longer", "aaaaaaaaab"]


def test_result_is_masked_and_short_secrets_are_words() -> None:
    mask = Mask([*SECRETS, "short"])
    masked = mask.output(ToolOutput.of("short key sk-live-0123456789-longer!"))
    assert masked == ToolOutput.of(f"short key {HIDDEN}!")


@given(st.data())
def test_stream_shows_all_but_the_secrets_however_it_is_cut(data: st.DataObject) -> None:
    pieces = st.sampled_from([*SECRETS, *[s[:-1] for s in SECRETS], "a", "sk-", "text ", "\n"])
    text = "".join(data.draw(st.lists(pieces, max_size=8)))
    shown: list[str] = []
    stream = Mask(SECRETS).stream(shown.append)
    rest = text
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        stream.write(rest[:size])
        rest = rest[size:]
    stream.flush()
    whole = "".join(shown)
    assert not any(secret in whole for secret in SECRETS)
    if not any(secret in text for secret in SECRETS):
        assert whole == text


def test_stream_holds_back_no_more_than_it_must() -> None:
    shown: list[str] = []
    stream = Mask(SECRETS).stream(shown.append)
    stream.write("working: sk-li")
    assert shown == ["working: "]
    stream.write("ne")
    assert "".join(shown) == "working: sk-line"


def test_secret_that_is_learned_later_is_hidden_too_and_the_older_one_still() -> None:
    mask = Mask(["older-secret"])
    mask.learn(["newer-secret", "short"])
    assert mask.text("older-secret, newer-secret, short") == "[secret], [secret], short"
