"""The errors Roost raises on purpose; each docstring is the message a person reads.

RoostError
├── InvalidInput        the request itself is wrong
├── NotFound            no such thing, or not yours
├── Conflict            the state of things does not allow it
│   ├── KeyReused           an idempotency key came back with another body
│   ├── QueueChanged        a message that waits was edited or removed meanwhile
│   ├── EpochPassed         the history was rewritten meanwhile
│   └── ImportOvertaken     the session was deleted or imported meanwhile
├── AccessRefused       whoever asks may not
│   ├── NotSignedIn         nothing says who asks, or it does not hold any more
│   ├── SignInRefused       a link, or a name and a password, that open nothing
│   ├── TooManyTries        signing in was tried too often
│   ├── NotAllowed          it is known who asks, and they may not do this
│   └── NotForTokens        it is for who is signed in, not for their programs
├── Fenced              a stale writer: the session has moved on to another holder
├── Budget              a limit that was set is reached
├── FilesFull           a user's files take all that they may
├── SummaryFailed       a conversation could not be summed up
├── WorkspaceError      a workspace can't do it
│   ├── AddressRefused      an address that agents may not reach
│   ├── BrowserLost         its browser does not answer
│   ├── WorkspaceElsewhere  another server has it
│   └── WorkspaceGone       it ended, with all that ran in it
├── ConfigError         the configuration can't be used
│   ├── SettingUnknown
│   ├── SettingWrong
│   ├── AddressUnusable
│   └── PortTaken
├── DataFolderError     the data folder can't be used
├── ServerUnreachable   the server that was there does not answer
├── ModelError          a model did not answer
│   ├── KeyRefused          the provider does not take the key
│   ├── NoCredit            the account has no credit or quota left
│   ├── ModelUnknown        the provider has no such model
│   ├── ContextTooLong      the conversation does not fit the model's window
│   ├── ContentRefused      the provider's filter stopped it
│   ├── RequestRefused      the provider does not take the request, for another reason
│   ├── ReplyMalformed      what came back is not what the protocol says
│   ├── NoAnswer            the model answered with nothing
│   └── ModelTransient      worth another try
│       ├── ModelUnreachable    no connection
│       ├── RateLimited         too many requests
│       ├── ModelOverloaded     the provider has trouble of its own
│       ├── ModelStalled        nothing came for too long
│       └── StreamCut           the answer broke off
├── ChannelError        a messaging platform did not do it
│   ├── ChannelBusy         it takes no more for some seconds
│   ├── ChannelLost         no connection, or trouble of its own
│   ├── ChannelRefused      it does not take the token, or a right is missing
│   └── Undeliverable       it will never take this
├── MemoryFailed        a memory could not take, give or forget something
│   ├── MemoryUnusable      what a model made of it is no use, and was paid for
│   └── MemoryWaits         it could, but may not now
└── StoreError          the store can't do it
    ├── StoreOwned          another process holds it
    ├── StoreTooNew         it was written by a newer Roost
    ├── StoreDamaged        its integrity check fails
    ├── StoreLost           what is left of it can't be made a store again
    ├── StoreFull           no room is left on the disk
    ├── StoreUnavailable    the operating system refused a read or a write
    │   └── BytesMissing        those of an attachment are lost
    ├── StoreContradicted   a write does not go with what is stored
    ├── BackupFailed        it could not be copied
    └── StoreClosed
"""

import inspect
import re
from typing import ClassVar


class RoostError(Exception):
    """Something went wrong: {detail}"""

    code: ClassVar[str] = "error"
    """Names the kind to programs: rate-limited, key-refused, ..."""

    def __init_subclass__(cls) -> None:
        cls.code = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    def __init__(self, detail: str = "", /, **facts: object) -> None:
        self.facts = facts
        template = inspect.cleandoc(type(self).__doc__ or "").replace("\n", " ")
        super().__init__(template.format(detail=detail, **facts))


class InvalidInput(RoostError):
    """{detail}"""


