"""Limits on the number of running jobs of a tenant, its whole subtree included."""

from fairgate_scheduler.core.quota import QuotaTree


class RunningCounts:
    """How many jobs run below each tenant that has a limit, changed job by job."""

    def __init__(self, tree: QuotaTree) -> None:
        limits = [tree.config.tenants[tenant].max_running_jobs for tenant in tree.ids]
        self._limited = tuple(
            tuple((node, limit) for node in path if (limit := limits[node]) is not None) for path in tree.paths
        )
        self._limits = tuple((node, limit) for node, limit in enumerate(limits) if limit is not None)
        self._counts = [0] * len(tree.ids)

    def copy(self) -> "RunningCounts":
        """Independent counts."""
        other = RunningCounts.__new__(RunningCounts)
        other._limited, other._limits, other._counts = self._limited, self._limits, self._counts[:]
        return other

    def empty(self) -> "RunningCounts":
        """Counts under the same limits, of nothing."""
        other = self.copy()
        other._counts = [0] * len(self._counts)
        return other

    def is_exceeded(self) -> bool:
        """Whether more run somewhere than a limit allows: it was lowered."""
        return any(self._counts[node] > limit for node, limit in self._limits)

    def add(self, node: int) -> None:
        """Count one more job of a tenant."""
        for each, _ in self._limited[node]:
            self._counts[each] += 1

    def remove(self, node: int) -> None:
        """Count one job of a tenant less."""
        for each, _ in self._limited[node]:
            self._counts[each] -= 1

    def allows(self, node: int) -> bool:
        """Whether one more job of a tenant may run."""
        limited = self._limited[node]
        return not limited or all(self._counts[each] < limit for each, limit in limited)

    def first_full(self, node: int) -> tuple[int, int] | None:
        """The tenant nearest to this one that may not run another job, and its limit."""
        return next(((each, limit) for each, limit in self._limited[node] if self._counts[each] >= limit), None)

    def full_above(self, node: int) -> frozenset[int]:
        """The tenants from this one up to the root that may not run another job."""
        return frozenset(each for each, limit in self._limited[node] if self._counts[each] >= limit)
