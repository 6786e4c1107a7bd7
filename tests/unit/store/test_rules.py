"""Rules: each holds where it was made for, and a subagent is given no leave of its caller's."""

import pytest
from msgspec.structs import replace

from roost.core.approvals import Rule, RuleDecision
from roost.core.errors import NotFound
from roost.core.ids import RuleId, SessionId, new_session_id
from roost.core.sessions import NewSession, Parent, ParentKind
from roost.store.store import Store
from tests.store_driver import Driver

pytestmark = pytest.mark.both


async def settle(
    who: Driver, name: str, decision: RuleDecision, session: SessionId | None = None
) -> RuleId:
    rule = Rule(
        id=RuleId(f"rul_{name}"), tool=name, pattern=None, decision=decision, session=session
    )
    await who.store.of(who.user.id).rules.add(rule)
    return rule.id


async def holding(who: Driver, session: SessionId) -> set[RuleId]:
    return {rule.id for rule in await who.store.of(who.user.id).rules.of(session)}


async def child(who: Driver, caller: SessionId, kind: ParentKind) -> SessionId:
    new = NewSession(id=new_session_id(), origin="web", parent=Parent(caller, kind))
    return (await who.sessions.create(new)).id


async def test_rule_holds_in_its_session_or_in_all_of_its_user(
    ada: Driver, bob: Driver, session: SessionId
) -> None:
    other, foreign = await ada.session(), await bob.session()
    here = await settle(ada, "here", "allow", session)
    everywhere = await settle(ada, "everywhere", "deny")
    assert await holding(ada, session) == {here, everywhere}
    assert await holding(ada, other) == {everywhere}
    assert await holding(bob, foreign) == set()


async def test_what_a_caller_may_not_do_its_subagents_may_not_and_no_more_is_handed_down(
    ada: Driver, session: SessionId
) -> None:
    await settle(ada, "allowed", "allow", session)
    denied = await settle(ada, "denied", "deny", session)
    asked = await settle(ada, "asked", "ask", session)
    subagent = await child(ada, session, "subagent")
    assert await holding(ada, subagent) == {denied, asked}
    assert await holding(ada, await child(ada, subagent, "subagent")) == {denied, asked}
    assert await holding(ada, await child(ada, session, "branch")) == set()


async def test_rule_for_a_session_of_someone_else_is_none(
    store: Store, bob: Driver, session: SessionId
) -> None:
    await settle(bob, "mine", "allow", session)
    assert await store.of(bob.user.id).rules.all() == []


async def test_rule_that_is_there_is_not_made_again(ada: Driver, session: SessionId) -> None:
    rules = ada.store.of(ada.user.id).rules
    first = Rule(id=RuleId("rul_1"), tool="ls", pattern="*", decision="allow", session=session)
    for id in (first.id, first.id, RuleId("rul_2")):
        await rules.add(replace(first, id=id))
    assert [rule.id for rule in await rules.all()] == [first.id]


async def test_only_whose_it_is_removes_a_rule(ada: Driver, bob: Driver) -> None:
    rule = await settle(ada, "everywhere", "deny")
    with pytest.raises(NotFound):
        await bob.store.of(bob.user.id).rules.remove(rule)
    await ada.store.of(ada.user.id).rules.remove(rule)
    with pytest.raises(NotFound):
        await ada.store.of(ada.user.id).rules.remove(rule)
