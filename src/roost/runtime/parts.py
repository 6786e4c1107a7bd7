"""What the application is made of."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from roost.agent.loop import Agent
from roost.core.config import LimitsConfig
from roost.memory.base import MemoryProvider
from roost.runtime.agents import Agents
from roost.runtime.building import Builder
from roost.runtime.catalogue import Catalogue
from roost.runtime.checkpoint import Checkpoints
from roost.runtime.compactions import Compactions
from roost.runtime.contacts import Contacts
from roost.runtime.delivery import Delivery
from roost.runtime.feed import Feeds
from roost.runtime.heartbeat import Vacancy
from roost.runtime.hub import Hub
from roost.runtime.memory_commits import MemoryCommits
from roost.runtime.metrics import Metrics
from roost.runtime.models import Models
from roost.runtime.switchboard import Switchboard
from roost.runtime.turns import Turns
from roost.store.store import Store
from roost.workspace.workspaces import Workspaces


class Memories(NamedTuple):
    """The providers by name, and the one that turns are remembered by now."""

    providers: Mapping[str, MemoryProvider]
    provider: str
    profile: str


class Parts(NamedTuple):
    """What the application is made of."""

    store: Store
    hub: Hub
    checkpoints: Checkpoints
    turns: Turns
    agents: Agents[Agent]
    builder: Builder
    compactions: Compactions
    memory: MemoryCommits
    workspaces: Workspaces | None
    feeds: Feeds
    memories: Memories
    catalogue: Catalogue
    models: Models
    metrics: Metrics
    limits: LimitsConfig
    alarm: asyncio.Event
    """Is set when schedules have changed."""
    delivery: Delivery
    switchboard: Switchboard
    contacts: Contacts
    vacancy: Vacancy
