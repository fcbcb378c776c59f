"""What of a leaf's jobs stays within its own nominal quota: the walk of the refill's first step."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from fairgate_scheduler.core.contenders import Choice, Contender
from fairgate_scheduler.core.quota import QuotaTree
from fairgate_scheduler.core.usage import Charge

Entry = tuple[Contender, Choice]


class Change(NamedTuple):
    """What taking one pending job into a walk does: which running or new jobs fall out of it, and which come in.

    ``selected`` is all that is selected then; ``None``: what was, and the job.
    """

    entry: Entry
    place: int
    selected: Mapping[Contender, Choice] | None = None
    gone: tuple[Contender, ...] = ()
    came: tuple[Entry, ...] = ()


@dataclass(slots=True)
class _Sums:
    """Use of the owned rows, by row, of the jobs selected so far and of the running ones passed over."""

    selected: dict[int, int] = field(default_factory=dict)
    skipped: dict[int, int] = field(default_factory=dict)
    passed: list[Contender] = field(default_factory=list)
    youngest: int = -1

    def copy(self) -> "_Sums":
        """An independent copy."""
        return _Sums(dict(self.selected), dict(self.skipped), list(self.passed), self.youngest)

    def skip(self, contender: Contender, charge: Charge) -> None:
        """Pass over a running job."""
        _add(self.skipped, charge)
        self.passed.append(contender)
        self.youngest = max(self.youngest, contender.admission)

    def skipped_before(self, contender: Contender) -> Mapping[int, int]:
        """Use of those passed over that are older than a running job."""
        older: dict[int, int] = {}
        for each in self.passed:
            if each.admission < contender.admission and each.held is not None:
                _add(older, each.held.charge)
        return older


class Walk:
    """One leaf's jobs in the order of the walk: by priority, then running ones by admission, then new ones as placed.

    A running job that does not stay within the nominal quota still counts against pending jobs and against younger
    running ones behind it: a tenant above its nominal is not entitled to more.
    """

    def __init__(self, tree: QuotaTree, leaf: int, running: Iterable[Contender], *, by_priority: bool) -> None:
        self._quota = {row: tree.tables[row].quota[leaf] for row in tree.owned[tree.root[leaf]]}
        self._by_priority = by_priority
        entries = [(each, each.held) for each in running if each.held is not None]
        if by_priority:
            entries.sort(key=lambda entry: -entry[0].priority)
        self.entries = entries
        self._before: dict[int, tuple[_Sums, int]] = {}
        self._outside: set[tuple[int, Charge]] = set()
        self._is_settled = True
        self._walked = self._rewalk()
        self.selected = dict(self._walked)

    def copy(self) -> "Walk":
        """An independent copy."""
        other = Walk.__new__(Walk)
        other._quota, other._by_priority, other._is_settled = self._quota, self._by_priority, self._is_settled
        other.entries, other.selected, other._walked = self.entries[:], dict(self.selected), dict(self._walked)
        other._before, other._outside = dict(self._before), set(self._outside)
        return other

    def trial(self, contender: Contender, choice: Choice) -> Change | None:
        """What taking a pending job in would do; ``None``: it would not stay within. Changes nothing."""
        key = (contender.priority, choice.charge)
        if key in self._outside:
            return None
        place = self._place_of(contender)
        sums, count = self._before[place]
        if not self._is_within(sums, contender, choice.charge):
            self._outside.add(key)
            return None
        entry = (contender, choice)
        if place == len(self.entries) and self._is_settled:
            return Change(entry, place)
        sums, selected = sums.copy(), dict(islice(self._walked.items(), count))
        selected[contender] = choice
        _add(sums.selected, choice.charge)
        self._walk(self.entries[place:], sums, selected)
        gone = tuple(each for each in self.selected if each not in selected)
        came = tuple(entry for entry in selected.items() if entry[0] not in self.selected and entry[0] is not contender)
        return Change(entry, place, selected, gone, came)

    def excludes(self, contender: Contender) -> bool:
        """Whether it is known of all options of a pending job that they would not stay within."""
        priority, outside = contender.job.priority, self._outside
        return all((priority, choice.charge) in outside for choice in contender.choices)

    def is_selected(self, contender: Contender, change: Change) -> bool:
        """Whether a job is selected after a change."""
        return contender in (self.selected if change.selected is None else change.selected)

    def accept(self, change: Change, displaced: Iterable[Contender]) -> None:
        """Take the job of a trial in. Pending jobs that fell out leave the walk, as do displaced running ones."""
        self._outside.clear()
        giving_way = set(displaced)
        if change.selected is None and not giving_way:
            self._append(*change.entry)
            return
        leaving = giving_way.union(each for each in change.gone if each.held is None)
        entries = [*self.entries[: change.place], change.entry, *self.entries[change.place :]]
        self.entries = [entry for entry in entries if entry[0] not in leaving]
        if change.selected is None:
            self.selected[change.entry[0]] = change.entry[1]
        else:
            self.selected = dict(change.selected)
        # With displaced ones out of the way more may stay within: what is selected changes only with the next trial.
        self._is_settled = not giving_way
        self._walked = self._rewalk()

    def _append(self, contender: Contender, choice: Choice) -> None:
        """Take a job in that comes last, and stays within beside all that is selected."""
        end = len(self.entries)
        sums, count = self._before[end]
        selected = dict(sums.selected)
        _add(selected, choice.charge)
        if end and self.entries[-1][0].priority == contender.priority:
            del self._before[end]
        self._before[end + 1] = _Sums(selected, sums.skipped, sums.passed, sums.youngest), count + 1
        self.entries.append((contender, choice))
        self.selected[contender] = self._walked[contender] = choice

    def _rewalk(self) -> dict[Contender, Choice]:
        """Walk all entries, and remember how things stand before each drop of the priority."""
        sums, selected, start = _Sums(), dict[Contender, Choice](), 0
        self._before = {0: (_Sums(), 0)}
        for place in range(1, len(self.entries) + 1):
            is_last = place == len(self.entries)
            if is_last or self.entries[place][0].priority != self.entries[place - 1][0].priority:
                self._walk(self.entries[start:place], sums, selected)
                self._before[place] = sums.copy(), len(selected)
                start = place
        return selected

    def _place_of(self, contender: Contender) -> int:
        place = len(self.entries)
        while self._by_priority and place and self.entries[place - 1][0].priority < contender.priority:
            place -= 1
        return place

    def _walk(self, entries: Iterable[Entry], sums: _Sums, selected: dict[Contender, Choice]) -> None:
        for contender, choice in entries:
            if self._is_within(sums, contender, choice.charge):
                selected[contender] = choice
                _add(sums.selected, choice.charge)
            elif contender.held is not None:
                sums.skip(contender, choice.charge)

    def _is_within(self, sums: _Sums, contender: Contender, charge: Charge) -> bool:
        if not charge.owned or not self._fits(sums.selected, {}, charge):
            return False
        if not sums.passed or self._fits(sums.selected, sums.skipped, charge):
            return True
        if contender.held is None or sums.youngest < contender.admission:
            return False
        return self._fits(sums.selected, sums.skipped_before(contender), charge)

    def _fits(self, selected: Mapping[int, int], skipped: Mapping[int, int], charge: Charge) -> bool:
        for row, amount in charge.owned:  # a loop: this is asked of every job of the leaf at each change of it
            if selected.get(row, 0) + skipped.get(row, 0) + amount > self._quota[row]:
                return False
        return True


def _add(sums: dict[int, int], charge: Charge) -> None:
    for row, amount in charge.owned:
        sums[row] = sums.get(row, 0) + amount
