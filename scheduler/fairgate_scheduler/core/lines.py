"""Who waits, leaf by leaf: queues that are kept from plan to plan, and the lines that one refill makes of them.

Of the jobs of one kind only the best shows. So a refill looks at as many jobs of a kind as find room and at one more,
however many wait behind it.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator

from fairgate_scheduler.core.contenders import Contender, rank_of
from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.kinds import Kind

Key = tuple[int | str, ...]


class Mates:
    """The pending jobs of one kind, best rank first."""

    __slots__ = ("_first", "_jobs", "_shown", "kind")

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._jobs: list[Job] = []
        self._first = 0
        self._shown: dict[str, Contender] = {}

    def __len__(self) -> int:
        return len(self._jobs) - self._first

    def add(self, job: Job) -> bool:
        """Add a job. Returns whether it is the best now."""
        jobs, first = self._jobs, self._first
        if len(jobs) > first and rank_of(jobs[-1]) < rank_of(job):
            jobs.append(job)
            return False
        place = bisect_left(jobs, rank_of(job), first, key=rank_of)
        if place == first and first:
            self._first = first - 1
            jobs[first - 1] = job
        else:
            jobs.insert(place, job)
        return place == first

    def remove(self, job: Job) -> bool:
        """Take a job out. Returns whether it was the best."""
        self._shown.pop(job.id, None)
        place = bisect_left(self._jobs, rank_of(job), self._first, key=rank_of)
        assert self._jobs[place].id == job.id, f"{job.id} is not among its mates"
        if place > self._first:
            del self._jobs[place]
            return False
        self._first += 1
        if self._first > len(self._jobs) // 2:
            del self._jobs[: self._first]
            self._first = 0
        return True

    def jobs(self) -> list[Job]:
        """All of them."""
        return self._jobs[self._first :]

    def contender(self, place: int) -> Contender | None:
        """The job at a place, from 0, the same object each time; ``None``: there are not so many."""
        place += self._first
        if place >= len(self._jobs):
            return None
        job = self._jobs[place]
        shown = self._shown.get(job.id)
        if shown is None:
            shown = self._shown[job.id] = self.kind.contender(job)
        return shown

    def __iter__(self) -> Iterator[Contender]:
        for place in range(len(self)):
            shown = self.contender(place)
            assert shown is not None, place
            yield shown


Entry = tuple[Key, str, Contender, Mates | None, int]
"""A job that shows: its key, its id, itself, and where it comes from: which mates, and which of them."""


class Queue:
    """The pending jobs of one leaf, changed job by job."""

    __slots__ = ("_claimants", "_heads", "_mates", "_singles")

    def __init__(self) -> None:
        self._mates: dict[Kind, Mates] = {}
        self._claimants: dict[Kind, Mates] = {}
        self._singles: dict[str, Contender] = {}
        self._heads: list[Entry] | None = None

    def __bool__(self) -> bool:
        return bool(self._mates or self._singles)

    def put(self, job: Job, kind: Kind) -> bool:
        """Add a job. Returns whether it shows: none of its kind is before it."""
        mates = self._mates.get(kind)
        if mates is None:
            mates = self._mates[kind] = Mates(kind)
            if kind.is_claimant:
                self._claimants[kind] = mates
        shows = mates.add(job)
        if shows:
            self._heads = None
        return shows

    def drop(self, job: Job, kind: Kind) -> bool:
        """Take out a job that was put in. Returns whether it showed."""
        mates = self._mates[kind]
        showed = mates.remove(job)
        if showed:
            self._heads = None
        if not mates:
            del self._mates[kind]
            self._claimants.pop(kind, None)
        return showed

    def put_single(self, contender: Contender) -> None:
        """Add a contender that has no kind."""
        self._singles[contender.job.id] = contender
        self._heads = None

    def drop_single(self, contender: Contender) -> None:
        """Take it out again."""
        del self._singles[contender.job.id]
        self._heads = None

    def contenders(self) -> Iterator[Contender]:
        """All of them, in no particular order."""
        yield from self._singles.values()
        for mates in self._mates.values():
            yield from map(mates.kind.contender, mates.jobs())

    def claimants(self) -> Iterator[Iterable[Contender]]:
        """Those that have a claim: all of one kind together, best rank first."""
        yield from self._claimants.values()
        yield from ([each] for each in self._singles.values() if each.is_claimant)

    def heads(self) -> list[Entry]:
        """The best of each kind, best first."""
        if self._heads is None:
            heads: list[Entry] = [(each.rank, name, each, None, 0) for name, each in self._singles.items()]
            for mates in self._mates.values():
                best = mates.contender(0)
                assert best is not None, mates.kind
                heads.append((best.rank, best.job.id, best, mates, 0))
            self._heads = sorted(heads)
        return self._heads


class Line:
    """The jobs of one leaf that may be placed in a step of one refill, best first, by ``key``."""

    __slots__ = ("_is_own", "_key", "entries")

    def __init__(self, queue: Queue | None = None, key: Callable[[Contender], Key] | None = None) -> None:
        self.entries: list[Entry] = [] if queue is None else queue.heads()
        self._is_own = queue is None
        self._key = key or _rank

    def push(self, contender: Contender) -> None:
        """Add a job."""
        insort(self._mine(), (self._key(contender), contender.job.id, contender, None, 0))

    def pop(self, place: int) -> None:
        """Take out the job that shows at this place; behind it the next one of its kind shows now."""
        entries = self._mine()
        mates, number = entries.pop(place)[3:]
        following = None if mates is None else mates.contender(number + 1)
        if following is not None:
            insort(entries, (self._key(following), following.job.id, following, mates, number + 1))

    def reorder(self, key: Callable[[Contender], Key]) -> None:
        """Go by another key, by which jobs of one kind are in the same order."""
        self._key = key
        self.entries, self._is_own = sorted((key(each[2]), *each[1:]) for each in self.entries), True

    def _mine(self) -> list[Entry]:
        if not self._is_own:
            self.entries, self._is_own = self.entries[:], True
        return self.entries


def _rank(contender: Contender) -> Key:
    return contender.rank
