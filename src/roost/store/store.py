"""The store as the rest of Roost sees it: what is everyone's, and what is one user's."""

from roost.core.ids import UserId
from roost.store.approvals import Approvals
from roost.store.blobs import BlobFiles, Blobs
from roost.store.cipher import Cipher
from roost.store.facts import Facts
from roost.store.figures import CommitFigures
from roost.store.history import Histories
from roost.store.leases import Leases
from roost.store.memory import MemoryMarks
from roost.store.operations import Engine
from roost.store.queue import Queue
from roost.store.rules import Rules
from roost.store.search import Search
from roost.store.sessions import Sessions
from roost.store.sign_ins import AllSignIns, SignIns
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

    def __init__(self, engine: Engine, user: UserId, files: BlobFiles, cipher: Cipher) -> None:
        self.sessions = Sessions(engine, user)
        self.queue = Queue(engine, user)
        self.turns = Turns(engine, user)
        self.approvals = Approvals(engine, user)
        self.rules = Rules(engine, user)
        self.history = Histories(engine, user)
        self.search = Search(engine, user)
        self.facts = Facts(engine, user)
        self.vectors = FactVectors(engine, user)
        self.usage = Usages(engine, user)
        self.blobs = Blobs(engine, user, files)
        self.transfer = Transfer(engine, user, self.blobs)
        self.settings = Settings(engine, user)
        self.secrets = Secrets(engine, user, cipher)
        self.sign_ins = SignIns(engine, user)
        self.tokens = Tokens(engine, user)
        self.caps = OwnCaps(engine, user)


class Store:
    """What belongs to no user in particular, and the way to those that do."""

    def __init__(
        self,
        engine: Engine,
        files: BlobFiles,
        cipher: Cipher,
        *,
        lease_ttl: float,
        retention: Retention,
    ) -> None:
        self.users = Users(engine)
        self.sign_ins = AllSignIns(engine)
        self.tokens = AllTokens(engine)
        self.leases = Leases(engine, lease_ttl)
        self.work = Work(engine, lease_ttl)
        self.memory = MemoryMarks(engine)
        self.upkeep = Upkeep(engine, files, retention)
        self.settings = Settings(engine, SERVER)
        self.secrets = Secrets(engine, SERVER, cipher)
        self.signing_key = cipher.signing_key
        self._engine = engine
        self._files = files
        self._cipher = cipher

    @property
    def figures(self) -> CommitFigures:
        return self._engine.figures

    def of(self, user: UserId) -> UserStore:
        return UserStore(self._engine, user, self._files, self._cipher)
