"""How everything stands at this moment, for Prometheus: read when it is asked for."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from roost import __version__
from roost.runtime.parts import Parts
from roost.store.figures import WorkFigures
from roost.store.memory import MemoryStatus


async def scrape(parts: Parts) -> bytes:
    """What was counted since the start, and how things stand."""
    work = await parts.store.work.figures()
    memory = await parts.memory.status(None)
    found = [
        *_versions(),
        *_turns(parts, work),
        *_agents(parts),
        *_store(parts),
        *_memory(parts, memory),
        *_surfaces(parts),
    ]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Read(found))
    return parts.metrics.text() + generate_latest(registry)


class _Read(Collector):
    def __init__(self, found: Iterable[Metric]) -> None:
        self._found = found

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        return self._found


def _versions() -> Iterator[Metric]:
    yield _gauge("roost_info", "Which Roost it is.", {__version__: 1}, label="version")


def _turns(parts: Parts, work: WorkFigures) -> Iterator[Metric]:
    yield _gauge("roost_turns_running", "Turns that run.", len(parts.turns))
    yield _gauge("roost_turns_queued", "Messages that wait for their turn.", work.queued)
    yield _gauge("roost_turns_parked", "Turns that wait for a person.", work.parked)
    yield _gauge("roost_approvals_pending", "Questions that nobody answered yet.", work.asked)


def _agents(parts: Parts) -> Iterator[Metric]:
    counts = parts.agents.counts
    live = {"busy": counts.busy, "idle": counts.live - counts.busy}
    yield _gauge("roost_agents", "Live agents in the cache.", live, label="state")
    yield _counter("roost_agent_cache_hits", "Turns that found their agent live.", counts.hits)
    yield _counter("roost_agent_cache_misses", "Agents that were built.", counts.builds)
    yield _counter(
        "roost_agent_cache_evictions", "Agents that the cap or the sweep dropped.", counts.evictions
    )


def _store(parts: Parts) -> Iterator[Metric]:
    ticks, commits = parts.checkpoints.figures, parts.store.figures
    yield _gauge("roost_leases_held", "Sessions that this process holds.", ticks.leases)
    yield _summary(
        "roost_checkpoint_seconds",
        "Checkpoints, and how long they took.",
        ticks.ticks,
        ticks.seconds,
    )
    yield _summary(
        "roost_checkpoint_turns", "Streaming turns in a checkpoint.", ticks.ticks, ticks.turns
    )
    yield _summary(
        "roost_checkpoint_deltas", "Streamed pieces in a checkpoint.", ticks.ticks, ticks.deltas
    )
    yield _counter("roost_checkpoint_failures", "Checkpoints that failed.", ticks.failures)
    yield _summary(
        "roost_store_commit_seconds",
        "Commits to the store, and how long they took.",
        commits.commits,
        commits.seconds,
    )
    yield _summary(
        "roost_store_commit_operations",
        "Operations that share a commit.",
        commits.commits,
        commits.operations,
    )
    yield _gauge("roost_store_waiting", "Operations that wait to be written.", commits.waiting)
    yield _gauge("roost_store_log_pages", "Pages in the write-ahead log.", commits.log_pages)


def _memory(parts: Parts, status: MemoryStatus) -> Iterator[Metric]:
    outcomes = {"committed": 0, "failed": 0, "put off": 0, **parts.memory.outcomes}
    counted = CounterMetricFamily(
        "roost_memory_commits", "Tries to bring turns to memory.", labels=["outcome"]
    )
    for outcome, number in outcomes.items():
        counted.add_metric([outcome.replace(" ", "_")], number)
    yield counted
    yield _gauge("roost_memory_commits_running", "Commits under way.", len(parts.memory))
    yield _gauge("roost_memory_turns_marked", "Turns that no commit has yet.", status.marked)
    segments = {
        "waiting": status.pending - status.failing,
        "failing": status.failing,
        "resting": status.resting,
    }
    yield _gauge("roost_memory_segments", "What memory has not taken.", segments, label="state")
    yield _gauge(
        "roost_memory_unforgotten", "Deleted sessions that memory still has.", status.unforgotten
    )


def _surfaces(parts: Parts) -> Iterator[Metric]:
    streams = {"session": parts.hub.watchers, "feed": parts.feeds.watchers}
    yield _gauge("roost_streams_open", "Who watches, live.", streams, label="kind")
    if parts.workspaces is not None:
        workspaces, processes = parts.workspaces.counts
        yield _gauge("roost_workspaces", "Workspaces that are open.", workspaces)
        yield _gauge("roost_processes", "Background processes of agents.", processes)


def _gauge(
    name: str, said: str, value: float | Mapping[str, int], *, label: str | None = None
) -> Metric:
    family = GaugeMetricFamily(name, said, labels=[] if label is None else [label])
    for one, number in ({"": value} if not isinstance(value, Mapping) else value).items():
        family.add_metric([] if label is None else [one], number)
    return family


def _counter(name: str, said: str, value: float) -> Metric:
    return CounterMetricFamily(name, said, value=value)


def _summary(name: str, said: str, count: int, total: float) -> Metric:
    return SummaryMetricFamily(name, said, count_value=count, sum_value=total)
