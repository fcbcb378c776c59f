"""One refill of the slow model: the steps of who should run, one method each, in the words of their rules."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.testing.slow_books import Held, SlowBooks
from fairgate_scheduler.testing.slow_budgets import SlowBudgets
from fairgate_scheduler.testing.slow_candidates import Candidate
from fairgate_scheduler.testing.slow_cuts import drain, reclaim

Way = TypeVar("Way")


@dataclass
class SlowRefill:
    """Who should run, in ``placed``, job by job in the order of placing, with the option of each."""

    books: SlowBooks
    budgets: SlowBudgets
    running: list[Candidate]
    pending: list[Candidate]
    placed: dict[Candidate, int] = field(default_factory=dict)
    counted: list[Candidate] = field(default_factory=list)
    """Those that count for the shares: protected ones only when their turn comes."""
    displaced: list[Candidate] = field(default_factory=list)
    """Running jobs that give way to their own leaf."""
    cut: list[Candidate] = field(default_factory=list)
    """Running jobs that are not nominal because a cut took their quota."""
    nominal: list[Candidate] = field(default_factory=list)
    """Those that count against nominal quota."""

    def __post_init__(self) -> None:
        self.policy = self.books.config.policy
        self.running = sorted(self.running, key=lambda each: each.admission or 0)
        self.protected = [each for each in self.running if each.is_protected]
        self.placed.update((each, each.options[0]) for each in self.protected)
        leaves = [node for node in self.books.config.tenants if self.books.config.is_leaf(node)]
        self.new: dict[str, dict[Candidate, int]] = {leaf: {} for leaf in leaves if self.books.owns(leaf)}
        self.selected = {leaf: self.walk(leaf, {}) for leaf in self.new}
        drain(self)
        reclaim(self)
        self._leaf_nominal()
        depth = {node: len(path) for node, path in self.books.config.paths.items()}
        for node in sorted(depth, key=lambda node: (-depth[node], node)):
            if node not in leaves and depth[node] > 1 and self.books.owns(node):
                self._inner_nominal(node)
        if self.policy.rebalance:
            self._rebalance()
        else:
            self._borrow(self._keep())

    # ---- what stands

    def target(self) -> list[Held]:
        """What is placed."""
        return [each.held(option) for each, option in self.placed.items()]

    def fresh(self) -> dict[Candidate, int]:
        """The pending jobs that are placed."""
        return {each: option for each, option in self.placed.items() if not each.runs}

    def present(self) -> list[Held]:
        """What runs and is not displaced, and the new ones."""
        stays = [each.held() for each in self.running if each not in self.displaced]
        return stays + [each.held(option) for each, option in self.fresh().items()]

    def floor(self) -> Mapping[tuple[str, Row], Amount]:
        """Running jobs may stay above a bound that was cut, at what runs now, but not where new jobs use more."""
        now, out = [each.held() for each in self.running], dict[tuple[str, Row], Amount]()
        stays, present = [each.held() for each in self.running if each not in self.displaced], self.present()
        for row in {row for job in now for row in job.demand}:
            if self.books.used_physically(present, row) <= self.books.used_physically(stays, row):
                out["", row] = self.books.used_physically(now, row)
            for node in self.books.config.tenants if self.policy.quota_cut is QuotaCut.DRAIN else ():
                if self.books.used(present, node, row) <= self.books.used(stays, node, row):
                    out[node, row] = self.books.used(now, node, row)
        return out

    def may_take(self, each: Candidate) -> list[int]:
        """The options that limits and budgets let a pending job take beside all that runs."""
        stays = {one: one.options[0] for one in self.running if one not in self.displaced} | self.fresh()
        is_full = self.budgets.full(each, stays)
        return [option for option in each.options if not (is_full or self.short(each, option, stays))]

    def short(self, each: Candidate, option: int, beside: Mapping[Candidate, int]) -> list[str]:
        """The tenants above a job whose budget it would overdraw beside these; of others that run counts their use."""
        bills, out = [self.budgets.reserves(one, taken) for one, taken in beside.items()], self.displaced
        uses = [self.budgets.used(one, is_capped=one not in out) for one in self.running if one not in (each, *beside)]
        return self.budgets.lack(bills, uses, self.budgets.reserves(each, option))

    def has_place(self, each: Candidate) -> bool:
        """Whether limits and budgets let a running job stay beside what is placed: always where nothing new comes."""
        paths, fresh = self.books.config.paths, {} if each in self.placed else self.fresh()
        full, short = self.budgets.full(each, self.placed), self.short(each, each.options[0], self.placed)
        costly = [one for one, option in fresh.items() if self.budgets.reserves(one, option).reserved]
        return not any(node in paths[one.job.tenant] for node in full for one in fresh) and not any(
            node in paths[one.job.tenant] for node in short for one in costly
        )

    def can_stay(self, each: Candidate) -> bool:
        """Whether a running job is placed or finds room."""
        return each in self.placed or self.books.fits(self.target(), each.held(), self.floor())

    # ---- changes

    def put(self, each: Candidate, option: int) -> None:
        """Place a job, and count it."""
        if each not in self.counted:
            self.counted.append(each)
        self.placed.setdefault(each, option)

    def take(self, each: Candidate) -> None:
        """Take it out again."""
        if each in self.counted:
            self.counted.remove(each)
        del self.placed[each]

    def in_fair_order(
        self,
        lines: Callable[[], Iterable[Candidate]],
        look: Callable[[Candidate], Way | None],
        place: Callable[[Candidate, Way], None],
    ) -> None:
        """Until no job can be placed: from the roots down always to the child with the least share that has one."""
        config = self.books.config
        while True:
            first: dict[str, tuple[Candidate, Way]] = {}
            for each in lines():
                if each.job.tenant not in first and (way := look(each)) is not None:
                    first[each.job.tenant] = each, way
            if not first:
                return
            active = {node for leaf in first for node in config.paths[leaf]}
            counted = [each.held(self.placed[each]) for each in self.counted]
            children: Iterable[str] = config.children[None]
            node = ""
            while children:
                here = [child for child in children if child in active]
                node = min(here, key=lambda child: (self.books.key(counted, child, active), child))
                children = config.children.get(node, ())
            place(*first[node])

    def waiting(self, below: str | None = None) -> list[Candidate]:
        """Pending jobs not placed yet, each tenant's in its order."""
        paths = self.books.config.paths
        return sorted(
            (
                each
                for each in self.pending
                if each not in self.placed and (below is None or below in paths[each.job.tenant])
            ),
            key=lambda each: each.place_in_line,
        )

    def make_room(
        self, view: dict[Candidate, int], each: Candidate, option: int, victims: Iterable[Candidate]
    ) -> list[Candidate] | None:
        """Who of lower priority must go: lowest, then youngest, without those that do not help. ``None``: no use."""
        order = list(self.placed)

        def weakness(one: Candidate) -> tuple[int, int, int]:
            return one.job.priority, one.runs, -(one.admission or 0) if one.runs else -order.index(one)

        def fits_without(some: list[Candidate]) -> bool:
            rest = [one.held(taken) for one, taken in view.items() if one not in some]
            return self.books.fits(rest, each.held(option))

        possible = [
            one for one in victims if one.job.priority < each.job.priority and one not in self.protected and one in view
        ]
        gone: list[Candidate] = []
        for victim in sorted(possible, key=weakness):
            if fits_without(gone):
                break
            gone.append(victim)
        if not fits_without(gone):
            return None
        for victim in list(gone):
            rest = [one for one in gone if one is not victim]
            if fits_without(rest):
                gone = rest
        return gone

    # ---- the steps

    def walk(self, leaf: str, new: Mapping[Candidate, int]) -> dict[Candidate, int]:
        """What stays within the leaf's nominal; older running jobs that do not stay count too."""
        out = self.displaced + self.cut
        mine = [each for each in self.running if each.job.tenant == leaf and each not in out]
        line = [(each, each.options[0]) for each in mine] + list(new.items())
        if self.policy.priority_preemption:
            line.sort(key=lambda entry: -entry[0].job.priority)
        selected: dict[Candidate, int] = {}
        passed: list[Candidate] = []
        for each, option in line:
            beside = [one.held(taken) for one, taken in selected.items()]
            beside += [one.held() for one in passed if not each.runs or (one.admission or 0) < (each.admission or 0)]
            if self.books.within(beside, leaf, each.held(option)):
                selected[each] = option
            elif each.runs:
                passed.append(each)
        return selected

    def _leaf_nominal(self) -> None:
        for chosen in self.selected.values():
            for each, option in chosen.items():
                self.put(each, option)
        self.in_fair_order(
            lambda: [each for each in self.waiting() if each.job.tenant in self.new],
            self._look_nominal,
            self._place_nominal,
        )
        self.nominal = [each for chosen in self.selected.values() for each in chosen]

    def _look_nominal(self, each: Candidate) -> tuple[int, list[Candidate]] | None:
        """The option, and who of the leaf gives way at once."""
        for option in self.may_take(each):
            chosen = self._with(each, option)
            if each in chosen and not self._fallen(chosen) and self.books.fits(self.present(), each.held(option)):
                return option, []
        for option in self.may_take(each):
            chosen = self._with(each, option)
            if each in chosen and self._fits_instead(each, option, chosen):
                displaced = self._gives_way(each, option, chosen)
                if displaced is not None:
                    return option, displaced
        return None

    def _with(self, each: Candidate, option: int) -> dict[Candidate, int]:
        leaf = each.job.tenant
        return self.walk(leaf, {**self.new[leaf], each: option})

    def _fallen(self, chosen: Mapping[Candidate, int]) -> list[Candidate]:
        leaf = next(iter(chosen)).job.tenant
        return [one for one in self.selected[leaf] if one not in chosen]

    def _gives_way(self, each: Candidate, option: int, chosen: Mapping[Candidate, int]) -> list[Candidate] | None:
        if self.policy.reclaim:
            return []
        if not self.policy.priority_preemption:
            return None
        view = {one: one.options[0] for one in self.running if one not in self.displaced} | self.fresh()
        mine = [one for one in self.running if one.job.tenant == each.job.tenant and one not in self.displaced]
        return self.make_room(view, each, option, [one for one in mine if one not in chosen])

    def _fits_instead(self, each: Candidate, option: int, chosen: Mapping[Candidate, int]) -> bool:
        """Beside what is placed without those that fall out, together with those that come in; on rows that nobody
        below the root owns, beside all that runs."""
        owned = self.books.owned(each.job.tenant)
        common = {row for row in each.job.options[option].demand if row not in owned}
        if not self.books.fits(self.present(), each.held(option), only=common):
            return False
        out = [one for one in self._fallen(chosen) if one not in self.protected]
        beside = [one.held(taken) for one, taken in self.placed.items() if one not in out]
        if not self.books.fits(beside, each.held(option)):
            return False
        beside.append(each.held(option))
        for one, taken in chosen.items():
            if one in self.selected[each.job.tenant] or one is each or one in self.protected:
                continue
            if not self.books.fits(beside, one.held(taken), self.floor()):
                return False
            beside.append(one.held(taken))
        return True

    def _place_nominal(self, each: Candidate, way: tuple[int, list[Candidate]]) -> None:
        leaf, (option, displaced) = each.job.tenant, way
        chosen = self._with(each, option)
        self.displaced += displaced
        for one in self._fallen(chosen):
            if one in self.protected:
                self.counted.remove(one)
            else:
                self.take(one)
            self.new[leaf].pop(one, None)
        self.new[leaf][each] = option
        self.selected[leaf] = chosen
        for one, taken in chosen.items():
            self.put(one, taken)

    def _inner_nominal(self, node: str) -> None:
        """The nominal of an inner tenant, for what its leaves have left."""
        paths = self.books.config.paths
        passed: list[Held] = []
        mine = [each for each in self.running if node in paths[each.job.tenant] and each not in self.displaced]
        before = self._nominal_use()
        for each in [one for one in mine if one not in self.nominal]:
            is_inside = self.books.within(before + passed, node, each.held())
            passed.append(each.held())
            if is_inside and self.can_stay(each):
                self.put(each, each.options[0])
                self.nominal.append(each)
        self.in_fair_order(lambda: self.waiting(node), lambda each: self._look_inner(node, each), self._place_inner)

    def _nominal_use(self) -> list[Held]:
        return [each.held(self.placed[each]) for each in self.nominal]

    def _look_inner(self, node: str, each: Candidate) -> int | None:
        inside = [
            option
            for option in self.may_take(each)
            if self.books.within(self._nominal_use(), node, each.held(option))
            and self.books.within(self.present(), node, each.held(option))
        ]
        for option in inside:
            if self.books.fits(self.present(), each.held(option)):
                return option
        for option in inside if self.policy.reclaim else ():
            owned = self.books.owned(node)
            common = {row for row in each.job.options[option].demand if row not in owned}
            if self.books.fits(self.target(), each.held(option)) and self.books.fits(
                self.present(), each.held(option), only=common
            ):
                return option
        return None

    def _place_inner(self, each: Candidate, option: int) -> None:
        self.put(each, option)
        self.nominal.append(each)

    def _rest(self) -> list[Candidate]:
        """Running jobs that no step has placed in its turn yet."""
        return [each for each in self.running if each not in self.counted and each not in self.displaced]

    def _look_kept(self, each: Candidate) -> int | None:
        return each.options[0] if self.can_stay(each) else None

    def _keep(self) -> list[Candidate]:
        """Running jobs stay as far as there is room. Returns those that lower priorities of may have to give way."""
        rest = self._rest()
        line = sorted(rest, key=lambda each: (-each.job.priority, each.admission or 0))
        self.in_fair_order(lambda: [each for each in line if each not in self.counted], self._look_kept, self.put)
        return [each for each in rest if each in self.placed and each not in self.protected]

    def _borrow(self, late: list[Candidate]) -> None:
        """Pending jobs; one may take the place of lower priorities of its leaf that came after the nominal steps."""

        def look(each: Candidate) -> tuple[int, list[Candidate]] | None:
            if each.runs:
                return (each.options[0], []) if self.books.fits(self.target(), each.held()) else None
            options = self.may_take(each)
            for option in options:
                if self.books.fits(self.target(), each.held(option)):
                    return option, []
            for option in options if self.policy.priority_preemption else ():
                mine = [one for one in late if one.job.tenant == each.job.tenant]
                gone = self.make_room(dict(self.placed), each, option, mine)
                if gone:
                    return option, gone
            return None

        def place(each: Candidate, way: tuple[int, list[Candidate]]) -> None:
            for one in way[1]:
                self.take(one)
                late.remove(one)
                if one.runs:
                    self.displaced.append(one)
            self.put(each, way[0])
            late.append(each)
            if each.runs:
                self.displaced.remove(each)

        def line() -> list[Candidate]:
            back = [each for each in self.displaced if each not in self.placed]
            return sorted([*self.waiting(), *back], key=lambda each: each.place_in_line)

        self.in_fair_order(line, look, place)

    def _rebalance(self) -> None:
        """Running and pending jobs in one fair order, by the present shares alone. Limits count what is placed."""
        self.books = SlowBooks(self.books.config, self.books.capacity)

        def look(each: Candidate) -> int | None:
            if each.runs:
                return self._look_kept(each) if self.has_place(each) else None
            options = () if self.budgets.full(each, self.placed) else each.options
            options = tuple(option for option in options if not self.short(each, option, self.placed))
            possible = [option for option in options if self.books.fits(self.target(), each.held(option))]
            beside = [option for option in possible if self.books.fits(self.present(), each.held(option))]
            return next(iter(beside + possible), None)

        def rank(each: Candidate) -> tuple[object, ...]:
            priority = -each.job.priority if self.policy.priority_preemption or not each.runs else 0
            within = (each.admission,) if each.runs else each.place_in_line[1:]
            if self.policy.priority_preemption:
                return priority, not each.runs, *within
            return not each.runs, priority, *within

        def line() -> list[Candidate]:
            return sorted([*self._rest(), *self.waiting()], key=rank)

        self.in_fair_order(line, look, self.put)
