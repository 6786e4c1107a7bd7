"""What was said in a user's sessions, as the agent looks it up."""

from collections import Counter
from collections.abc import Sequence

from roost.core.ids import SessionId, UserId
from roost.core.messages import Message
from roost.store.search import Hit, SearchFilter, searchable
from roost.store.store import Store
from roost.tools.session_search import Said

_PAGE = 50
_PAGES = 4
"""How far back hits are looked at that don't count."""
_EACH = 3
"""The most hits of one session while all are searched: a long one must not be all that is found."""


class StoredSessions:
    """See `tools.session_search.PastSessions`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def search(
        self,
        user: UserId,
        words: str,
        *,
        within: SessionId | None,
        besides: SessionId,
        limit: int,
    ) -> Sequence[Said]:
        mine, before = self._store.of(user), None
        if within is not None:
            await mine.sessions.get(within)  # whose it is
        found: list[Hit] = []
        taken: Counter[SessionId] = Counter()
        for _ in range(_PAGES):
            hits = await mine.search(
                words, SearchFilter(session=within), before=before, limit=_PAGE
            )
            for hit in hits:
                if within is None and (hit.session == besides or taken[hit.session] == _EACH):
                    continue
                taken[hit.session] += 1
                found.append(hit)
            if len(hits) < _PAGE or len(found) >= limit:
                break
            before = hits[-1].seq
        return [_hit(hit) for hit in found[:limit]]

    async def around(
        self, user: UserId, session: SessionId, number: int, *, reach: int
    ) -> Sequence[Said]:
        mine = self._store.of(user)
        title = (await mine.sessions.get(session)).title
        near = await mine.history.around(session, number, reach=reach)
        return [_said(message, session, title) for message in near]


def _hit(hit: Hit) -> Said:
    return Said(
        session=hit.session,
        title=hit.title,
        number=hit.position,
        role=hit.role,
        at=hit.created_at,
        text=hit.snippet.text,
    )


def _said(message: Message, session: SessionId, title: str | None) -> Said:
    return Said(
        session=session,
        title=title,
        number=message.position,
        role=message.role,
        at=message.created_at,
        text=searchable(message.parts),
    )
