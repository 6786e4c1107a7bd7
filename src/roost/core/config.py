"""The configuration: one frozen struct, with everything that can be set and its default."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import msgspec

from roost.core.keys import Key, StoreAddress
from roost.core.settings import (
    BaseUrl,
    Choice,
    Count,
    Dollars,
    GroupsName,
    HostName,
    LogLevel,
    MembersName,
    Money,
    NetworkName,
    Percent,
    Port,
    ResetRule,
    SandboxName,
    ScopeName,
    SearchName,
    SharingName,
    ToolsetName,
    VariableName,
    VendorName,
    Window,
    WireName,
)


class ServerConfig(msgspec.Struct, frozen=True):
    """`names` are those that Roost is reached by besides its address; `proxies` are the addresses
    whose word counts on where a request came from."""

    host: str = "127.0.0.1"
    port: Port = Port(7667)
    grace: timedelta = timedelta(seconds=10)
    names: tuple[HostName, ...] = ()
    proxies: tuple[NetworkName, ...] = ()
    tls_cert: str | None = None
    tls_key: str | None = None


class LogConfig(msgspec.Struct, frozen=True):
    level: LogLevel = "info"


class LeaseConfig(msgspec.Struct, frozen=True):
    ttl: timedelta = timedelta(seconds=30)


class AgentsConfig(msgspec.Struct, frozen=True):
    max: Count = Count(128)
    idle_ttl: timedelta = timedelta(hours=1)


class ApprovalsConfig(msgspec.Struct, frozen=True):
    """Rules are written `tool` or `tool: pattern`. Of those that match, deny goes before ask, and
    ask before allow."""

    ttl: timedelta = timedelta(days=1)
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ToolsConfig(msgspec.Struct, frozen=True):
    """`toolset` is what sessions begin with that choose none."""

    toolset: ToolsetName = "full"
    subagents: Count = Count(4)
    subagent_depth: Count = Count(2)


class WorkspacesConfig(msgspec.Struct, frozen=True):
    """`read` and `write` are folders of this machine that agents may use besides their own; what is
    under `disk_floor` (in megabytes) of free disk is left free."""

    sandbox: SandboxName = "auto"
    idle_ttl: timedelta = timedelta(hours=12)
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    processes: Count = Count(256)
    memory: Count | None = None
    disk_floor: Count = Count(500)


class WebConfig(msgspec.Struct, frozen=True):
    """`url` is where a search service of one's own is; `options` may hold its `key`."""

    search: SearchName = "none"
    url: BaseUrl | None = None
    options: Mapping[str, Key] = {}
    browser: Choice = "yes"


class McpConfig(msgspec.Struct, frozen=True):
    """A server of tools: a command to run, or an address."""

    command: tuple[str, ...] = ()
    url: BaseUrl | None = None
    environment: Mapping[VariableName, Key] = {}
    headers: Mapping[str, Key] = {}
    timeout: timedelta = timedelta(seconds=60)


class CompactionConfig(msgspec.Struct, frozen=True):
    """`threshold` is in percent of the model's window; a session that is two thirds of the way
    there and idle for `idle` is compacted while nobody waits."""

    threshold: Percent = Percent(75)
    idle: timedelta = timedelta(minutes=5)


class MemoryConfig(msgspec.Struct, frozen=True):
    """`provider` and `profile` are the scope that turns are remembered under; the provider `none`
    remembers nothing. `options` are the provider's own, and may hold its key."""

    provider: ScopeName = ScopeName("builtin")
    profile: ScopeName = ScopeName("default")
    idle_commit: timedelta = timedelta(minutes=30)
    timeout: timedelta = timedelta(seconds=60)
    grace: timedelta = timedelta(seconds=10)
    options: Mapping[str, Key] = {}


class RecoveryConfig(msgspec.Struct, frozen=True):
    auto_continue: Window = Window(timedelta(minutes=10))


class LimitsConfig(msgspec.Struct, frozen=True):
    """What a turn, a session, and a user in one day (UTC) may take; costs are in dollars. What the
    files of a user may take together is in megabytes."""

    turn_steps: Count = Count(100)
    turn_time: timedelta = timedelta(hours=1)
    turn_tokens: Count | None = None
    turn_cost: Money | None = None
    session_tokens: Count | None = None
    session_cost: Money | None = None
    day_tokens: Count | None = None
    day_cost: Money | None = None
    files_mb: Count = Count(10_000)


class RetentionConfig(msgspec.Struct, frozen=True):
    idempotency_keys: timedelta = timedelta(days=7)
    inbox: timedelta = timedelta(days=30)
    events: timedelta = timedelta(days=30)


class PriceConfig(msgspec.Struct, frozen=True):
    """What a model costs, where it is not what the price list says. Without prices of their own,
    cached tokens cost what `input` costs, and so do those that are written to the cache."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    cache_write: Dollars | None = None


class ModelsConfig(msgspec.Struct, frozen=True):
    """`default`, `small` and `fallbacks` are written provider/model; so are the names of `prices`,
    where `*` stands for anything. `small` does the small work, such as titles."""

    default: str | None = None
    small: str | None = None
    fallbacks: tuple[str, ...] = ()
    prices: Mapping[str, PriceConfig] = {}


class ProviderConfig(msgspec.Struct, frozen=True):
    """Where models are. Its key is not here: `load_keys` reads that."""

    vendor: VendorName | None = None
    base_url: BaseUrl | None = None
    key_env: VariableName | None = None
    wire: WireName | None = None
    context: Count | None = None
    models: tuple[str, ...] = ()
    headers: Mapping[str, Key] = {}


class ChannelSetup(msgspec.Struct, frozen=True):
    """A messaging account. `kind` is the platform, if that is not its name. In `groups` it listens
    when it is mentioned, to all, or to none; `members` says whether only those who are paired are
    heard there, and `sessions` whether they share one. `allow` are senders who need no code,
    `block` those who are never answered. While it is `paused` it is not connected, and what is to
    be sent waits."""

    kind: ScopeName | None = None
    groups: GroupsName = "mention"
    members: MembersName = "paired"
    sessions: SharingName = "group"
    reset: ResetRule = ResetRule("never")
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    paused: Choice = "no"


class ChannelConfig(ChannelSetup, frozen=True):
    """`options` are the platform's own, and hold its token."""

    options: Mapping[str, Key] = {}


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """`store` is the database that several servers share; without it there is a file in `data`.
    `store_direct` is the same database past a pooler, for what a pooler does not pass on."""

    data: Path
    store: StoreAddress | None = None
    store_direct: StoreAddress | None = None
    server: ServerConfig = ServerConfig()
    log: LogConfig = LogConfig()
    leases: LeaseConfig = LeaseConfig()
    agents: AgentsConfig = AgentsConfig()
    approvals: ApprovalsConfig = ApprovalsConfig()
    tools: ToolsConfig = ToolsConfig()
    workspaces: WorkspacesConfig = WorkspacesConfig()
    web: WebConfig = WebConfig()
    mcp: Mapping[str, McpConfig] = {}
    channels: Mapping[str, ChannelConfig] = {}
    compaction: CompactionConfig = CompactionConfig()
    memory: MemoryConfig = MemoryConfig()
    recovery: RecoveryConfig = RecoveryConfig()
    limits: LimitsConfig = LimitsConfig()
    retention: RetentionConfig = RetentionConfig()
    models: ModelsConfig = ModelsConfig()
    providers: Mapping[str, ProviderConfig] = {}
