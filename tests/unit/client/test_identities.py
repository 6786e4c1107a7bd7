"""Users and tokens of a running server, seen to by who has its folder."""

from collections.abc import AsyncGenerator

import pytest

from roost.client.identities import Identities as AttachedIdentities
from roost.core.errors import InvalidInput, NotFound, NotSignedIn
from roost.core.users import Caps, Profile
from roost.runtime.identities import DAY
from roost.wiring import Roost
from tests.attached import connection_to


@pytest.fixture
async def attached(roost: Roost) -> AsyncGenerator[AttachedIdentities]:
    async with connection_to(roost) as connection:
        yield AttachedIdentities(connection)


async def test_people_are_seen_to(roost: Roost, attached: AttachedIdentities) -> None:
    here, there = roost.identities.people, attached.people
    assert await there.owner() == await here.owner()
    ada = await there.create("Ada", role="admin")
    assert [each.name for each in await there.all()] == ["owner", "Ada"]
    assert (await there.named("ADA")).id == ada.id
    assert (await there.set_role(ada.id, "member")).role == "member"
    assert (await there.change(ada.id, Profile(name="Ada L."))).name == "Ada L."
    await there.set_caps(ada.id, Caps(day_tokens=7))
    assert await here.caps(ada.id) == Caps(day_tokens=7)
    await there.set_password(ada.id, "a long password")
    assert (await here.get(ada.id)).has_password
    assert (await there.disable(ada.id)).disabled_at is not None
    assert (await there.enable(ada.id)).disabled_at is None
    with pytest.raises(InvalidInput, match="There is a user called ada"):
        await there.create("ada l.")
    await there.remove(ada.id)
    assert [each.name for each in await here.all()] == ["owner"]
    with pytest.raises(NotFound, match="There is no user Bob here"):
        await there.named("Bob")


@pytest.mark.parametrize("name", ["", " ", "a" * 65, "a" * 501])
async def test_names_are_refused_in_the_same_words(
    roost: Roost, attached: AttachedIdentities, name: str
) -> None:
    owner, said = await attached.people.owner(), set[str]()
    for identities in (roost.identities, attached):
        for refused in (
            identities.people.create(name),
            identities.people.change(owner.id, Profile(name=name)),
            identities.create_token(owner.id, name=name, scopes=["chat"]),
        ):
            with pytest.raises(InvalidInput) as caught:
                await refused
            said.add(str(caught.value))
    assert said == {
        f"A {what}'s name is a text of 1 to 64 characters." for what in ("user", "token")
    }


async def test_link_signs_in(roost: Roost, attached: AttachedIdentities) -> None:
    owner = await attached.people.owner()
    secret = await attached.link(owner.id, seconds=DAY)
    signed_in = await roost.identities.sign_in_with_link(secret.reveal(), None)
    assert signed_in.user.id == owner.id


async def test_tokens_are_seen_to(roost: Roost, attached: AttachedIdentities) -> None:
    ada = await attached.people.create("Ada")
    made = await attached.create_token(ada.id, name="script", scopes=("chat",), seconds=60)
    secret = made.secret.reveal()
    assert list(await attached.tokens(ada.id)) == list(await roost.identities.tokens(ada.id))
    assert (await roost.identities.authenticate(bearer=secret)).user.id == ada.id
    assert await attached.owner_of_token(made.token.id) == ada.id
    await attached.revoke_token(ada.id, made.token.id)
    with pytest.raises(NotSignedIn):
        await roost.identities.authenticate(bearer=secret)
    with pytest.raises(NotFound):
        await attached.owner_of_token(made.token.id)
    with pytest.raises(InvalidInput):
        await attached.create_token(ada.id, name=" ", scopes=("chat",))


async def test_credential_is_void_once_another_is_made(roost: Roost) -> None:
    first = roost.identities.local_token()
    principal = await roost.identities.authenticate(bearer=first.reveal())
    assert (principal.via, principal.may("admin")) == ("cli", True)
    second = roost.identities.local_token()
    with pytest.raises(NotSignedIn):
        await roost.identities.authenticate(bearer=first.reveal())
    assert (await roost.identities.authenticate(bearer=second.reveal())).via == "cli"


async def test_who_has_the_folder_sees_to_it_whatever_the_owners_role(
    roost: Roost, attached: AttachedIdentities
) -> None:
    owner = await attached.people.owner()
    await attached.people.create("Ada", role="admin")
    await attached.people.set_role(owner.id, "member")
    assert len(await attached.people.all()) == 2
