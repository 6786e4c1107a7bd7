"""What the fields of a request may be: bounded, so that whatever passes can be stored."""

from typing import Annotated

from msgspec import Meta

from roost.core.ids import (
    BLOB_ID,
    MESSAGE_ID,
    SESSION_ID,
    TURN_ID,
    BlobId,
    MessageId,
    ScheduleId,
    SessionId,
    TurnId,
)
from roost.core.messages import LONGEST

Number = Annotated[int, Meta(ge=0, lt=10**15)]
"""One that every database and every JSON reader can hold."""
Phrase = Annotated[str, Meta(min_length=1, max_length=500)]
Text = Annotated[str, Meta(max_length=LONGEST)]

GivenSession = Annotated[SessionId, Meta(pattern=SESSION_ID)]
GivenMessage = Annotated[MessageId, Meta(pattern=MESSAGE_ID)]
GivenTurn = Annotated[TurnId, Meta(pattern=TURN_ID)]
GivenBlob = Annotated[BlobId, Meta(pattern=BLOB_ID)]

# Ids that a client makes itself are as long as ours: they become part of event ids.
OwnSession = Annotated[SessionId, Meta(pattern=r"^ses_[0-9a-z]{26}$(?!\n)")]
OwnSchedule = Annotated[ScheduleId, Meta(pattern=r"^sch_[0-9a-z]{26}$(?!\n)")]
OwnTurn = Annotated[TurnId, Meta(pattern=r"^trn_[0-9a-z]{26}$(?!\n)")]