class NotFound(RoostError):
    """There is no {what} {id} here."""

    def __init__(self, what: str, id: object) -> None:
        super().__init__(what=what, id=id)


class Conflict(RoostError):
    """{detail}"""


class KeyReused(Conflict):
    """The idempotency key {key} was used for another message. Send this one with a new key."""


class QueueChanged(Conflict):
    """{detail}"""


class EpochPassed(Conflict):
    """The history was rewritten meanwhile (epoch {expected}, now {actual}). Read it again first."""


class ImportOvertaken(Conflict):
    """Session {id} was deleted, or imported by somebody else, meanwhile. Try again."""


class AccessRefused(RoostError):
    """{detail}"""


class NotSignedIn(AccessRefused):
    """Sign in first: what came with the request says nobody, or has expired or been revoked."""


class SignInRefused(AccessRefused):
    """{detail}"""


class TooManyTries(AccessRefused):
    """Signing in was tried too often. Wait {seconds} seconds, or use a link: `roost user link`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds=seconds)
        self.seconds = seconds


class NotAllowed(AccessRefused):
    """This needs {scope!r}, which this sign-in or token does not have."""


class NotForTokens(AccessRefused):
    """A token can't see to its user's account. Do it signed in with a browser, or with an admin's
    token that has the scope admin."""


class Fenced(RoostError):
    """This writer no longer holds session {session}: its token {token} is stale. Nothing was
    written."""


class Budget(RoostError):
    """{detail}, which is its limit (limits.{setting}). What there is of the answer is kept."""


class FilesFull(RoostError):
    """Your files take {used:.0f} MB, and {most:.0f} MB is the limit (limits.files_mb). Delete
    sessions that have large ones: a day later there is room again."""


class SummaryFailed(RoostError):
    """The conversation could not be summed up: no model did it. Nothing was changed. Try again
    later, or choose another with models.small."""


class WorkspaceError(RoostError):
    """The workspace can't do this: {detail}"""


class AddressRefused(WorkspaceError):
    """{address} can't be reached from here: {detail}"""


class BrowserLost(WorkspaceError):
    """The browser does not answer: {detail}"""


class WorkspaceElsewhere(WorkspaceError):
    """This session's files and processes are on another server, {server}{detail}"""

    def __init__(self, server: str, *, there: bool = True) -> None:
        now = ". Ask that server for them, or ask the agent: it works there."
        later = (
            ", which is not there now. Start it again, or write to the agent: it gets another "
            "workspace, and these are out of reach."
        )
        super().__init__(now if there else later, server=server)


class WorkspaceGone(WorkspaceError):
    """The workspace has ended: {detail}"""


class ConfigError(RoostError):
    """{detail}"""


class SettingUnknown(ConfigError):
    """There is no setting {key} (from {source}).{hint}"""


class SettingWrong(ConfigError):
    """The setting {key} (from {source}) is wrong: expected {expected}, got {value}."""


class AddressUnusable(ConfigError):
    """Roost can't listen on {host}, port {port}: {reason}. Choose others with --host and --port."""


class PortTaken(ConfigError):
    """Port {port} on {host} is taken by another program. Choose another with --port."""


class DataFolderError(RoostError):
    """The data folder {folder} can't be used: {detail}"""


class ServerUnreachable(RoostError):
    """The server can't be reached: {detail}"""


class ModelError(RoostError):
    """{provider} did not answer: {detail}"""


class KeyRefused(ModelError):
    """{provider} does not accept the key ({detail}). Check it, or enter a new one."""


class NoCredit(ModelError):
    """The account at {provider} has no credit or quota left ({detail}). Top it up, or choose
    another model."""


class ModelUnknown(ModelError):
    """{provider} has no model {model} ({detail}). `roost models` lists those that are there."""


class ContextTooLong(ModelError):
    """The conversation is too long for {model} ({detail}). Compact it, or choose a model with a
    larger window."""


