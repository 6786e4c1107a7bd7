"""Search: finds what was said, in every script, and only what is still to be found."""

import random
from functools import partial
from pathlib import Path

import pytest

from roost.core.errors import InvalidInput
from roost.core.ids import MessageId, SessionId, UserId, new_message_id, new_tool_call_id
from roost.core.messages import Draft, FilePart, TextPart, ToolCallPart, ToolResultPart, plain_text
from roost.core.sessions import NewSession
from roost.core.turns import Step
from roost.core.users import User
from roost.store.search import SearchFilter
from roost.store.sessions import SessionPatch
from roost.store.snippets import snippet
from roost.store.words import parse
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, Run, draft, eventually
from tests.unit.store.tables import run_sql, session_of_messages

pytestmark = pytest.mark.both

TEXTS = {
    "owls": "Owls sleep in hollow trees, don't they?",
    "café": "Ein Café in der Straße, naïve façade",
    "japanese": "私は日本語を話します。東京都に住んでいます",
    "chinese": "我们在北京大学学习中文",
    "korean": "나는 한국어를 공부합니다",
    "bus": "バス・公園",
    "mixed": "Python日本語library v2.10 on 東京tower",
    "code": "def snake_case(value): return value['key-name']",
    "russian": "Ёлка и Сова",
    "yoruba": "o\u0323\u0300ro\u0323\u0300 Yoru\u0300ba\u0301",
}

FINDS: list[tuple[str, list[str]]] = [
    ("owls", ["owls"]),
    ("OWLS", ["owls"]),
    ("owl", []),
    ("owl*", ["owls"]),
    ("o*", ["owls", "mixed", "yoruba"]),
    ("owls trees", ["owls"]),
    ("owls 北京", []),
    ('"hollow trees"', ["owls"]),
    ('"trees hollow"', []),
    ('"in hollow tr"*', ["owls"]),
    ("don't", ["owls"]),
    ("cafe", ["café"]),
    ("CAFÉ", ["café"]),
    ("cafe\u0301", ["café"]),
    ("naive facade", ["café"]),
    ("日本", ["japanese", "mixed"]),
    ("日本語", ["japanese", "mixed"]),
    ("本語", ["japanese", "mixed"]),
    ("語日", []),
    ("日語", []),
    ('"ス 公園"', []),
    ("ス・公園", ["bus"]),
    ("語", ["japanese", "mixed"]),
    ("都", ["japanese"]),
    ("京都", ["japanese"]),
    ("東京", ["japanese", "mixed"]),
    ("北京大学", ["chinese"]),
    ("中文", ["chinese"]),
    ("文", ["chinese"]),
    ("北大", []),
    ("한국어", ["korean"]),
    ("국어", ["korean"]),
    ("Python", ["mixed"]),
    ("Python日本", ["mixed"]),
    ("日本語library", ["mixed"]),
    ('"東京 tower"', ["mixed"]),
    ("v2.10", ["mixed"]),
    ("snake", ["code"]),
    ("snake_case", ["code"]),
    ("key-name", ["code"]),
    ("сова", ["russian"]),
    ("Oro", ["yoruba"]),
    ("o\u0323\u0300ro\u0323\u0300", ["yoruba"]),
    ("\uff30\uff59\uff54\uff48\uff4f\uff4e", ["mixed"]),
    ("AND", []),
    ("owls OR 北京", []),
    ("NEAR(owls)", []),
    ("words:owls", []),
    ("scope : x", []),
    ("owls'); DROP TABLE messages; --", []),
]


async def test_words_phrases_prefixes_and_scripts_are_found(
    ada: Driver, session: SessionId
) -> None:
    for words in TEXTS.values():
        await ada.talk(session, words, "yes")
    names = {
        message.id: name
        for message, name in zip((await ada.live(session))[::2], TEXTS, strict=True)
    }
    await ada.indexed()
    found = [
        (search, sorted(names[hit.message] for hit in await ada.search(search)))
        for search, _ in FINDS
    ]
    assert found == [(search, sorted(expected)) for search, expected in FINDS]


