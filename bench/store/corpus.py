"""A library of conversations to read and search: written fast, shaped like what people have."""

import random
from itertools import accumulate
from pathlib import Path

import msgspec

from bench.store.rig import CLOCK
from roost.core.ids import (
    SessionId,
    UserId,
    new_message_id,
    new_session_id,
    new_turn_id,
    new_user_id,
)
from roost.core.messages import TextPart, encode_parts
from roost.core.users import User
from roost.store.folder import DATABASE
from roost.store.sqlite.connect import Connection, connect_writer
from roost.store.sqlite.store import open_store

MESSAGES = 100_000
SESSIONS = 10_000
"""Of the user who reads and searches, with six tenths of all messages."""

_LONG = 1_000
_OTHERS = 3
_SESSIONS_OF_OTHERS = 500
_WORDS = 8_000
_PROJECTS = ("garden", "house", "tax", "novel")
_SPAN = 180 * 86_400_000
_CJK_SHARE = 0.03


class Library(msgspec.Struct, frozen=True):
    """`words` and `characters` (CJK pairs) stand from the most to the least frequent; each of
    `phrases` occurs at least once. `long` is the session with `long_length` messages."""

    folder: Path
    user: UserId
    long: SessionId
    long_length: int
    early: int
    middle: int
    project: str
    title: str
    words: list[str]
    characters: list[str]
    phrases: list[str]


class _Session(msgspec.Struct):
    id: SessionId
    user: UserId
    created_at: int
    head: int = 0
    active_at: int = 0


class _Writing:
    """Words by Zipf's law; messages from a few words to some thousand, most of them short."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        syllables = [
            c + v for c in "bcdfghklmnprstvz" for v in ("a", "e", "i", "o", "u", "ar", "en")
        ]
        made: dict[str, None] = {}
        while len(made) < _WORDS:
            made["".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3, 3, 4))))] = None
        self.words = sorted(made, key=lambda word: len(word) + rng.random() * 6)
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(_WORDS)))
        han = [chr(0x4E00 + 7 * number) for number in range(400)]
        self.characters = ["".join(rng.choices(han, k=2)) for _ in range(600)]
        self._cjk_weights = list(accumulate(1 / (rank + 2.7) for rank in range(600)))

    def text(self) -> str:
        rng = self._rng
        length = min(2_000, 3 + int(rng.lognormvariate(3.5, 1.0)))
        if rng.random() < _CJK_SHARE:
            pairs = rng.choices(self.characters, cum_weights=self._cjk_weights, k=length)
            return "。".join("".join(pairs[at : at + 6]) for at in range(0, length, 6))
        return " ".join(rng.choices(self.words, cum_weights=self._weights, k=length))


async def write(folder: Path) -> Library:
    rng = random.Random(7)  # noqa: S311
    users = await _users(folder)
    writing = _Writing(rng)
    now = CLOCK.now()
    sessions = [_Session(new_session_id(), users[0], now - _SPAN) for _ in range(SESSIONS)]
    for user in users[1:]:
        sessions += [
            _Session(new_session_id(), user, now - _SPAN) for _ in range(_SESSIONS_OF_OTHERS)
        ]
    rows, phrases = _messages(rng, writing, sessions, now)
    _insert(folder, rng, writing, sessions, rows)
    return Library(
        folder=folder,
        user=users[0],
        long=sessions[0].id,
        long_length=_LONG,
        early=now - _SPAN + _SPAN // 50,
        middle=now - _SPAN // 2,
        project=_PROJECTS[0],
        title=writing.words[30],
        words=writing.words,
        characters=writing.characters,
        phrases=phrases,
    )


async def _users(folder: Path) -> list[UserId]:
    store = open_store(folder, clock=CLOCK, version="bench")
    users = [
        await store.users.create(User(id=new_user_id(), name=f"user{number}", role="member"))
        for number in range(1 + _OTHERS)
    ]
    await store.close()
    return [user.id for user in users]


_Row = tuple[str, str, int, int, str, str, int]


def _messages(
    rng: random.Random, writing: _Writing, sessions: list[_Session], now: int
) -> tuple[list[_Row], list[str]]:
    """In the order of time; the first session gets its share of them here and there."""
    others = sessions[SESSIONS:]
    places = set(rng.sample(range(MESSAGES), _LONG))
    rows: list[_Row] = []
    phrases: list[str] = []
    for number in range(MESSAGES):
        if number in places:
            session = sessions[0]
        elif rng.random() < 0.6:
            session = sessions[1 + int((SESSIONS - 1) * rng.random() ** 2)]
        else:
            session = rng.choice(others)
        session.head += 1
        session.active_at = now - _SPAN + _SPAN * number // MESSAGES
        text = writing.text()
        role = "user" if session.head % 2 else "assistant"
        parts = encode_parts((TextPart(text),))
        rows.append(
            (
                new_message_id(),
                session.id,
                session.head,
                session.head,
                role,
                parts,
                session.active_at,
            )
        )
        if number % 500 == 0 and text.count(" ") > 8 and session.user == sessions[0].user:
            phrases.append(f'"{" ".join(text.split()[4:7])}"')
    return rows, phrases


def _insert(
    folder: Path,
    rng: random.Random,
    writing: _Writing,
    sessions: list[_Session],
    rows: list[_Row],
) -> None:
    connection = connect_writer(folder / DATABASE)
    connection.rows("BEGIN")
    for session in sessions:
        _insert_session(connection, rng, " ".join(rng.choices(writing.words[:500], k=4)), session)
    for row in rows:
        connection.rows(
            "INSERT INTO messages (born, id, session_number, position, revision, role, parts,"
            " created_at)"
            " VALUES (0, ?, (SELECT number FROM sessions WHERE id = ?), ?, ?, ?, ?, ?)",
            row,
        )
    connection.rows("COMMIT")
    connection.close()


def _insert_session(
    connection: Connection, rng: random.Random, title: str, session: _Session
) -> None:
    """With the turn that it is in, or was last in."""
    active_at = session.active_at or session.created_at
    connection.rows(
        "INSERT INTO sessions (id, user_id, origin, title, pinned, archived, project, revision,"
        " head, messages, turns, created_at, active_at)"
        " VALUES (?, ?, 'web', ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)",
        (
            session.id,
            session.user,
            title,
            rng.random() < 0.01,
            rng.random() < 0.1,
            rng.choice((*_PROJECTS, None, None, None, None)),
            session.head,
            session.head,
            session.head,
            session.created_at,
            active_at,
        ),
    )
    state = rng.choices(("completed", "running", "queued"), (98, 1, 1))[0]
    connection.rows(
        "INSERT INTO turns (id, session_id, state, place, options, fingerprint, input, created_at)"
        " VALUES (?, ?, ?, 1, '{}', x'', '[]', ?)",
        (new_turn_id(), session.id, state, active_at),
    )
