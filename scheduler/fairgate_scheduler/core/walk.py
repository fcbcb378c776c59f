"""What of a leaf's jobs stays within its own nominal quota: the walk of the refill's first step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fairgate_scheduler.core.contenders import Choice, Contender
from fairgate_scheduler.core.quota import QuotaTree
from fairgate_scheduler.core.usage import Charge

Entry = tuple[Contender, Choice]


class Change(NamedTuple):
    """What taking one pending job into a walk does: which running or new jobs fall out of it, and which come in."""

    entries: tuple[Entry, ...]
    selected: Mapping[Contender, Choice]
    gone: tuple[Contender, ...]
    came: tuple[Entry, ...]


@dataclass(slots=True)
class _Sums:
    """Use of the owned rows, by row, of the jobs selected and of the running ones passed over."""

    selected: dict[int, int] = field(default_factory=dict)
    skipped: dict[int, int] = field(default_factory=dict)
    passed: list[Contender] = field(default_factory=list)
    youngest: int = -1

    def skip(self, contender: Contender, charge: Charge) -> None:
        """Pass over a running job."""
        _add(self.skipped, charge)
        self.passed.append(contender)
        self.youngest = max(self.youngest, contender.admission)


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
        self.entries: Sequence[Entry] = entries
        selected, end = self._walk(entries)
        self.selected: Mapping[Contender, Choice] = selected
        self._end = end

    def trial(self, contender: Contender, choice: Choice) -> Change | None:
        """What taking a pending job in would do; ``None``: it would not stay within. Changes nothing."""
        place = self._place_of(contender)
        if place == len(self.entries) and self._end is not None:
            if not self._is_within(self._end, contender, choice.charge):
                return None
            return Change((*self.entries, (contender, choice)), {**self.selected, contender: choice}, (), ())
        entries = (*self.entries[:place], (contender, choice), *self.entries[place:])
        selected, _ = self._walk(entries)
        if contender not in selected:
            return None
        gone = tuple(each for each in self.selected if each not in selected)
        came = tuple(entry for entry in selected.items() if entry[0] not in self.selected and entry[0] is not contender)
        return Change(entries, selected, gone, came)

    def accept(self, change: Change, displaced: Iterable[Contender]) -> None:
        """Take the job of a trial in. Pending jobs that fell out leave the walk, as do displaced running ones."""
        leaving = {each for each in change.gone if each.held is None}
        giving_way = set(displaced)
        self.entries = [entry for entry in change.entries if entry[0] not in leaving and entry[0] not in giving_way]
        self.selected = change.selected
        # With displaced ones out of the way more might stay within: only the next trial finds that out.
        self._end = None if giving_way else self._walk(self.entries)[1]

    def _place_of(self, contender: Contender) -> int:
        if not self._by_priority:
            return len(self.entries)
        place = len(self.entries)
        while place and self.entries[place - 1][0].priority < contender.priority:
            place -= 1
        return place

    def _walk(self, entries: Iterable[Entry]) -> tuple[dict[Contender, Choice], _Sums | None]:
        sums, selected = _Sums(), dict[Contender, Choice]()
        for contender, choice in entries:
            if self._is_within(sums, contender, choice.charge):
                selected[contender] = choice
                _add(sums.selected, choice.charge)
            elif contender.held is not None:
                sums.skip(contender, choice.charge)
        return selected, sums

    def _is_within(self, sums: _Sums, contender: Contender, charge: Charge) -> bool:
        skipped: Mapping[int, int] = sums.skipped
        if contender.held is not None and sums.youngest > contender.admission:
            older: dict[int, int] = {}
            for each in sums.passed:
                if each.admission < contender.admission and each.held is not None:
                    _add(older, each.held.charge)
            skipped = older
        return bool(charge.owned) and all(
            sums.selected.get(row, 0) + skipped.get(row, 0) + amount <= self._quota[row] for row, amount in charge.owned
        )


def _add(sums: dict[int, int], charge: Charge) -> None:
    for row, amount in charge.owned:
        sums[row] = sums.get(row, 0) + amount
