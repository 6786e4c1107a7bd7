"""The one way in without signing in: what platforms call, and what is known of channels."""

import json
import time
from collections.abc import Mapping

import pytest

from roost.channels.webhook.wire import signature
from roost.core.outbound import Told, encode_outbound
from roost.core.turns import OutboxEntry
from tests.engine import eventually
from tests.security.house import Answer, House

HIDDEN = "a-hook-secret-that-nobody-reads"
GIVEN = {"conversation": "demo", "sender": {"id": "eve"}, "text": "Let me in"}


@pytest.fixture(autouse=True)
def desk(house: House) -> None:
    """A channel of programs, which is running."""
    body = {"kind": "webhook", "options": {"secret": HIDDEN}}
    assert house.ask("PUT", "/api/channels/desk", body, token=house.owner.token).status == 200
    board = house.roost.app.parts.switchboard

    async def is_up() -> bool:
        return board.status("desk").condition == "connected"

    house.run(eventually(is_up))


def _post(
    house: House,
    given: object,
    *,
    name: str = "desk",
    secret: str = HIDDEN,
    at: float = 0.0,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    body = json.dumps(given).encode()
    when = str(int(time.time() + at))
    signed = {"X-Roost-Timestamp": when, "X-Roost-Signature": signature(secret, when, body)}
    sent = [*signed.items(), *(headers or {}).items()]
    return house.ask("POST", f"/hooks/{name}", data=body, headers=sent)


def test_unknown_channel_and_wrong_signature_look_the_same(house: House) -> None:
    wrong = _post(house, GIVEN, secret="not the secret at all")  # noqa: S106
    unknown = _post(house, GIVEN, name="nothing")
    old = _post(house, {"id": "old", **GIVEN}, at=-301)
    assert {(each.status, each.body) for each in (wrong, unknown, old)} == {(401, wrong.body)}


def test_message_is_taken_once_however_often_it_is_replayed(house: House) -> None:
    given = {"id": "once", **GIVEN, "sender": {"id": "mallory"}, "conversation": "alone"}
    for _ in range(3):
        assert _post(house, given).status == 202
    when, query = str(int(time.time())), "cursor=&wait=20"
    mark = signature(HIDDEN, when, query.encode())
    signed = [("X-Roost-Timestamp", when), ("X-Roost-Signature", mark)]
    page = house.ask("GET", f"/hooks/desk?{query}", headers=signed).json
    told = [each["text"] for each in page["messages"] if each["conversation"] == "alone"]
    assert ["pairing code" in text for text in told] == [True]
    assert house.ask("GET", "/hooks/desk?cursor=&wait=0", headers=signed).status == 401


@pytest.mark.parametrize(
    "given",
    [
        {"id": "x" * 5000, **GIVEN},
        {"id": "a", **GIVEN, "sender": {"id": "eve:dm:42"}},
        {"id": "a", **GIVEN, "conversation": "demo:user:1"},
        {"id": "a", **GIVEN, "conversation": "../other"},
        {"id": "a", **GIVEN, "edits": "e" * 5000},
        {"id": "a", **GIVEN, "press": "p" * 5000},
        {"id": "a", **GIVEN, "message": "two words"},
        {"id": "a", **GIVEN, "callback": "http://169.254.169.254/"},
        {"id": "a", **GIVEN, "files": [{"name": "x", "media_type": "x", "data": "%%%"}]},
        [],
        "text",
        None,
    ],
)
def test_signed_nonsense_is_refused_in_words(house: House, given: object) -> None:
    answer = _post(house, given)
    assert answer.status == 400
    assert answer.json["detail"]


def test_text_is_no_longer_than_anywhere_else(house: House) -> None:
    assert _post(house, {"id": "long", **GIVEN, "text": "x" * 500_001}).status == 413


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Cookie": "roost=x"}],
)
def test_a_page_elsewhere_gains_nothing_and_spoils_nothing(
    house: House, headers: dict[str, str]
) -> None:
    """A signature is all that counts: no cookie is looked at, and no answer can be read by it."""
    taken = _post(house, {"id": f"page-{len(str(headers))}", **GIVEN}, headers=headers)
    assert taken.status == 202
    assert "access-control-allow-origin" not in taken.headers


@pytest.mark.parametrize(
    "path",
    [
        "/hooks",
        "/hooks/",
        "/hooks/desk/",
        "/hooks/desk/../../api/channels",
        "/hooks/%2e%2e/api/channels",
        "/hooks/desk%2f..%2f..%2fapi%2fchannels",
    ],
)
def test_nothing_else_is_behind_hooks(house: House, path: str) -> None:
    answer = house.ask("GET", path)
    assert answer.status in (401, 404)
    assert b"condition" not in answer.body


def test_secret_of_a_channel_never_comes_out(house: House) -> None:
    for path in ("/api/channels", "/api/pairings", "/api/settings", "/metrics", "/api/undelivered"):
        assert HIDDEN not in house.ask("GET", path, token=house.owner.token).text
    wrong = {"kind": "webhook", "options": {"secret": HIDDEN, "callback": f"ftp://{HIDDEN}"}}
    answer = house.ask("PUT", "/api/channels/broken", wrong, token=house.owner.token)
    assert HIDDEN not in answer.text
    assert HIDDEN not in house.ask("GET", "/api/channels", token=house.owner.token).text


@pytest.mark.parametrize("name", ["Desk", "a:b", "a b", "x" * 33, "-a", "..", "%00"])
def test_channels_have_plain_names(house: House, name: str) -> None:
    body = {"kind": "webhook", "options": {"secret": HIDDEN}}
    path = f"/api/channels/{name.replace(' ', '%20')}"
    answer = house.ask("PUT", path, body, token=house.owner.token)
    assert answer.status in (400, 404, 422)


def test_token_that_may_only_read_sees_nobody_elses_messages(house: House) -> None:
    """Though it is an admin's."""
    told = OutboxEntry("out_bobs", "desk:dm:bob", encode_outbound(Told("For Bob alone")))
    outbox = house.roost.app.parts.store.outbox
    house.run(outbox.put(house.bob.id, (told,)))
    house.run(outbox.failed("out_bobs", "it is gone"))
    seen = [
        "For Bob alone" in house.ask("GET", "/api/undelivered", token=token).text
        for token in (house.owner.reader, house.bob.reader, house.owner.token)
    ]
    assert seen == [False, True, True]
    for token in (house.owner.talker, house.bob.reader):
        assert house.ask("DELETE", "/api/undelivered/out_bobs", token=token).status in (403, 404)
    assert house.ask("DELETE", "/api/undelivered/out_bobs", token=house.bob.talker).status == 204


def test_schedule_goes_only_where_its_user_has_talked(house: House) -> None:
    when = {"kind": "every", "spec": "1h"}
    for route in ("desk:dm:owner", "telegram:dm:42", "web", "nowhere"):
        body = {"name": "Spam", "when": when, "text": "Hello", "route": route}
        answer = house.ask("POST", "/api/schedules", body, token=house.bob.talker)
        assert answer.status == 404