async def test_hit_says_where_it_is_and_what_matched(
    ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    await ada.sessions.update(session, SessionPatch(title="Birds"))
    await ada.talk(session, "Where?", "Owls sleep in trees")
    (hit,) = await ada.find("trees")
    question, answer = await ada.live(session)
    assert (hit.session, hit.title, hit.message) == (session, "Birds", answer.id)
    assert (hit.role, hit.position, hit.created_at) == ("assistant", 2, clock.now())
    assert (hit.snippet.text, hit.snippet.marks) == ("Owls sleep in trees", ((14, 19),))
    assert question.id != hit.message


def odd_texts(number: int, longest: int) -> list[str]:
    """Of characters that become one with others, make pairs, and make none."""
    chance = random.Random(number)  # noqa: S311 (reproducible, not secret)
    letters = ["a", "é", "e\u0301", "e", "ﬁ", "…", "_", " ", " ", "日", "本", "・", "か", "が", "ﾞ"]
    letters += ["か\u3099", "ｶﾞ", "한", "\u1112\u1161", "하"]
    return ["".join(chance.choices(letters, k=chance.randint(1, longest))) for _ in range(number)]


async def test_what_is_marked_is_what_the_index_finds(ada: Driver) -> None:
    run: Run = await ada.run()
    drafts = tuple(draft(words) for words in odd_texts(300, 9))
    await ada.turns.append(run.session, run.token, run.turn, Step(messages=drafts))
    await ada.indexed()
    searches = [each for each in odd_texts(200, 3) if any(map(str.isalnum, each))]
    for search in [*searches, *[f'"{each}"*' for each in searches]]:
        terms = parse(search)
        marked = {
            d.id for d in drafts if all(snippet(plain_text(d.parts), [t]).marks for t in terms)
        }
        found = await ada.search(search, SearchFilter(role="assistant"), limit=100)
        expected = [d.id for d in reversed(drafts) if d.id in marked][:100]
        assert [hit.message for hit in found] == expected, search


@pytest.mark.parametrize("search", ["", "  ", '"', "*", "?!"])
async def test_search_for_nothing_is_refused(ada: Driver, search: str) -> None:
    with pytest.raises(InvalidInput):
        await ada.search(search)


@pytest.mark.parametrize("limit", [0, 101])
async def test_page_has_a_size_that_makes_sense(ada: Driver, limit: int) -> None:
    with pytest.raises(InvalidInput):
        await ada.search("owl", limit=limit)


async def test_ids_that_give_one_word_of_the_index_find_each_their_own(ada: Driver) -> None:
    """The index knows whose and in which session a message is by letters and digits alone."""
    people: list[Driver] = []
    for name in ("usr_grey_owl", "usr_greyowl"):
        user = await ada.store.users.create(User(id=UserId(name), name=name, role="member"))
        people.append(Driver(ada.store, user))
    said: dict[SessionId, list[MessageId]] = {}
    for person, sessions in zip(
        people, (("ses_a_b", "ses_ab"), ("ses_a_b_", "ses_ab_")), strict=True
    ):
        for id in map(SessionId, sessions):
            await person.sessions.create(NewSession(id=id, origin="web"))
            await person.say(await person.run(id, "hawk"), "owl")
            said[id] = [message.id for message in await person.live(id)][1:]
        first, second = (said[SessionId(id)] for id in sessions)
        assert sorted(await person.found("owl")) == sorted(first + second)
        for id in map(SessionId, sessions):
            assert await person.found("owl", SearchFilter(session=id)) == said[id]


async def test_pages_go_from_the_newest_back(ada: Driver, session: SessionId) -> None:
    for number in range(7):
        await ada.talk(session, f"owl {number}")
    whole = [hit.message for hit in await ada.find("owl")]
    expected = [message.id for message in (await ada.live(session))[::2]][::-1]
    assert whole == expected
    paged: list[str] = []
    before = None
    while page := await ada.search("owl", before=before, limit=3):
        paged += [hit.message for hit in page]
        before = page[-1].seq
    assert paged == expected


async def test_filters_narrow_the_search(ada: Driver, clock: FakeClock) -> None:
    one, two = await ada.session(), await ada.session()
    await ada.talk(one, "owl", "owl")
    between = clock.now() + 500
    clock.advance(1)
    await ada.talk(two, "owl", "owl")
    await ada.sessions.update(two, SessionPatch(project="birds", archived=True))
    old = [message.id for message in await ada.live(one)]
    new = [message.id for message in await ada.live(two)]
    for where, expected in (
        (SearchFilter(), old + new),
        (SearchFilter(session=one), old),
        (SearchFilter(role="user"), [old[0], new[0]]),
        (SearchFilter(role="note"), []),
        (SearchFilter(project="birds"), new),
        (SearchFilter(archived=True), new),
        (SearchFilter(archived=False), old),
        (SearchFilter(since=between), new),
        (SearchFilter(until=between), old),
        (SearchFilter(since=clock.now(), until=clock.now()), []),
        (SearchFilter(session=one, role="assistant", until=between), [old[1]]),
        (SearchFilter(session=SessionId("ses_unknown")), []),
    ):
        assert sorted(await ada.found("owl", where)) == sorted(expected), where


async def test_names_of_files_calls_and_the_head_of_tool_output_are_found(ada: Driver) -> None:
    run: Run = await ada.run()
    blob = await ada.blobs.put_bytes(b"x", "text/plain")
    call = ToolCallPart(new_tool_call_id(), "read_file", '{"path":"nest.txt"}')
    output = "headword " + "x" * 5000 + " tailword"
    drafts = (
        Draft(new_message_id(), "assistant", (FilePart(blob.id, "x/y", "feathers.txt", 1),)),
        Draft(new_message_id(), "assistant", (call,)),
        Draft(new_message_id(), "tool", (ToolResultPart(call.call, (TextPart(output),)),)),
    )
    await ada.turns.append(run.session, run.token, run.turn, Step(messages=drafts))
    await ada.indexed()
    for words, expected in (
        ("feathers", [drafts[0].id]),
        ("read_file", [drafts[1].id]),
        ("nest.txt", [drafts[1].id]),
        ("headword", [drafts[2].id]),
        ("tailword", []),
    ):
        assert [hit.message for hit in await ada.search(words)] == expected


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (
            r'{"path":"a.py","text":"one\nnest\tb\u00fcro","deep":[{"n":7,"no":null}]}',
            "one nest büro 7",
        ),
        ('{"text":"not closed, nest büro', '{"text":"not closed, nest büro'),
        ("[" * 2000 + " nest büro", "nest büro"),
    ],
    ids=["json", "not closed", "deep"],
)
async def test_what_a_tool_was_told_is_found_word_by_word(
    ada: Driver, arguments: str, shown: str
) -> None:
    """In JSON a word after a line's end begins with an n, and an umlaut is a number."""
    run: Run = await ada.run()
    call = ToolCallPart(new_tool_call_id(), "write_file", arguments)
    step = Step(messages=(Draft(new_message_id(), "assistant", (call,)),))
    await ada.turns.append(run.session, run.token, run.turn, step)
    (hit,) = await ada.find("nest büro")
    assert " ".join(hit.snippet.text.split()).endswith(shown)
    assert [hit.snippet.text[a:b] for a, b in hit.snippet.marks] == ["nest", "büro"]