class ContentRefused(ModelError):
    """{provider} refused to answer ({detail}). Say it differently, or choose another model."""


class RequestRefused(ModelError):
    """{provider} refused the request: {detail}"""


class ReplyMalformed(ModelError):
    """{provider} sent something that can't be read: {detail}. If it is a server of your own, check
    that it speaks the protocol it is configured for."""


class NoAnswer(ModelError):
    """{model} answered with nothing. Retry, or choose another model."""


class ModelTransient(ModelError):
    """{provider} could not answer just now: {detail}"""


class ModelUnreachable(ModelTransient):
    """{provider} can't be reached: {detail}. Check the connection and the address."""


class RateLimited(ModelTransient):
    """{provider} takes no more requests for now ({detail}). Wait a little, or choose another
    model."""


class ModelOverloaded(ModelTransient):
    """{provider} is overloaded or down ({detail}). Wait a little, or choose another model."""


class ModelStalled(ModelTransient):
    """{provider} sent nothing for {seconds} seconds. Retry, or choose another model."""


class StreamCut(ModelTransient):
    """The answer from {provider} broke off: {detail}."""


class ChannelError(RoostError):
    """The channel {channel} failed: {detail}"""

    def __init__(self, channel: str, detail: str) -> None:
        super().__init__(detail, channel=channel)


class ChannelBusy(ChannelError):
    """The channel {channel} takes no more for {seconds} seconds."""

    def __init__(self, channel: str, seconds: float) -> None:
        RoostError.__init__(self, channel=channel, seconds=seconds)
        self.seconds = seconds


class ChannelLost(ChannelError):
    """The channel {channel} can't be reached: {detail}. It is tried again."""


class ChannelRefused(ChannelError):
    """The channel {channel} does not let Roost in: {detail}. Check its token and its rights."""


class Undeliverable(ChannelError):
    """The channel {channel} will not take this: {detail}"""


class MemoryFailed(RoostError):
    """The memory {provider} failed: {detail}. It is tried again."""


class MemoryUnusable(MemoryFailed):
    """The memory {provider} failed: {detail}. It is tried again, a few times."""


class MemoryWaits(MemoryFailed):
    """The memory {provider} waits: {detail}. It is tried again."""


class StoreError(RoostError):
    """The store failed: {detail}"""


class StoreOwned(StoreError):
    """The data folder {folder} is in use by {owner}. Stop that one first, or choose another
    folder with --data."""


class StoreTooNew(StoreError):
    """The store {path} needs a newer Roost (its schema {version} asks for {minimum}, this one knows
    {known}). Nothing was changed. Upgrade Roost, or restore a backup made before the upgrade."""


class StoreDamaged(StoreError):
    """The store {path} is damaged: {detail}. Run `roost doctor --repair`; it makes a copy first."""


class StoreLost(StoreError):
    """The store {path} can't be repaired: {detail}. It was left as it was. Restore a backup."""


class StoreFull(StoreError):
    """No room is left for the store {path}. Nothing of this request was written. Free some disk
    space and try again."""


class StoreUnavailable(StoreError):
    """The store {path} could not be read or written: {detail}. Nothing of this request was
    confirmed; it is safe to try again."""


class BytesMissing(StoreUnavailable):
    """The bytes of the attachment {id} are missing in {path}. Whoever stores the same file again
    brings them back."""


class StoreContradicted(StoreError):
    """This does not go with what is stored, so nothing of it was written, nor will it be if it is
    tried again. The log says more; if it comes back, run `roost doctor`."""


class BackupFailed(StoreError):
    """The backup {path} was not made: {detail}. Nothing is left of it."""


class StoreClosed(StoreError):
    """The store is closed."""


def reason_of(error: Exception) -> str:
    """Why a turn failed: a word for programs, a colon, and a sentence for people."""
    if not isinstance(error, RoostError):
        return "internal: Roost met an error it did not expect. The log says more."
    return f"{error.code}: {error}"
