"""How a session stands, by the events so far: what is under way, and what is asked."""

from collections.abc import Sequence

from roost.core.approvals import Approval
from roost.core.events import Changed, SessionEvent, Snapshot, TurnUpdated
from roost.core.ids import ApprovalId, TurnId
from roost.core.turns import ENDED, Turn, TurnState


class Standing:
    def __init__(self) -> None:
        self._open: dict[TurnId, TurnState] = {}
        self._asked: dict[ApprovalId, Approval] = {}

    @property
    def busy(self) -> bool:
        """A turn is under way, waits for a person, or is about to begin."""
        return bool(self._open)

    @property
    def current(self) -> TurnId | None:
        """The turn under way, or the one that is next."""
        under_way = [turn for turn, state in self._open.items() if state != "queued"]
        return next(iter([*under_way, *self._open]), None)

    def state(self, turn: TurnId) -> TurnState | None:
        """None once it has ended."""
        return self._open.get(turn)

    @property
    def question(self) -> Approval | None:
        """The first that waits for an answer."""
        return next(iter(self._asked.values()), None)

    def began(self, turn: Turn) -> None:
        """A turn was handed in here. Its events follow, unless it was there already."""
        if turn.state not in ENDED:
            self._open.setdefault(turn.id, turn.state)

    def take(self, event: SessionEvent) -> None:
        if isinstance(event, Snapshot):
            live = [] if event.turn is None else [event.turn]
            self._open = {turn.id: turn.state for turn in (*live, *event.queue)}
            self._asked = {}
            self._see(event.approvals)
        elif isinstance(event, Changed):
            for each in event.events:
                if isinstance(each, TurnUpdated):
                    self._move(each)
            self._see(event.approvals)

    def _move(self, event: TurnUpdated) -> None:
        if event.state in ENDED:
            self._open.pop(event.turn, None)
        else:
            self._open[event.turn] = event.state

    def _see(self, approvals: Sequence[Approval]) -> None:
        for approval in approvals:
            if approval.state == "pending":
                self._asked[approval.id] = approval
            else:
                self._asked.pop(approval.id, None)
