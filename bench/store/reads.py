"""Opening a long session, and paging through a long list of sessions."""

from collections.abc import Callable, Coroutine

from bench.report import Figure, Target, at_most, times_at_most
from bench.store.corpus import SESSIONS, Library
from bench.store.rig import CLOCK, STATEMENTS, Recorder, raw
from bench.timing import Samples
from roost.core.messages import decode_parts
from roost.core.sessions import Session
from roost.store.folder import DATABASE
from roost.store.sessions import ListCursor, SessionFilter, Sessions
from roost.store.sqlite.connect import Connection, connect_reader
from roost.store.sqlite.store import open_store
from roost.store.store import UserStore

LOADS = 60
PAGES = 200


async def measure(library: Library) -> list[Figure]:
    store = open_store(library.folder, clock=CLOCK, version="bench")
    reader = connect_reader(library.folder / DATABASE)
    try:
        me = store.of(library.user)
        return [*await _history(me, library, reader), *await _pages(me, library, reader)]
    finally:
        reader.close()
        await store.close()


async def _history(me: UserStore, library: Library, reader: Connection) -> list[Figure]:
    loads, reads = Samples(), Samples()

    def read() -> None:
        sql = STATEMENTS["live_messages"].sql
        for row in reader.rows(sql, {"session": library.long, "after": 0}):
            decode_parts(str(row[2]))

    assert len((await me.history.load(library.long)).messages) == library.long_length
    for _ in range(LOADS):
        await loads.wait(me.history.load(library.long))
        reads.time(read)
    return [
        Figure(
            name=f"opening a session of {library.long_length:,} messages, p50",
            value=loads.p50,
            unit="ms",
            limit=reads.p50,
            against="raw read and decode",
            target=times_at_most(3),
            peer="8 ms",
        ),
        Figure(
            name=f"opening a session of {library.long_length:,} messages, p99",
            value=loads.p99,
            unit="ms",
            limit=reads.p99,
            against="raw read and decode",
        ),
    ]


_Page = Callable[[Sessions], Coroutine[None, None, object]]


async def _pages(me: UserStore, library: Library, reader: Connection) -> list[Figure]:
    late = await _cursor_at(me, SESSIONS // 2)
    by_title = SessionFilter(title=library.title)
    kinds: dict[str, tuple[_Page, Target | None]] = {
        "first page": (lambda sessions: sessions.page(), at_most(5)),
        "page in the middle": (lambda sessions: sessions.page(after=late), at_most(5)),
        "page of a project": (
            lambda sessions: sessions.page(SessionFilter(project=library.project)),
            at_most(5),
        ),
        "page of pinned": (lambda sessions: sessions.page(SessionFilter(pinned=True)), None),
        "page of archived": (lambda sessions: sessions.page(SessionFilter(archived=True)), None),
        "page by a word in the title": (lambda sessions: sessions.page(by_title), None),
    }
    found: list[Figure] = []
    for name, (page, target) in kinds.items():
        found += await _page(name, page, target, me, library, reader)
    return found


async def _page(
    name: str,
    page: _Page,
    target: Target | None,
    me: UserStore,
    library: Library,
    reader: Connection,
) -> list[Figure]:
    recorder = Recorder(me.sessions.engine)
    await page(Sessions(recorder, library.user))
    ((sql, parameters),) = raw(recorder.operations[0])
    pages, reads = Samples(), Samples()
    for _ in range(PAGES):
        await pages.wait(page(me.sessions))
        reads.time(lambda: reader.rows(sql, parameters))
    title, against = f"{name}, 50 of {SESSIONS:,} sessions", "the statement raw"
    return [
        Figure(
            name=f"{title}, p50",
            value=pages.p50,
            unit="ms",
            limit=reads.p50,
            against=against,
            target=target,
        ),
        Figure(
            name=f"{title}, p99",
            value=pages.p99,
            unit="ms",
            limit=reads.p99,
            against=against,
            target=target,
        ),
    ]


async def _cursor_at(me: UserStore, place: int) -> ListCursor:
    last: Session | None = None
    for _ in range(place // 200):
        after = None if last is None else ListCursor(last.active_at, last.id)
        last = (await me.sessions.page(after=after, limit=200))[-1]
    assert last is not None
    return ListCursor(last.active_at, last.id)
