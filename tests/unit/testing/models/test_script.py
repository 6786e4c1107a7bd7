"""A script as JSON says the same as one in Python."""

import msgspec
import pytest

from roost.testing.models import (
    Reply,
    call,
    cut,
    echo,
    fail,
    finish,
    nothing,
    pause,
    raw,
    refuse,
    say,
    stall,
    think,
    use,
)
from roost.testing.models.script import Script, as_reply, decode_script, tokens

EVERYTHING = [
    say("hi", size=3, pace=0.5),
    think("hm", "seal", redacted=True),
    call("f", {"a": [1, {"b": None}]}, id="c1"),
    call("f", "not json"),
    refuse("no", filtered=True),
    fail(429, "slow down", retry_after=2),
    fail("no_credit", in_stream=True),
    pause(0.1),
    stall(),
    cut(),
    finish("length"),
    use(input_tokens=5),
    nothing(),
    echo(whole=True),
    raw(b"\x00", status=502),
    (say("a") + call("b")).quirky("crlf", "no_done").split(1, 2, seed=3),
]


def test_every_reply_survives_being_json() -> None:
    written = msgspec.json.encode(Script(tuple(EVERYTHING)))
    assert [as_reply(item) for item in decode_script(written).replies] == EVERYTHING


def test_reply_is_a_piece_or_a_list_of_pieces_or_itself() -> None:
    script = decode_script(
        """{
          "replies": [
            {"kind": "say", "text": "one"},
            [{"kind": "think", "text": "hm"}, {"kind": "call", "name": "f", "arguments": {"a": 1}}],
            {"kind": "reply", "pieces": [{"kind": "fail", "what": 503}], "quirks": ["crlf"]}
          ],
          "otherwise": {"kind": "echo"},
          "model": "m"
        }"""
    )
    assert [as_reply(item) for item in script.replies] == [
        say("one"),
        think("hm") + call("f", {"a": 1}),
        fail(503).quirky("crlf"),
    ]
    assert script.otherwise is not None
    assert as_reply(script.otherwise) == echo()


@pytest.mark.parametrize(
    "wrong",
    ['{"replys": []}', '{"replies": [{"kind": "sing"}]}', '{"replies": [{"kind": "say"}]}'],
)
def test_script_with_a_mistake_is_refused(wrong: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_script(wrong)


@pytest.mark.parametrize("size", [None, 0, 1, 3, 100])
@pytest.mark.parametrize("text", ["", " ", "one", " one  two\n", "\n\na b\tc "])
def test_tokens_are_the_text(text: str, size: int | None) -> None:
    assert "".join(tokens(text, size)) == text


def test_replies_add_up_with_their_quirks() -> None:
    both = say("a").quirky("crlf").split(4) + say("b").quirky("no_done")
    assert both == Reply(
        (*say("a").pieces, *say("b").pieces), frozenset({"crlf", "no_done"}), sizes=(4,)
    )
