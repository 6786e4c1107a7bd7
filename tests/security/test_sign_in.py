"""Getting in as someone else: planted cookies, links, tokens in odd places, and what is gone."""

import pytest

from tests.security.house import House

ME = "/api/me"
PLANTED = "P" * 43


def signed_in(house: House, **more: str) -> tuple[int, str]:
    """The status of a sign-in by a link, and the cookie it sets."""
    link = house.run(house.roost.identities.link(house.owner.id))
    answer = house.ask(
        "POST",
        "/api/sign-in",
        {"secret": link.reveal()},
        headers=[(name.replace("_", "-"), value) for name, value in more.items()],
    )
    cookie = answer.headers.get("set-cookie", "").partition(";")[0].removeprefix("roost=")
    return answer.status, cookie


def who(house: House, cookie: str) -> int:
    return house.ask("GET", ME, cookie=cookie).status


def test_planted_cookie_is_not_the_one_that_is_signed_in(house: House) -> None:
    status, cookie = signed_in(house, Cookie=f"roost={PLANTED}")
    assert status == 204
    assert cookie != PLANTED
    assert (who(house, cookie), who(house, PLANTED)) == (200, 401)


def test_cookie_of_another_is_replaced_and_stays_theirs(house: House) -> None:
    _, cookie = signed_in(house, Cookie=f"roost={house.bob.cookie}")
    assert cookie not in ("", house.bob.cookie)
    answer = house.ask("GET", ME, cookie=house.bob.cookie)
    assert answer.json["user"]["id"] == house.bob.id


def test_every_sign_in_has_a_cookie_of_its_own(house: House) -> None:
    assert len({signed_in(house)[1] for _ in range(3)}) == 3


def test_sign_out_ends_the_cookie_and_no_other(house: House) -> None:
    first, second = signed_in(house)[1], signed_in(house)[1]
    headers = [("Origin", house.origin)]
    out = house.ask("POST", "/api/sign-out", {}, cookie=first, headers=headers)
    assert out.status == 204
    assert out.headers["clear-site-data"] == '"cache"', "files may be kept there"
    assert (who(house, first), who(house, second)) == (401, 200)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
    ids=str,
)
def test_other_page_can_not_sign_anyone_in(house: House, headers: dict[str, str]) -> None:
    assert signed_in(house, **headers) == (403, "")


def test_link_opens_once(house: House) -> None:
    link = house.run(house.roost.identities.link(house.owner.id)).reveal()
    answers = [house.ask("POST", "/api/sign-in", {"secret": link}).status for _ in range(3)]
    assert answers == [204, 403, 403]


@pytest.mark.parametrize(
    "body",
    [
        {"secret": ""},
        {"secret": "A" * 43},
        {"secret": None},
        {"name": "owner", "password": ""},
        {"name": "owner' OR '1'='1", "password": "x"},
        {"name": "owner", "password": "x\0"},
        {"name": "no such user", "password": "x"},
        {"secret": ["x"]},
        {"secret": {"$ne": ""}},
        {"name": "owner", "password": True},
    ],
    ids=str,
)
def test_guess_opens_nothing(house: House, body: dict[str, object]) -> None:
    answer = house.ask("POST", "/api/sign-in", body)
    assert answer.status in (400, 403, 429)
    assert "set-cookie" not in answer.headers


def test_unknown_name_and_wrong_password_are_told_apart_by_nothing(house: House) -> None:
    answers = [
        house.ask("POST", "/api/sign-in", {"name": name, "password": "wrong password"})
        for name in ("Bob", "Nobody at all")
    ]
    assert answers[0].status == answers[1].status
    assert answers[0].body == answers[1].body


@pytest.mark.parametrize(
    "target",
    ["/api/me?token={token}", "/api/me?access_token={token}", "/api/me?key={token}"],
)
def test_token_in_an_address_opens_nothing(house: House, target: str) -> None:
    answer = house.ask("GET", target.format(token=house.owner.token))
    assert answer.status in (400, 401)
    assert house.owner.token not in answer.text


@pytest.mark.parametrize(
    "header",
    [
        ("Authorization", "Basic {token}"),
        ("Authorization", "{token}"),
        ("Authorization", "Bearer"),
        ("Authorization", "Bearer  "),
        ("Authorization", "Bearer {token}x"),
        ("Authorization", "Bearer {upper}"),
        ("X-Api-Key", "{token}"),
        ("Proxy-Authorization", "Bearer {token}"),
        ("Cookie", "__Host-roost={cookie}"),
        ("Cookie", "Roost={cookie}"),
        ("Cookie", "xroost={cookie}"),
        ("Cookie", "x=roost={cookie}"),
    ],
    ids=lambda header: f"{header[0]} {header[1]}",
)
def test_credential_in_an_odd_place_opens_nothing(house: House, header: tuple[str, str]) -> None:
    name, value = header
    token, cookie = house.owner.token, house.owner.cookie
    filled = value.format(token=token, upper=token.upper(), cookie=cookie)
    assert house.ask("GET", ME, headers=[(name, filled)]).status == 401


def test_what_was_revoked_or_disabled_opens_nothing(house: House) -> None:
    user = house.run(house.user("Mallory", "admin"))
    person = house.run(house.person(user))
    assert house.ask("GET", ME, token=person.token).status == 200
    (first, *_) = house.ask("GET", "/api/tokens", token=person.token).json["tokens"]
    assert house.ask("DELETE", f"/api/tokens/{first['id']}", token=person.token).status == 204
    tokens = (person.token, person.talker, person.reader)
    assert sorted(house.ask("GET", ME, token=token).status for token in tokens) == [200, 200, 401]
    change = {"disabled": True}
    path = f"/api/users/{user}"
    assert house.ask("PATCH", path, change, token=house.owner.token).status == 200
    assert [house.ask("GET", ME, token=token).status for token in tokens] == [401, 401, 401]
    assert house.ask("GET", ME, cookie=person.cookie).status == 401


def test_token_makes_none_that_may_do_more(house: House) -> None:
    chat = house.ask(
        "POST", "/api/tokens", {"name": "chat", "scopes": ["chat"]}, token=house.owner.token
    ).json["secret"]
    for scopes in (["admin"], ["chat", "admin"], ["root"], []):
        answer = house.ask("POST", "/api/tokens", {"name": "x", "scopes": scopes}, token=chat)
        assert answer.status in (400, 403)


def test_cookie_is_for_this_host_and_no_script(house: House) -> None:
    link = house.run(house.roost.identities.link(house.owner.id)).reveal()
    answer = house.ask("POST", "/api/sign-in", {"secret": link})
    flags = {flag.strip().lower() for flag in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "path=/", "samesite=strict"} <= flags
    assert not any(flag.startswith("domain") for flag in flags)
    assert answer.headers.get("cache-control", "no-store") == "no-store"
