"""The store as the rest of Roost sees it: what is everyone's, and what is one user's."""

import os
import socket
from abc import ABC, abstractmethod

from roost.core.ids import UserId
from roost.store.approvals import Approvals
from roost.store.blobs import BlobBytes, Blobs
from roost.store.branches import Branches
from roost.store.cipher import Cipher
from roost.store.facts import Facts
from roost.store.figures import CommitFigures, Database
from roost.store.history import Histories
from roost.store.inbox import Inbox
from roost.store.leases import Leases
from roost.store.memory import MemoryMarks
from roost.store.operations import Engine
from roost.store.outbox import Outbox
from roost.store.pairings import Pairings
from roost.store.queue import Queue
from roost.store.rules import Rules
from roost.store.schedules import Schedules, Ticks
from roost.store.search import Search
from roost.store.servers import Servers
from roost.store.sessions import Sessions
from roost.store.sign_ins import AllSignIns, SignIns
from roost.store.signals import Signals
from roost.store.streams import Streams
from roost.store.tokens import AllTokens, Tokens
from roost.store.transfer import Transfer
from roost.store.turns import Turns
from roost.store.upkeep import Retention, Upkeep
from roost.store.usage import Usages
from roost.store.users import SERVER, OwnCaps, Secrets, Settings, Users
from roost.store.vectors import FactVectors
from roost.store.work import Work


class UserStore:
    """One user's rows. Nothing here can see, or be made to see, another user's."""

    def __init__(self, engine: Engine, user: UserId, bytes: BlobBytes, cipher: Cipher) -> None:
        self.sessions = Sessions(engine, user)
        self.queue = Queue(engine, user)
        self.turns = Turns(engine, user)
        self.approvals = Approvals(engine, user)
        self.rules = Rules(engine, user)
        self.schedules = Schedules(engine, user)
        self.history = Histories(engine, user)
        self.branches = Branches(engine, user)
        self.search = Search(engine, user)
        self.facts = Facts(engine, user)
        self.vectors = FactVectors(engine, user)
        self.usage = Usages(engine, user)
        self.blobs = Blobs(engine, user, bytes)
        self.transfer = Transfer(engine, user, self.blobs)
        self.settings = Settings(engine, user)
        self.secrets = Secrets(engine, user, cipher)
        self.sign_ins = SignIns(engine, user)
        self.tokens = Tokens(engine, user)
        self.caps = OwnCaps(engine, user)


class Store(ABC):
    """What belongs to no user in particular, and the way to those that do."""

    def __init__(
        self,
        engine: Engine,
        bytes: BlobBytes,
        cipher: Cipher,
        *,
        lease_ttl: float,
        retention: Retention,
        host: str | None = None,
    ) -> None:
        """`host` is what this server is called among others, if that is not its machine's name."""
        self.users = Users(engine)
        self.sign_ins = AllSignIns(engine)
        self.tokens = AllTokens(engine)
        server = host or socket.gethostname()
        self.leases = Leases(engine, lease_ttl, f"{server}:{os.getpid()}")
        self.work = Work(engine, lease_ttl, server)
        self.streams = Streams(engine)
        self.memory = MemoryMarks(engine)
        self.ticks = Ticks(engine)
        self.inbox = Inbox(engine)
        self.outbox = Outbox(engine)
        self.pairings = Pairings(engine)
        self.upkeep = Upkeep(engine, bytes, retention)
        self.settings = Settings(engine, SERVER)
        self.secrets = Secrets(engine, SERVER, cipher)
        self.signing_key = cipher.signing_key
        self._engine = engine
        self._bytes = bytes
        self._cipher = cipher

    @property
    def signals(self) -> Signals | None:
        """To and from the other servers on this store. None where there can be no other."""
        return None

    @property
    def servers(self) -> Servers | None:
        """Those on this store, this one among them. None where there can be no other."""
        return None

    @property
    def figures(self) -> CommitFigures:
        return self._engine.figures

    @abstractmethod
    async def database(self) -> Database:
        """What it is in."""

    def of(self, user: UserId) -> UserStore:
        return UserStore(self._engine, user, self._bytes, self._cipher)
