"""What a server remembers, seen and put right from the command line."""

import pytest

from roost.client.account import Account as AttachedAccount
from roost.core.errors import NotFound
from roost.core.ids import FactId
from roost.runtime.account import Account


async def test_memory_is_the_same_here_and_there(
    account: Account, attached: AttachedAccount
) -> None:
    made = [
        await account.memory.remember(text, entities=("Bob",), key=text)
        for text in ("Bob rows.", "Bob sails.", "Bob sleeps.")
    ]
    here, there = account.memory, attached.memory
    assert list(await there.page()) == list(await here.page())
    assert [fact.id for fact in await there.page(before=made[1].id)] == [made[0].id]
    assert list(await there.about("bob", limit=2)) == list(await here.about("bob", limit=2))
    assert [fact.id for fact in await there.search("sails", limit=100)] == [made[1].id]
    assert list(await there.contradictions()) == list(await here.contradictions())
    assert await there.status() == await here.status()
    edited = await there.edit(made[0].id, "Bob rows at dawn.")
    assert (await here.get(made[0].id)) == edited
    await there.forget(made[1].id)
    assert (await there.get(made[1].id)).text == ""
    assert (await there.retry(), list(await there.drop())) == (0, [])
    with pytest.raises(NotFound, match="There is no memory fct_nothing here"):
        await there.get(FactId("fct_nothing"))
