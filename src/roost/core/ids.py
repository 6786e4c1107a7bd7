"""Ids that sort by the time they were made and say what they name."""

import hashlib
import os
import threading
import time
from typing import NewType

UserId = NewType("UserId", str)
SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
MessageId = NewType("MessageId", str)
ToolCallId = NewType("ToolCallId", str)
BlobId = NewType("BlobId", str)
ApprovalId = NewType("ApprovalId", str)
RuleId = NewType("RuleId", str)
FactId = NewType("FactId", str)
ScheduleId = NewType("ScheduleId", str)
SignInId = NewType("SignInId", str)
ApiTokenId = NewType("ApiTokenId", str)
Token = NewType("Token", int)
"""A fencing token: grows with every claim of a lease, never goes back."""

# What an id from outside must look like. `$` alone would let a newline follow; `\Z` would not, but
# means something else in JavaScript.
_REST = r"[0-9a-z_]{1,64}$(?!\n)"
USER_ID = "^usr_" + _REST
SIGN_IN_ID = "^sgn_" + _REST
API_TOKEN_ID = "^tok_" + _REST
SESSION_ID = "^ses_" + _REST
TURN_ID = "^trn_" + _REST
MESSAGE_ID = "^msg_" + _REST
TOOL_CALL_ID = "^cal_" + _REST
APPROVAL_ID = "^apr_" + _REST
FACT_ID = "^fct_" + _REST
SCHEDULE_ID = "^sch_" + _REST
BLOB_ID = r"^[0-9a-f]{64}$(?!\n)"

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_RANDOM_BITS = 80


class _Sequence:
    """128 bits: 48 of milliseconds, 80 of chance; within a millisecond it counts on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        self._chance = b""

    def next(self) -> int:
        now = time.time_ns() // 1_000_000
        with self._lock:
            if not self._chance:
                # In bulk: asking the system for each id would cost more than all the rest of it.
                self._chance = os.urandom(_RANDOM_BITS // 8 * 256)
            drawn = int.from_bytes(self._chance[: _RANDOM_BITS // 8])
            self._chance = self._chance[_RANDOM_BITS // 8 :]
            made = now << _RANDOM_BITS | drawn
            if made >> _RANDOM_BITS <= self._last >> _RANDOM_BITS:
                # Same millisecond, or a clock set back: stay ahead of what was given out. A stride
                # of chance rather than 1, so that one id does not tell the next.
                made = self._last + 1 + (drawn & 0xFFFFFFFF)
            self._last = made
            return made

    def begin_anew(self) -> None:
        """In a child process: its parent must not draw the same chance."""
        self._lock = threading.Lock()
        self._chance = b""


_sequence = _Sequence()
os.register_at_fork(after_in_child=_sequence.begin_anew)


def _encode(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def new_user_id() -> UserId:
    return UserId("usr_" + _encode(_sequence.next()))


def new_session_id() -> SessionId:
    return SessionId("ses_" + _encode(_sequence.next()))


def new_turn_id() -> TurnId:
    return TurnId("trn_" + _encode(_sequence.next()))


def turn_id_for(name: str, at: int) -> TurnId:
    """The turn that something from outside becomes, made at that millisecond: for one name it is
    always the same, so that it can't become two."""
    chance = hashlib.blake2b(name.encode(), digest_size=_RANDOM_BITS // 8).digest()
    return TurnId("trn_" + _encode(at << _RANDOM_BITS | int.from_bytes(chance)))


def new_message_id() -> MessageId:
    return MessageId("msg_" + _encode(_sequence.next()))


def new_tool_call_id() -> ToolCallId:
    return ToolCallId("cal_" + _encode(_sequence.next()))


def new_approval_id() -> ApprovalId:
    return ApprovalId("apr_" + _encode(_sequence.next()))


def new_rule_id() -> RuleId:
    return RuleId("rul_" + _encode(_sequence.next()))


def new_fact_id() -> FactId:
    return FactId("fct_" + _encode(_sequence.next()))


def new_schedule_id() -> ScheduleId:
    return ScheduleId("sch_" + _encode(_sequence.next()))


def new_sign_in_id() -> SignInId:
    return SignInId("sgn_" + _encode(_sequence.next()))


def new_api_token_id() -> ApiTokenId:
    return ApiTokenId("tok_" + _encode(_sequence.next()))


def derived_id(old: str, salt: str) -> str:
    """An id of the same kind in place of one that is taken: the same for the same salt."""
    kind, _, _ = old.partition("_")
    digest = hashlib.blake2b(f"{salt}\x00{old}".encode(), digest_size=16).digest()
    return f"{kind}_{_encode(int.from_bytes(digest))}"