async def test_what_was_undone_or_cleared_is_not_found_until_restored(
    ada: Driver, session: SessionId
) -> None:
    await ada.talk(session, "owl", "tree")
    turn = await ada.talk(session, "hawk", "sky")
    hawk = (await ada.live(session))[2].id
    lease = await ada.claim(session)
    await ada.history.undo(session, lease.token, turn)
    assert await ada.found("hawk") == []
    await ada.history.restore(session, lease.token)
    assert await ada.found("hawk") == [hawk]
    await ada.history.clear(session, lease.token)
    assert await ada.found("owl") == []


async def test_what_a_compaction_replaced_is_found_beside_its_summary(
    ada: Driver, session: SessionId
) -> None:
    await ada.talk(session, "owl", "tree")
    (owl, _) = await ada.live(session)
    await ada.compact(session, "In short: an owl")
    (note,) = await ada.live(session)
    assert await ada.found("owl") == [note.id, owl.id]


async def test_deleted_session_is_not_found_and_leaves_the_index_to_its_successors(
    ada: Driver, clock: FakeClock
) -> None:
    kept = await ada.session()
    await ada.talk(kept, "sparrow")
    await ada.talk(await ada.session(), "owl", "hawk")
    assert len(await ada.found("owl")) == 1
    deleted = [session.id for session in await ada.sessions.page() if session.id != kept]
    for session in deleted:
        await ada.sessions.delete(session)
    assert await ada.search("owl") == []
    clock.advance(61)
    for session in deleted:
        await eventually(partial(is_purged, ada, session))

    # The rows' numbers are given out again: old words must not find new messages.
    again = await ada.session()
    await ada.talk(again, "finch", "wren")
    (finch, wren) = await ada.live(again)
    assert await ada.found("finch") == [finch.id]
    assert await ada.found("wren") == [wren.id]
    assert await ada.found("owl") == []
    assert await ada.found("hawk") == []
    assert len(await ada.found("sparrow")) == 1


