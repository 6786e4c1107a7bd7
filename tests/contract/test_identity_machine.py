"""Who may come in, against a plain model: whatever is done, secrets open what they should."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from roost.core.errors import Conflict, SignInRefused, TooManyTries
from roost.core.identities import SignedIn
from roost.core.ids import ApiTokenId, SignInId, UserId
from roost.core.keys import Key
from roost.core.users import UserRole
from roost.runtime.identities import LINK, SIGNED_IN
from roost.store.sqlite.store import open_store
from roost.testing.clock import FakeClock
from tests.identities import HOME, identities_of, opens

T = TypeVar("T")

picks = st.integers(0, 30)


@dataclass(eq=False)
class ModelUser:
    id: UserId
    name: str
    role: UserRole
    password: str | None = None
    disabled: bool = False
    links: dict[str, int] = field(default_factory=dict[str, int])
    """Those of use, with their end."""


@dataclass(eq=False)
class ModelSecret:
    user: ModelUser
    id: SignInId | ApiTokenId
    secret: Key
    ends: int | None
    slides: bool
    live: bool = True


class IdentityMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = FakeClock()
        self.users: list[ModelUser] = []
        self.secrets: list[ModelSecret] = []
        self.links: list[tuple[ModelUser, str]] = []
        self.open()

    def open(self) -> None:
        self.store = open_store(self.folder / "data", clock=self.clock, version="test")
        self.identities = identities_of(self.store, self.clock)

    def run(self, work: Coroutine[object, object, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()
        shutil.rmtree(self.folder)

    def user(self, pick: int) -> ModelUser:
        return self.users[pick % len(self.users)]

    def end(self, user: ModelUser, *, tokens: bool) -> None:
        user.links.clear()
        for each in self.secrets:
            if each.user is user and (each.slides or tokens):
                each.live = False

    # Users.

    @initialize()
    def begin(self) -> None:
        owner = self.run(self.identities.people.owner())
        self.users.append(ModelUser(owner.id, owner.name, "admin"))

    @precondition(lambda self: len(self.users) < 4)
    @rule(role=st.sampled_from(["admin", "member"]))
    def add(self, role: UserRole) -> None:
        name = f"user {len(self.users)}"
        made = self.run(self.identities.people.create(name, role=role))
        self.users.append(ModelUser(made.id, name, role))

    def is_last_admin(self, user: ModelUser) -> bool:
        admins = [each for each in self.users if each.role == "admin" and not each.disabled]
        return admins == [user]

    @rule(pick=picks, role=st.sampled_from(["admin", "member"]))
    def set_role(self, pick: int, role: UserRole) -> None:
        user = self.user(pick)
        change = self.identities.people.set_role(user.id, role)
        if role == "member" and self.is_last_admin(user):
            with pytest.raises(Conflict):
                self.run(change)
        else:
            self.run(change)
            user.role = role

    @rule(pick=picks)
    def disable(self, pick: int) -> None:
        user = self.user(pick)
        if self.is_last_admin(user):
            with pytest.raises(Conflict):
                self.run(self.identities.people.disable(user.id))
            return
        self.run(self.identities.people.disable(user.id))
        user.disabled = True
        self.end(user, tokens=True)

    @rule(pick=picks)
    def enable(self, pick: int) -> None:
        user = self.user(pick)
        self.run(self.identities.people.enable(user.id))
        user.disabled = False

    @rule(pick=picks, number=st.integers(0, 2))
    def set_password(self, pick: int, number: int) -> None:
        user = self.user(pick)
        password = f"the password number {number}"
        self.run(self.identities.people.set_password(user.id, password))
        user.password = password
        self.end(user, tokens=False)

    # Coming in.

    @rule(pick=picks)
    def make_link(self, pick: int) -> None:
        user = self.user(pick)
        if user.disabled:
            with pytest.raises(Conflict):
                self.run(self.identities.link(user.id))
            return
        secret = self.run(self.identities.link(user.id)).reveal()
        user.links.clear()
        user.links[secret] = self.clock.now() + round(LINK * 1000)
        self.links.append((user, secret))

    @precondition(lambda self: self.links)
    @rule(pick=picks)
    def use_link(self, pick: int) -> None:
        user, secret = self.links[-1 - pick % len(self.links)]
        using = self.identities.sign_in_with_link(secret, None)
        if user.links.pop(secret, 0) <= self.clock.now():
            with pytest.raises(SignInRefused):
                self.run(using)
        else:
            self.came_in(user, self.run(using))

    @rule(pick=picks, number=st.integers(0, 2))
    def sign_in(self, pick: int, number: int) -> None:
        user = self.user(pick)
        password = f"the password number {number}"
        trying = self.identities.sign_in_with_password(user.name, password, None, HOME)
        try:
            signed_in = self.run(trying)
        except TooManyTries:
            return
        except SignInRefused:
            assert user.disabled or user.password != password
            return
        assert not user.disabled
        assert user.password == password
        self.came_in(user, signed_in)

    def came_in(self, user: ModelUser, signed_in: SignedIn) -> None:
        assert signed_in.user.id == user.id
        ends = self.clock.now() + round(SIGNED_IN * 1000)
        self.secrets.append(ModelSecret(user, signed_in.id, signed_in.secret, ends, True))

    @rule(pick=picks, seconds=st.sampled_from([None, 60.0, 1e6]))
    def make_token(self, pick: int, seconds: float | None) -> None:
        user = self.user(pick)
        making = self.identities.create_token(user.id, name="x", scopes=["chat"], seconds=seconds)
        if user.disabled:
            with pytest.raises(Conflict):
                self.run(making)
            return
        made = self.run(making)
        now = self.clock.now()
        ends = None if seconds is None else now + round(seconds * 1000)
        self.secrets.append(ModelSecret(user, made.token.id, made.secret, ends, False))

    # Being shut out.

    @precondition(lambda self: self.secrets)
    @rule(pick=picks)
    def revoke(self, pick: int) -> None:
        chosen = self.secrets[-1 - pick % len(self.secrets)]
        if chosen.slides:
            self.run(self.identities.revoke_sign_in(chosen.user.id, SignInId(chosen.id)))
        else:
            self.run(self.identities.revoke_token(chosen.user.id, ApiTokenId(chosen.id)))
        chosen.live = False

    @precondition(lambda self: self.secrets)
    @rule(pick=picks)
    def revoke_others(self, pick: int) -> None:
        chosen = self.secrets[-1 - pick % len(self.secrets)]
        keep = SignInId(chosen.id)
        self.run(self.identities.revoke_sign_ins(chosen.user.id, keep=keep))
        live = chosen.live
        self.end(chosen.user, tokens=False)
        chosen.live = live

    # Time.

    @rule(seconds=st.sampled_from([0.5, 4.0, 59.0, 61.0, LINK, SIGNED_IN / 2, SIGNED_IN - 1]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def note_who_was_seen(self) -> None:
        """All that are live have just been seen, by the invariant."""
        self.run(self.identities.sightings.write())
        listed = {
            each.id: each
            for user in self.users
            for each in self.run(self.identities.sign_ins(user.id))
        }
        for each in self.secrets:
            if each.slides and self.is_open(each):
                found = listed[SignInId(each.id)]
                assert found.seen_at is not None
                assert self.clock.now() - found.seen_at <= 60_000
                assert each.ends is not None
                assert found.expires_at >= each.ends
                each.ends = found.expires_at

    @rule()
    def restart(self) -> None:
        self.run(self.store.close())
        self.open()

    # What is true all the time.

    def is_open(self, each: ModelSecret) -> bool:
        return each.live and (each.ends is None or each.ends > self.clock.now())

    @invariant()
    def secrets_open_what_they_should(self) -> None:
        for each in self.secrets:
            found = self.run(opens(self.identities, each.secret))
            assert (found is not None) == self.is_open(each)
            if found is not None:
                assert (found.user.id, found.id) == (each.user.id, each.id)
                assert found.may("admin") == (each.slides and each.user.role == "admin")
                assert found.user.disabled_at is None

    @invariant()
    def somebody_sees_to_it(self) -> None:
        assert not self.users or any(
            each.role == "admin" and each.disabled_at is None
            for each in self.run(self.identities.people.all())
        )


IdentityMachine.TestCase.settings = settings(
    max_examples=30 if settings.get_current_profile_name() == "usual" else settings().max_examples
)
TestSecretsOpenWhatTheyShould = pytest.mark.timeout(0)(IdentityMachine.TestCase)
