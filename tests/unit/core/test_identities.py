"""Secrets, tokens and what their bearers may do."""

import pytest

from roost.core.errors import InvalidInput, NotAllowed
from roost.core.identities import (
    SCOPES,
    TOKEN,
    NewApiToken,
    Principal,
    Scope,
    SignedIn,
    clean_scopes,
    could_be_secret,
    could_be_token,
    hash_of,
    known_scopes,
    new_secret,
    new_token,
    token_id,
)
from roost.core.identities import ApiToken as Token
from roost.core.ids import ApiTokenId, SignInId, UserId
from roost.core.users import User, UserRole


def principal(role: UserRole, *scopes: Scope) -> Principal:
    user = User(id=UserId("usr_1"), name="Ada", role=role)
    return Principal(user=user, scopes=frozenset(scopes), via="token", id=ApiTokenId("tok_1"))


@pytest.mark.parametrize(
    ("role", "scopes", "may"),
    [
        ("admin", "read chat admin", "read chat admin metrics"),
        ("member", "read chat admin metrics", "read chat"),
        ("admin", "read", "read"),
        ("admin", "chat", "read chat"),
        ("admin", "admin", "admin metrics"),
        ("admin", "metrics", "metrics"),
        ("member", "admin", ""),
        ("admin", "", ""),
    ],
)
def test_what_a_bearer_may(role: UserRole, scopes: str, may: str) -> None:
    bearer = principal(role, *known_scopes(scopes.split()))
    assert [scope for scope in SCOPES if bearer.may(scope)] == may.split()
    for scope in SCOPES:
        if scope in may.split():
            bearer.need(scope)
        else:
            with pytest.raises(NotAllowed, match=scope):
                bearer.need(scope)


def test_secrets_are_long_and_never_the_same() -> None:
    found = {new_secret().reveal() for _ in range(100)}
    assert len(found) == 100
    assert all(could_be_secret(secret) and not could_be_token(secret) for secret in found)
    assert len({hash_of(secret) for secret in found}) == 100


def test_token_can_be_recognised_and_names_itself() -> None:
    id, secret = new_token()
    text = secret.reveal()
    assert could_be_token(text)
    assert not could_be_secret(text)
    assert TOKEN.search(f'{{"authorization": "Bearer {text}"}}')
    assert token_id(text) == token_id(id) == id


@pytest.mark.parametrize(
    "text", ["", "a" * 42, "a" * 44, "a" * 43 + "\n", "é" * 43, "a b" + "a" * 40, "roost_a_b"]
)
def test_what_is_no_secret_is_told_by_its_shape(text: str) -> None:
    assert not could_be_secret(text)
    assert not could_be_token(text)


def test_nothing_shows_a_secret() -> None:
    user = User(id=UserId("usr_1"), name="Ada", role="member")
    cookie, (id, text) = new_secret(), new_token()
    signed_in = SignedIn(id=SignInId("sgn_1"), user=user, secret=cookie)
    token = Token(id=id, user=user.id, name="laptop", scopes=frozenset(["read"]), created_at=1)
    made = NewApiToken(token=token, secret=text)
    shown = f"{signed_in} {signed_in!r} {made} {made!r}"
    assert cookie.reveal() not in shown
    assert text.reveal().split("_")[2] not in shown


def test_scopes_are_those_that_are_known() -> None:
    assert clean_scopes(["chat", "read", "chat"]) == {"chat", "read"}
    for wrong in ([], ["chat", "everything"], ["Chat"]):
        with pytest.raises(InvalidInput):
            clean_scopes(wrong)
    assert known_scopes(["all", "read", "later"]) == {"read"}
