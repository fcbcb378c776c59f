"""The register that is kept from plan to plan: what runs and what waits, and what the first step of the refill makes of
what runs before any pending job is looked at. A change costs what its leaf has running, never what waits.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction

from fairgate_scheduler.core.budgets import NOTHING, BudgetBooks
from fairgate_scheduler.core.contenders import Choice, Contender, Field, held_by
from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.kinds import Kind, Kinds
from fairgate_scheduler.core.limits import RunningCounts
from fairgate_scheduler.core.lines import Queue
from fairgate_scheduler.core.shares import FairOrder
from fairgate_scheduler.core.snapshot import History, Running
from fairgate_scheduler.core.usage import Usage
from fairgate_scheduler.core.walk import Walk


class Register:
    """What runs and what waits, leaf by leaf.

    ``present`` is the use of all that runs, ``nominal`` that of the running jobs that their leaf's walk selects, and
    ``target`` that of these and of the protected ones, which ``placed`` holds. ``order`` counts the selected ones.
    ``rest`` are the running jobs that are not selected. ``over``: where more is used than the bound, and of what.
    ``singles`` are the pending jobs that are of no kind, ``barred`` those that may take no option now. ``reserved`` is
    what the running jobs of each leaf reserve of budgets; ``pasts`` have used something in an attempt that the plan
    ends, which counts in budgets, too. ``has_changed``: something that a refill looks at, since this was set to false.
    """

    def __init__(self, field: Field) -> None:
        self.field = field
        self.names: dict[str, Contender] = {}
        self.running: dict[int, list[Contender]] = {}
        self.queues: dict[int, Queue] = {}
        self.singles: dict[str, Contender] = {}
        self.barred = Queue()
        self.reserved: dict[int, Fraction] = {}
        self.pasts: dict[Contender, None] = {}
        self.protected: dict[Contender, None] = {}
        self.present, self.nominal, self.target = Usage(field.bounds), Usage(field.bounds), Usage(field.bounds)
        self.limits = RunningCounts(field.tree)
        self.order = FairOrder(field.tree, field.history)
        self.placed: dict[Contender, Choice] = {}
        self.selected: dict[Contender, Choice] = {}
        self.rest: dict[int, tuple[Contender, ...]] = {}
        self.over: set[tuple[int, int]] = set()
        self.walks = {leaf: self._walk(leaf) for leaf in field.tree.leaves if field.tree.owns(leaf)}
        self.inner_owners = tuple(
            node
            for node in field.tree.deepest_first
            if field.tree.children[node] and node != field.tree.root[node] and field.tree.owns(node)
        )
        self.leaves_below = {
            node: tuple(leaf for leaf in field.tree.leaves if node in field.tree.paths[leaf])
            for node in self.inner_owners
        }
        self.has_changed = True
        self._unsettled: set[int] = set()

    @classmethod
    def of(cls, field: Field, running: Iterable[Running], pending: Iterable[Job]) -> "Register":
        """A register of these jobs."""
        register = cls(field)
        for each in running:
            register.start(field.running(each))
        kinds = Kinds(field)
        for job in pending:
            register.put(kinds.contender(job))
        return register

    def move(self, now_ms: int, spent: Mapping[str, Fraction], history: Mapping[str, History]) -> None:
        """Go on to another instant; whoever it changes has to be dropped and put, or stopped and started, again."""
        self.field.move(now_ms, spent, history)
        self.order.recall(self.field.history)

    def start(self, contender: Contender) -> None:
        """A job runs."""
        charge = held_by(contender).charge
        self.names[contender.job.id] = contender
        insort(self.running.setdefault(contender.leaf, []), contender, key=_admission)
        self.present.add(charge)
        self.limits.add(contender.leaf)
        self.over.update(self.present.over(charge))
        self._reserve(contender.leaf, held_by(contender).cost)
        if contender.is_protected:
            self.protected[contender] = None
            self.placed[contender] = held_by(contender)
            self.target.add(charge)
        if contender.past is not None:
            self.pasts[contender] = None
        self._touch(contender.leaf)

    def stop(self, contender: Contender) -> None:
        """A job runs no longer."""
        charge = held_by(contender).charge
        del self.names[contender.job.id]
        running = self.running[contender.leaf]
        del running[running.index(contender)]
        excess = set(self.present.over(charge)) if self.over else set()
        self.present.remove(charge)
        self.limits.remove(contender.leaf)
        self._reserve(contender.leaf, -held_by(contender).cost)
        self.over.difference_update(excess.difference(self.present.over(charge)))
        if contender.is_protected:
            del self.protected[contender]
            del self.placed[contender]
            self.target.remove(charge)
        self.pasts.pop(contender, None)
        self._touch(contender.leaf)

    def put(self, contender: Contender) -> None:
        """A job is pending."""
        if contender.past is not None:
            self.pasts[contender] = None
        if not isinstance(contender.group, Kind):
            self.has_changed = True
            self.singles[contender.job.id] = contender
            self._queue(contender.leaf, contender.choices).put_single(contender)
        else:
            self.put_job(contender.job, contender.group)

    def put_job(self, job: Job, kind: Kind) -> None:
        """A job of a kind is pending."""
        if self._queue(kind.leaf, kind.choices).put(job, kind):
            self.has_changed = True

    def drop_job(self, job: Job, kind: Kind) -> None:
        """A job of a kind is pending no longer."""
        queue = self._queue(kind.leaf, kind.choices)
        if queue.drop(job, kind):
            self.has_changed = True
        if not queue and queue is not self.barred:
            del self.queues[kind.leaf]

    def drop(self, contender: Contender) -> None:
        """A job is pending no longer."""
        self.pasts.pop(contender, None)
        if isinstance(contender.group, Kind):
            self.drop_job(contender.job, contender.group)
            return
        self.has_changed = True
        del self.singles[contender.job.id]
        queue = self._queue(contender.leaf, contender.choices)
        queue.drop_single(contender)
        if not queue and queue is not self.barred:
            del self.queues[contender.leaf]

    def all_pending(self) -> list[Contender]:
        """All pending jobs, also those that may take no option now."""
        return [each for queue in self._all_queues() for each in queue.contenders()]

    def heads(self) -> Iterator[Contender]:
        """Of the pending jobs of each kind the best, and those of no kind."""
        return (entry[2] for queue in self._all_queues() for entry in queue.heads())

    def claimants(self) -> list[Iterable[Contender]]:
        """The pending jobs that have a claim: all of one kind together, best rank first."""
        return [each for queue in self._all_queues() for each in queue.claimants()]

    def has_singles(self, condition: Callable[[Contender], bool]) -> bool:
        """Whether one of the pending jobs that have no kind is such."""
        return any(condition(each) for each in self.singles.values())

    def settle(self) -> None:
        """Walk again the leaves in which the running jobs have changed."""
        for leaf in sorted(self._unsettled):
            before = self.walks[leaf].selected if leaf in self.walks else {}
            if leaf in self.walks:
                self.walks[leaf] = self._walk(leaf)
                after = self.walks[leaf].selected
                self._deselect([each for each in before if each not in after])
                self._select([entry for entry in after.items() if entry[0] not in before])
            rest = tuple(each for each in self.running[leaf] if each not in self.selected)
            if rest:
                self.rest[leaf] = rest
            else:
                self.rest.pop(leaf, None)
        self._unsettled.clear()

    def all_running(self) -> list[Contender]:
        """All running jobs, in the order of admission."""
        return sorted((each for running in self.running.values() for each in running), key=_admission)

    def last_admission(self) -> int:
        """The highest place in the order of admission."""
        return max((running[-1].admission for running in self.running.values() if running), default=0)

    def budgets(self) -> BudgetBooks:
        """What is left of the budgets beside all that runs."""
        budgets = self.field.budget_books()
        for leaf, cost in self.reserved.items() if budgets else ():
            budgets.reserve(leaf, cost)
        for each in self.pasts:
            assert each.past is not None, each
            budgets.spend(each.leaf, each.past)
        return budgets

    def _touch(self, leaf: int) -> None:
        self._unsettled.add(leaf)
        self.has_changed = True

    def _queue(self, leaf: int, choices: tuple[Choice, ...]) -> Queue:
        if not choices:
            return self.barred
        queue = self.queues.get(leaf)
        if queue is None:
            queue = self.queues[leaf] = Queue()
        return queue

    def _all_queues(self) -> Iterator[Queue]:
        yield self.barred
        yield from self.queues.values()

    def _reserve(self, leaf: int, cost: Fraction) -> None:
        if cost:
            self.reserved[leaf] = self.reserved.get(leaf, NOTHING) + cost

    def _walk(self, leaf: int) -> Walk:
        by_priority = self.field.policy.priority_preemption
        return Walk(self.field.tree, leaf, self.running.get(leaf, ()), by_priority=by_priority)

    def _select(self, entries: Iterable[tuple[Contender, Choice]]) -> None:
        for contender, choice in entries:
            self.selected[contender] = choice
            self.nominal.add(choice.charge)
            self.order.count(choice.charge)
            if not contender.is_protected:
                self.placed[contender] = choice
                self.target.add(choice.charge)

    def _deselect(self, contenders: Iterable[Contender]) -> None:
        for contender in contenders:
            charge = self.selected.pop(contender).charge
            self.nominal.remove(charge)
            self.order.uncount(charge)
            if not contender.is_protected:
                del self.placed[contender]
                self.target.remove(charge)


def _admission(contender: Contender) -> int:
    return contender.admission
