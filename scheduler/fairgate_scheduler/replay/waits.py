"""Why jobs waited, and what their tenants were entitled to meanwhile: one sweep over a replay that is over.

A wait counts as *capacity* as long as the tenant would stay within what it is entitled to with this job, on some
option, and there is no room for it on any; otherwise as *quota*: the tenant uses what it is entitled to already, or a
limit, budget or claim holds the job. After the two causes of queueing delay of the Philly study (Jeon et al., ATC'19).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fairgate_scheduler.replay.cluster import Cluster
from fairgate_scheduler.replay.engine import Outcome
from fairgate_scheduler.replay.load import Arrival


@dataclass(slots=True)
class Wait:
    """How long a job waited in all, and how much of it for lack of capacity."""

    total_ms: int = 0
    capacity_ms: int = 0

    @property
    def quota_ms(self) -> int:
        """The part that its tenant's quota, or a rule of the policy, made."""
        return self.total_ms - self.capacity_ms


@dataclass(frozen=True, slots=True)
class Waits:
    """``by_job``: jobs that waited at all. ``due``: tenant → accelerator·milliseconds that it was entitled to and asked
    for: at every instant the smaller of its entitlement and what its jobs, running and waiting, would take."""

    by_job: Mapping[str, Wait]
    due: Mapping[str, float]


def sweep(outcomes: Sequence[Outcome], cluster: Cluster) -> Waits:
    """Go through a replay from its begin to its end."""
    books = _Books(cluster)
    events = sorted(_events(outcomes))
    at = 0
    while at < len(events):
        now_ms = events[at][0]
        touched: set[str] = set()
        while at < len(events) and events[at][0] == now_ms:
            _, index, run, sign = events[at]
            outcome = outcomes[index]
            books.change(outcome, run, sign, now_ms)
            touched.add(outcome.arrival.job.tenant)
            at += 1
        books.judge(touched, now_ms)
    return Waits(books.waits, {name: float(leaf.due) for name, leaf in books.leaves.items()})


_WAITING = -1
_Event = tuple[int, int, int, int]
"""When, which outcome, which of its runs (or ``_WAITING``), and whether that begins (1) or ends (-1)."""


def _events(outcomes: Sequence[Outcome]) -> Iterator[_Event]:
    for index, outcome in enumerate(outcomes):
        since_ms = outcome.arrival.job.submitted_at_ms
        for number, run in enumerate(outcome.runs):
            if run.begin_ms > since_ms:
                yield since_ms, index, _WAITING, 1
                yield run.begin_ms, index, _WAITING, -1
            yield run.begin_ms, index, number, 1
            yield run.end_ms, index, number, -1
            since_ms = run.end_ms


@dataclass(slots=True)
class _Line:
    """Waiting jobs of one leaf that are alike. ``clock_ms``: how long such have waited for capacity until then."""

    options: tuple[tuple[str, int], ...]
    count: int = 0
    is_capacity: bool = False
    since_ms: int = 0
    clock_ms: int = 0

    def at(self, now_ms: int) -> int:
        return self.clock_ms + (now_ms - self.since_ms if self.is_capacity else 0)


@dataclass(slots=True)
class _Leaf:
    entitled: Mapping[str, int]
    whole: float
    used: dict[str, int]
    asked: int = 0
    due: float = 0.0
    since_ms: int = 0
    lines: dict[tuple[int, tuple[str, ...]], _Line] = field(default_factory=dict)


class _Books:
    def __init__(self, cluster: Cluster) -> None:
        self.waits: dict[str, Wait] = {}
        self.leaves = {
            leaf: _Leaf({flavor: int(part) for flavor, part in parts.items()}, float(sum(parts.values())), {})
            for leaf, parts in cluster.entitled.items()
        }
        self._free = dict(cluster.capacity)
        self._begins: dict[str, tuple[int, int]] = {}
        self._within: set[tuple[str, tuple[int, tuple[str, ...]]]] = set()

    def change(self, outcome: Outcome, run: int, sign: int, now_ms: int) -> None:
        """A job begins or ends to wait, or to run."""
        arrival = outcome.arrival
        leaf = self.leaves[arrival.job.tenant]
        leaf.due += min(leaf.whole, leaf.asked) * (now_ms - leaf.since_ms)
        leaf.since_ms = now_ms
        leaf.asked += sign * arrival.accelerators
        if run == _WAITING:
            self._wait(leaf, arrival, sign, now_ms)
            return
        flavor = arrival.job.options[outcome.runs[run].option].flavor
        leaf.used[flavor] = leaf.used.get(flavor, 0) + sign * arrival.accelerators
        self._free[flavor] -= sign * arrival.accelerators

    def judge(self, touched: set[str], now_ms: int) -> None:
        """Say of all that wait why they do from now on, where that can have changed."""
        keys = {(name, key) for name in touched for key in self.leaves[name].lines} | self._within
        for name, key in keys:
            leaf = self.leaves[name]
            line = leaf.lines[key]
            line.clock_ms, line.since_ms = line.at(now_ms), now_ms
            is_within = line.count > 0 and any(
                leaf.used.get(flavor, 0) + count <= leaf.entitled[flavor] for flavor, count in line.options
            )
            line.is_capacity = is_within and not any(self._free[flavor] >= count for flavor, count in line.options)
            (self._within.add if is_within else self._within.discard)((name, key))

    def _wait(self, leaf: _Leaf, arrival: Arrival, sign: int, now_ms: int) -> None:
        flavors = tuple(option.flavor for option in arrival.job.options)
        key = (arrival.accelerators, flavors)
        line = leaf.lines.get(key)
        if line is None:
            line = leaf.lines[key] = _Line(tuple((flavor, arrival.accelerators) for flavor in flavors))
        line.count += sign
        if sign > 0:
            self._begins[arrival.job.id] = now_ms, line.at(now_ms)
            return
        begin_ms, clock_ms = self._begins.pop(arrival.job.id)
        wait = self.waits.setdefault(arrival.job.id, Wait())
        wait.total_ms += now_ms - begin_ms
        wait.capacity_ms += line.at(now_ms) - clock_ms
