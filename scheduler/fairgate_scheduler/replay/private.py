"""The yardstick: each tenant alone on the accelerators that it is entitled to, as if nothing were ever shared.

A plain list schedule: whenever something is free, the first job of the tenant's order that fits starts, and nobody is
evicted. A gang larger than the whole private cluster gets all of it for proportionally longer. That is the baseline of
HiveD's sharing anomaly (OSDI'20) and, with its queue, of Themis's finish-time fairness (NSDI'20).
"""

import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairgate_scheduler.core.contenders import rank_of
from fairgate_scheduler.replay.load import Arrival

Place = tuple[str, int]
"""A flavor, and how many of its accelerators."""


@dataclass(frozen=True, slots=True)
class _Need:
    """How a job runs there: its places in the order of its options, and how much longer than in the log."""

    places: tuple[Place, ...]
    longer: tuple[int, int] = (1, 1)


def finish_times_ms(arrivals: Iterable[Arrival], clusters: Mapping[str, Mapping[str, int]]) -> Mapping[str, int]:
    """When each job would finish in the private cluster of its tenant; jobs of tenants that have none are left out.

    ``clusters``: tenant → flavor → accelerators.
    """
    by_tenant: dict[str, list[Arrival]] = {}
    for each in arrivals:
        by_tenant.setdefault(each.job.tenant, []).append(each)
    out: dict[str, int] = {}
    for tenant, jobs in by_tenant.items():
        out.update(_Private(jobs, clusters[tenant]).run())
    return out


class _Private:
    def __init__(self, jobs: Sequence[Arrival], cluster: Mapping[str, int]) -> None:
        self._cluster = cluster
        self._free = dict(cluster)
        self._needs: dict[tuple[int, tuple[str, ...]], _Need | None] = {}
        self._jobs = sorted(jobs, key=lambda each: (each.job.submitted_at_ms, rank_of(each.job)))
        self._waiting: dict[tuple[_Need, int], deque[Arrival]] = {}
        self._ends: list[tuple[int, int, Place]] = []
        self._finished: dict[str, int] = {}

    def run(self) -> Mapping[str, int]:
        jobs = [(each, need) for each in self._jobs if (need := self._need(each)) is not None][::-1]
        while jobs or self._ends:
            now_ms = min([each[0].job.submitted_at_ms for each in jobs[-1:]] + [each[0] for each in self._ends[:1]])
            while self._ends and self._ends[0][0] == now_ms:
                flavor, count = heapq.heappop(self._ends)[2]
                self._free[flavor] += count
            while jobs and jobs[-1][0].job.submitted_at_ms == now_ms:
                each, need = jobs.pop()
                self._waiting.setdefault((need, -each.job.priority), deque()).append(each)
            while self._start(now_ms):
                pass
        return self._finished

    def _start(self, now_ms: int) -> bool:
        """Start the first job that fits, if there is one. Jobs with equal needs wait in one line."""
        first: tuple[Arrival, _Need, Place] | None = None
        for (need, _), line in self._waiting.items():
            if first is None or rank_of(line[0].job) < rank_of(first[0].job):
                place = next((each for each in need.places if self._free[each[0]] >= each[1]), None)
                if place is not None:
                    first = line[0], need, place
        if first is None:
            return False
        arrival, need, (flavor, count) = first
        key = (need, -arrival.job.priority)
        self._waiting[key].popleft()
        if not self._waiting[key]:
            del self._waiting[key]
        self._free[flavor] -= count
        end_ms = now_ms + -(-arrival.run_ms * need.longer[0] // need.longer[1])
        self._finished[arrival.job.id] = end_ms
        heapq.heappush(self._ends, (end_ms, len(self._finished), (flavor, count)))
        return True

    def _need(self, arrival: Arrival) -> _Need | None:
        """``None``: it never runs here, as nothing that it can use is there."""
        flavors = tuple(option.flavor for option in arrival.job.options)
        key = (arrival.accelerators, flavors)
        if key not in self._needs:
            self._needs[key] = self._make_need(arrival.accelerators, flavors)
        return self._needs[key]

    def _make_need(self, count: int, flavors: tuple[str, ...]) -> _Need | None:
        places = tuple((flavor, count) for flavor in flavors if self._cluster.get(flavor, 0) >= count)
        if places:
            return _Need(places)
        largest = max(flavors, key=lambda flavor: self._cluster.get(flavor, 0))
        size = self._cluster.get(largest, 0)
        return _Need(((largest, size),), (count, size)) if size else None
