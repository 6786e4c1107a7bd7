"""The books on an engine that is killed again and again: what it said, held against its disk."""

import copy
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from roost.core.events import SessionEvent, Streamed
from roost.core.ids import MessageId, SessionId, ToolCallId, TurnId
from roost.core.messages import Part
from roost.core.partial import partial_parts
from tests.faults.engine_disk import Disk, DiskTurn, text_of
from tests.faults.engine_lines import (
    BEAT,
    Accepted,
    Beat,
    Broke,
    Edited,
    Editing,
    Line,
    Opened,
    Rewriting,
    Saw,
    Sending,
    Ticked,
    Watch,
)
from tests.streaming import View, shown

LOSS = 0.25
"""Seconds of streamed text that a kill may cost."""

OLD_READERS = 2
"""How many readers come back to each session with an older cursor."""


class Reader(View):
    """A view that keeps no events, of which a copy can be set aside."""

    def __init__(self, session: SessionId) -> None:
        super().__init__()
        self.session = session
        self.begun = False

    def take(self, event: SessionEvent) -> None:
        super().take(event)
        self.events.clear()
        self.begun = True

    def copy(self) -> "Reader":
        other = copy.copy(self)
        other.messages, other.states = dict(self.messages), dict(self.states)
        other.events = []
        return other


class Sent(msgspec.Struct):
    """A message: what it may say, and what is known of it."""

    session: SessionId
    texts: set[str]
    accepted: bool = False
    removal: bool | None = None
    """Asked for, and answered."""


class Orphaned(msgspec.Struct, frozen=True):
    """A turn that ran when its process died: what of it has to be there after the restart."""

    attempt: int
    parts: tuple[Part, ...]
    running: tuple[ToolCallId, ...]
    messages: frozenset[MessageId]


class Streaming(msgspec.Struct, frozen=True):
    """What was seen of an attempt, and when: all up to `seq`."""

    at: float
    turn: TurnId
    attempt: int
    seq: int


