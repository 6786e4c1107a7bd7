"""The errors Roost raises on purpose; each docstring is the message a person reads.

RoostError
├── InvalidInput        the request itself is wrong
├── NotFound            no such thing, or not yours
├── Conflict            the state of things does not allow it
│   ├── KeyReused           an idempotency key came back with another body
│   └── EpochPassed         the history was rewritten meanwhile
├── Fenced              a stale writer: the session has moved on to another holder
├── ConfigError         the configuration can't be used
│   ├── SettingUnknown
│   ├── SettingWrong
│   ├── AddressUnusable
│   └── PortTaken
├── DataFolderError     the data folder can't be used
└── StoreError          the store can't do it
    ├── StoreOwned          another process holds it
    ├── StoreTooNew         it was written by a newer Roost
    ├── StoreDamaged        its integrity check fails
    ├── StoreFull           no room is left on the disk
    ├── StoreUnavailable    the operating system refused a read or a write
    └── StoreClosed
"""

import inspect


class RoostError(Exception):
    """Something went wrong: {detail}"""

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


class EpochPassed(Conflict):
    """The history was rewritten meanwhile (epoch {expected}, now {actual}). Read it again first."""


class Fenced(RoostError):
    """This writer no longer holds session {session}: its token {token} is stale. Nothing was
    written."""


class ConfigError(RoostError):
    """{detail}"""


class SettingUnknown(ConfigError):
    """There is no setting {key} (from {source}).{hint}"""


class SettingWrong(ConfigError):
    """The setting {key} (from {source}) is wrong: expected {expected}, got {value}."""


class AddressUnusable(ConfigError):
    """Roost can't listen on {host}, port {port}: {detail}. Choose others with --host and --port."""


class PortTaken(ConfigError):
    """Port {port} on {host} is taken by another program. Choose another with --port."""


class DataFolderError(RoostError):
    """The data folder {folder} can't be used: {detail}"""


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


class StoreFull(StoreError):
    """No room is left for the store {path}. Nothing of this request was written. Free some disk
    space and try again."""


class StoreUnavailable(StoreError):
    """The store {path} could not be read or written: {detail}. Nothing of this request was
    confirmed; it is safe to try again."""


class StoreClosed(StoreError):
    """The store is closed."""