async def is_purged(ada: Driver, session: SessionId) -> bool:
    """Nudge the store, which purges behind writes, until the id is free again."""
    await ada.settings.put("nudge", "1")
    try:
        await ada.sessions.create(NewSession(id=session, origin="web"))
    except InvalidInput:
        return False
    await ada.sessions.delete(session)
    return True


async def test_a_time_is_searched_to_the_millisecond(ada: Driver, clock: FakeClock) -> None:
    """Over months and years, which the index knows, and at their very edges, which it does not."""
    session = await ada.session()
    times: list[int] = []
    for _ in range(30):
        run = await ada.run(session, "tick")
        times.append(clock.now())
        await ada.end(run, "tock")
        clock.advance(40 * 86_400)
    await ada.indexed()
    for since, until in ((times[3], times[20]), (times[3], times[3] + 1), (times[29], None)):
        where = SearchFilter(since=since, until=until)
        found = {hit.created_at for hit in await ada.search("tick", where, limit=100)}
        assert found == {at for at in times if since <= at < (until or at + 1)}


async def test_a_filter_that_leaves_no_session_finds_nothing(ada: Driver) -> None:
    await ada.say(await ada.run(), "needle")
    await ada.indexed()
    assert await ada.search("needle", SearchFilter(project="nowhere")) == []
    assert await ada.search("needle", SearchFilter(archived=True)) == []


async def test_what_a_compaction_replaced_is_found_even_after_a_clear(
    ada: Driver, session: SessionId
) -> None:
    await ada.talk(session, "owl", "tree")
    await ada.compact(session)
    lease = await ada.claim(session)
    await ada.history.clear(session, lease.token)
    assert len(await ada.found("owl")) == 1


async def test_message_that_can_not_be_read_does_not_hold_up_the_index(
    ada: Driver, session: SessionId, folder: Path
) -> None:
    await ada.talk(session, "owl", "tree")
    for number, parts in enumerate(("{", '[{"type":"text","text":"\\ud800"}]', "[" * 5000, "7")):
        column, value = session_of_messages(folder, session)
        values = f"'msg_bad{number}', {value}, 9, 1, 0, 'note', '{parts}', 0"
        columns = f"id, {column}, position, revision, born, role, parts, created_at"
        await run_sql(folder, f"INSERT INTO messages ({columns}) VALUES ({values})")
    await ada.talk(await ada.session(), "later")
    assert len(await ada.found("later")) == 1