class Books:
    def __init__(self, folder: Path, seed: int) -> None:
        self.readers: dict[int, Reader] = {}
        self.opened = False
        self.losses: list[float] = []
        """How many seconds of what streamed each kill has cost."""
        self._effects = folder / "effects"
        self._random = random.Random(seed)  # noqa: S311 (reproducible, not secret)
        self._sent: dict[TurnId, Sent] = {}
        self._instead: dict[str, SessionId] = {}
        self._rewritten: set[SessionId] = set()
        self._taken: set[str] = set()
        self._orphans: dict[TurnId, Orphaned] = {}
        self._doubtful: dict[TurnId, int] = {}
        self._main: dict[SessionId, int] = {}
        self._old: defaultdict[SessionId, list[Reader]] = defaultdict(list)
        self._seen: defaultdict[SessionId, list[Streaming]] = defaultdict(list)
        self._ticks: dict[float, float | None] = {}
        self._beats: list[float] = []

    # Readers.

    def watches(self, sessions: tuple[SessionId, ...]) -> tuple[Watch, ...]:
        """For the next life: in each session the one who always reads, and those who come back
        with a cursor that they had some time ago."""
        readers: dict[int, Reader] = {}
        main: dict[SessionId, int] = {}
        for session in sessions:
            known = self.readers.get(self._main.get(session, -1))
            main[session] = len(readers)
            readers[len(readers)] = known or Reader(session)
            for old in self._old.pop(session, []):
                readers[len(readers)] = old
        self.readers, self._main = readers, main
        return tuple(
            Watch(number, reader.session, reader.cursor if reader.begun else None)
            for number, reader in readers.items()
        )

    def main_of(self, session: SessionId) -> Reader:
        return self.readers[self._main[session]]

    # What is heard.

    def hear(self, line: Line) -> None:
        match line:
            case Opened():
                self.opened = True
            case Sending():
                self._sent[line.turn] = Sent(line.session, {line.text})
            case Accepted():
                self._accept(line)
            case Editing():
                self._edit(line)
            case Edited():
                self._edited(line)
            case Rewriting():
                self._rewritten.add(line.session)
                if line.text is not None:
                    self._instead[line.text] = line.session
            case Saw():
                self._see(line)
            case Ticked():
                self._ticks[line.began] = line.ended
            case Beat():
                self._beats.append(line.at)
            case Broke():
                raise AssertionError(line.why)
            case _:
                pass

    def _accept(self, line: Accepted) -> None:
        """With a key, it may have become another turn with the same words."""
        if line.asked != line.turn:
            asked = self._sent.pop(line.asked)
            assert self._sent[line.turn].texts == asked.texts, "a key led to another message"
        self._sent[line.turn].accepted = True

    def _edit(self, line: Editing) -> None:
        if line.turn not in self._sent:
            # Said instead of something else, and this is the first that is heard of its id.
            self._sent[line.turn] = Sent(self._instead[line.was], {line.was})
        sent = self._sent[line.turn]
        if line.text is None:
            sent.removal = False
        else:
            sent.texts.add(line.text)

    def _edited(self, line: Edited) -> None:
        sent = self._sent[line.turn]
        if line.text is None:
            sent.removal = True if line.done else None
        elif line.done:
            sent.texts = {line.text}
        else:
            sent.texts.discard(line.text)

    def _see(self, line: Saw) -> None:
        reader = self.readers[line.reader]
        reader.take(line.event)
        if line.reader != self._main[line.session]:
            return
        if isinstance(line.event, Streamed) and reader.streaming is not None:
            self._seen[line.session].append(Streaming(line.at, *reader.streaming, reader.seq))
        if self._random.random() < 0.03:
            old = self._old[line.session]
            if len(old) == OLD_READERS:
                old.pop(self._random.randrange(OLD_READERS))
            old.append(reader.copy())

    # What is found.

    def settle(self, disk: Disk | None, killed_at: float) -> list[str]:
        """After a death, and before the next life: what is wrong."""
        if disk is None:
            accepted = [turn for turn, sent in self._sent.items() if sent.accepted]
            return [f"there is no store, and {accepted} were accepted"] if accepted else []
        self._adopt(disk)
        wrong = [
            *self._check_sent(disk),
            *self._check_words(disk),
            *self._check_effects(disk),
            *self._check_streams(disk, killed_at),
            *self._check_continued(disk),
        ]
        if self.opened:
            wrong += self._check_orphans(disk)
            self._orphans.clear()
        self._take_orphans(disk)
        self._resolve(disk)
        return wrong

    def _adopt(self, disk: Disk) -> None:
        """What was said instead of something else has an id that Roost made."""
        for turn in disk.turns.values():
            if turn.id not in self._sent and (session := self._instead.get(turn.text)) is not None:
                self._sent[turn.id] = Sent(session, {turn.text})

    def _check_sent(self, disk: Disk) -> Iterator[str]:
        """Every accepted message is there, once, as it was sent."""
        for turn, sent in self._sent.items():
            row = disk.turns.get(turn)
            if row is None:
                if sent.accepted:
                    yield f"{turn} was accepted and is not stored"
                continue
            if row.text not in sent.texts or row.session != sent.session:
                yield f"{turn} says {row.text}, not {sent.texts}"
            if sent.removal is not False and (row.state == "removed") != bool(sent.removal):
                yield f"{turn} is {row.state}, and its removal was {sent.removal}"
            if row.undone is not None and not self._may_be_gone(row.session, turn):
                yield f"{turn} was taken back, and nobody asked for that"
        for turn in disk.turns.keys() - self._sent.keys():
            yield f"{turn} was never sent: {disk.turns[turn]}"

    def _check_words(self, disk: Disk) -> Iterator[str]:
        """In the history a message stands once if it has begun, and not at all before."""
        said = [m for m in disk.messages.values() if m.role == "user"]
        counts = Counter(text_of(message.parts) for message in said)
        for turn in disk.turns.values():
            expected = 0 if turn.state in ("queued", "removed") else 1
            if counts.pop(turn.text, 0) != expected:
                yield f"{turn} does not stand {expected} times in the history"
            message = disk.messages.get(turn.message) if turn.message else None
            if (message is not None) != expected:
                yield f"{turn} has the message {message}"
            elif message and message.gone and not self._may_be_gone(message.session, message.id):
                yield f"the message of {turn} is gone"
        for text in counts:
            yield f"{text} was never sent and stands in the history"

    def _may_be_gone(self, session: SessionId, id: str) -> bool:
        return session in self._rewritten or id in self._taken

    def _check_effects(self, disk: Disk) -> Iterator[str]:
        """No tool ran twice for a call, and none before its call was known to run."""
        effects = self._effects.read_text().split() if self._effects.exists() else []
        for name, times in Counter(effects).items():
            call = disk.calls.get(ToolCallId(name))
            if times > 1:
                yield f"{name} ran {times} times"
            if call is None or call.state in ("requested", "waiting", "denied"):
                yield f"{name} ran, and its call is {call}"
        done = {call.id for call in disk.calls.values() if call.state == "done"}
        for call in done - set(effects):
            yield f"{call} is done and never ran"

    def _check_streams(self, disk: Disk, killed_at: float) -> Iterator[str]:
        """What was seen of an answer is stored, but for the last moment."""
        for session, seen in self._seen.items():
            last = seen[-1]
            stream = disk.streams.get(last.turn)
            if stream is None or stream.attempt != last.attempt:
                continue  # a message has taken its place, or a new attempt
            reader = self.main_of(session)
            stored = shown(disk.deltas.get(last.turn, ()))
            if reader.streaming == (last.turn, last.attempt) and not (
                stored.startswith(reader.text) or reader.text.startswith(stored)
            ):
                yield f"{last.turn} streamed {reader.text!r} and stored {stored!r}"
            lost = [each.at for each in seen if _is_lost(each, last, stream.last_seq)]
            if not lost:
                continue
            loss = killed_at - lost[0]
            self.losses.append(loss)
            if loss > LOSS + (hold := self._held_up(lost[0], killed_at)):
                yield f"{last.turn} lost {loss:.3f} s of its text; it was held up for {hold:.3f} s"

    def _held_up(self, since: float, until: float) -> float:
        """How long, of a time, the machine took to write or to let the process run at all. Both
        are no part of the promise's 250 ms, and are measured, not guessed."""
        ticks = [(began, ended or until) for began, ended in self._ticks.items()]
        stalls = [
            (before + BEAT, beat)
            for before, beat in pairwise([*self._beats, until])
            if beat - before > 2 * BEAT
        ]
        held, last = BEAT, since
        for began, ended in sorted([*ticks, *stalls]):
            held += max(0.0, min(ended, until) - max(began, last))
            last = max(last, ended)
        return held

    def _check_orphans(self, disk: Disk) -> Iterator[str]:
        """After a restart: kept as far as it was stored, marked, never repeated, no ghost."""
        for id, orphan in self._orphans.items():
            turn = disk.turns[id]
            if turn.attempt == orphan.attempt and turn.state == "running":
                yield f"{id} is a ghost: it runs in the attempt that died"
            later = [
                message
                for message in disk.messages.values()
                if message.turn == id and message.id not in orphan.messages
            ]
            if orphan.parts and not any(m.partial and m.parts == orphan.parts for m in later):
                yield f"{id} does not keep what it had streamed: {orphan.parts}, but {later}"
            for call in orphan.running:
                if disk.calls[call].state != "unknown":
                    yield f"{call} ran when its process died, and is {disk.calls[call].state}"

    def _check_continued(self, disk: Disk) -> Iterator[str]:
        """Nothing goes on by itself twice, nor after a call in doubt."""
        for turn in disk.turns.values():
            if turn.continued > self._doubtful.get(turn.id, 1):
                yield f"{turn} went on by itself, after {self._doubtful.get(turn.id)}"
        for call in disk.calls.values():
            turn = disk.turns[call.turn]
            if call.state == "unknown" or (call.state, turn.state) == ("running", "running"):
                self._doubtful.setdefault(turn.id, turn.continued)

    def _take_orphans(self, disk: Disk) -> None:
        for turn in disk.turns.values():
            if turn.state == "running":
                self._orphans[turn.id] = _orphaned(disk, turn)

    def _resolve(self, disk: Disk) -> None:
        """What was in flight has happened, or has not."""
        for turn, sent in list(self._sent.items()):
            row = disk.turns.get(turn)
            if row is None:
                del self._sent[turn]
            else:
                sent.accepted = True
                sent.texts = {row.text}
                sent.removal = True if row.state == "removed" else None
        self._taken |= {turn.id for turn in disk.turns.values() if turn.undone is not None}
        self._taken |= {m.id for m in disk.messages.values() if m.gone is not None}
        self._rewritten.clear()
        self._seen.clear()
        self._ticks.clear()
        self._beats.clear()
        self.opened = False

    def take_for_granted(self, disk: Disk) -> None:
        """Somebody else has used it, and left it in order."""
        self._sent = {row.id: Sent(row.session, {row.text}) for row in disk.turns.values()}
        self._orphans.clear()
        self._resolve(disk)

    def left_undone(self, disk: Disk) -> Iterator[str]:
        """When all is quiet: what should have gone on by itself and did not."""
        doubtful = {call.turn for call in disk.calls.values() if call.state == "unknown"}
        for turn in disk.turns.values():
            if turn.state in ("running", "queued", "waiting"):
                yield f"{turn} is not over"
            stopped = turn.state == "interrupted" and turn.undone is None
            if stopped and not turn.continued and turn.id not in doubtful:
                yield f"{turn} could have gone on by itself"


def _is_lost(seen: Streaming, last: Streaming, stored: int) -> bool:
    return (seen.turn, seen.attempt) == (last.turn, last.attempt) and seen.seq > stored


def _orphaned(disk: Disk, turn: DiskTurn) -> Orphaned:
    running = [c.id for c in disk.calls.values() if c.turn == turn.id and c.state == "running"]
    return Orphaned(
        attempt=turn.attempt,
        parts=partial_parts(disk.deltas.get(turn.id, ())),
        running=tuple(running),
        messages=frozenset([m.id for m in disk.messages.values() if m.turn == turn.id]),
    )
