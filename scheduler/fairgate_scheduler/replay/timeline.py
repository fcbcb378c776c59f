"""A replay over time, for pictures: what ran and what waited, averaged over equal stretches of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from fairgate_scheduler.replay.engine import Outcome

Stretch = tuple[int, int, int]
"""From when, until when, how many accelerators."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """``starts_ms``: when each stretch begins. By tenant: accelerators in use, and those that waiting jobs want."""

    starts_ms: tuple[int, ...]
    used: Mapping[str, Sequence[float]]
    waiting: Mapping[str, Sequence[float]]


def timeline(outcomes: Iterable[Outcome], begin_ms: int, end_ms: int, stretches: int = 400) -> Timeline:
    """The averages of so many stretches, or fewer if there are not as many milliseconds."""
    used: dict[str, list[Stretch]] = {}
    waiting: dict[str, list[Stretch]] = {}
    for each in outcomes:
        tenant, count, since_ms = each.arrival.job.tenant, each.arrival.accelerators, each.arrival.job.submitted_at_ms
        for run in each.runs:
            used.setdefault(tenant, []).append((run.begin_ms, run.end_ms, count))
            waiting.setdefault(tenant, []).append((since_ms, run.begin_ms, count))
            since_ms = run.end_ms
        if each.finished_at_ms is None:
            waiting.setdefault(tenant, []).append((since_ms, max(since_ms, end_ms), count))
    width_ms = max(1, -(-(end_ms - begin_ms) // stretches))
    count = max(1, -(-(end_ms - begin_ms) // width_ms))
    return Timeline(
        tuple(begin_ms + index * width_ms for index in range(count)),
        {tenant: averages(many, begin_ms, width_ms, count) for tenant, many in used.items()},
        {tenant: averages(many, begin_ms, width_ms, count) for tenant, many in waiting.items()},
    )


def averages(stretches: Iterable[Stretch], begin_ms: int, width_ms: int, count: int) -> Sequence[float]:
    """The mean number of accelerators in each of ``count`` bins of ``width_ms``."""
    parts, whole = [0] * (count + 1), [0] * (count + 1)
    for start_ms, end_ms, amount in stretches:
        first, into_ms = divmod(start_ms - begin_ms, width_ms)
        last, out_of_ms = divmod(end_ms - begin_ms, width_ms)
        parts[first] -= amount * into_ms
        parts[last] += amount * out_of_ms
        whole[first] += amount
        whole[last] -= amount
    return [part / width_ms + level for part, level in zip(parts, accumulate(whole), strict=True)][:count]
