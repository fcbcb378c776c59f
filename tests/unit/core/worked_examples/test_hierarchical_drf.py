"""Hierarchical DRF where simpler rules on a tree starve somebody. Bhattacharya et al., SoCC 2013.

The simpler rules are computed here too, unit by unit, so that the difference is seen and not only said.
"""

from fractions import Fraction

from fairgate_scheduler.core.tenancy import Quota, Tenant
from fairgate_scheduler.testing.worlds import GPU, World, config_of, owner, takes

CPU_ROW, GPU_ROW = ("m", "cpu"), ("m", GPU)
STARVATION = {"n1": "gpu", "n2": {"n2.1": "cpu", "n2.2": "gpu"}}
BLOCKED = {"n1": "cpu", "n2": "cpu", "n3": {"n3.1": "cpu", "n3.2": "gpu"}, "n4": "gpu"}


class Filling:
    """Progressive filling of a tree, each leaf with endless jobs of one unit of one resource.

    ``rescaled``: which children of an inner tenant are scaled to the least share among them: "none" (naive DRF on a
    tree), "all", or "open" (those that have a job which still fits: hierarchical DRF).
    """

    def __init__(self, tree: dict, capacity: int, rescaled: str) -> None:
        self.tree, self.capacity, self.rescaled = tree, capacity, rescaled
        self.resource = {}
        for name, below in tree.items():
            self.resource |= below if isinstance(below, dict) else {name: below}
        self.counts = dict.fromkeys(self.resource, 0)

    def fill(self) -> dict[str, int]:
        while self.open():
            self.place()
        return self.counts

    def place(self) -> str:
        """The next job, of the leaf whose turn it is."""
        node = min((each for each in self.tree if self.is_open(each)), key=lambda each: (self.share(each), each))
        below = self.tree[node]
        if isinstance(below, dict):
            node = min((each for each in below if each in self.open()), key=lambda each: (self.share(each), each))
        self.counts[node] += 1
        return node

    def open(self) -> set[str]:
        used = {kind: sum(self.counts[leaf] for leaf in self.of(kind)) for kind in ("cpu", "gpu")}
        return {leaf for leaf, kind in self.resource.items() if used[kind] < self.capacity}

    def of(self, kind: str) -> list[str]:
        return [leaf for leaf, mine in self.resource.items() if mine == kind]

    def is_open(self, node: str) -> bool:
        return node in self.open() or any(each in self.open() for each in self.children(node))

    def children(self, node: str) -> list[str]:
        below = self.tree.get(node)
        return list(below) if isinstance(below, dict) else []

    def share(self, node: str) -> Fraction:
        return max(self.vector(node).values())

    def vector(self, node: str) -> dict[str, Fraction]:
        if not self.children(node):
            return {self.resource[node]: Fraction(self.counts[node], self.capacity)}
        children = {each: self.share(each) for each in self.children(node)}
        scaled = [
            each for each in children if self.rescaled == "all" or (self.rescaled == "open" and each in self.open())
        ]
        least = min((children[each] for each in scaled), default=Fraction(0))
        out = {"cpu": Fraction(0), "gpu": Fraction(0)}
        for each, share in children.items():
            for kind, amount in self.vector(each).items():
                out[kind] += amount * least / share if each in scaled and share else amount
        return out


def world_of(tree: dict, capacity: int) -> World:
    org = Tenant("org", quota={CPU_ROW: Quota(capacity * 1000), GPU_ROW: Quota(capacity)})
    inner = {name: below for name, below in tree.items() if isinstance(below, dict)}
    tenants = [owner(name) for name in tree] + [owner(leaf, name) for name, below in inner.items() for leaf in below]
    return World(config_of(org, *tenants))


def submit(world: World, leaf: str, kind: str, count: int) -> None:
    for _ in range(count):
        option = takes("m", cpu=1_000) if kind == "cpu" else takes("m", gpu=1)
        world.submit(f"{leaf}-{len(world.jobs)}", leaf, option)


def counts_of(world: World, filling: Filling) -> dict[str, int]:
    return {leaf: world.count(leaf) for leaf in filling.resource}


def test_a_child_is_not_starved_by_its_siblings_use_of_another_resource():
    world, rule = world_of(STARVATION, 10), Filling(STARVATION, 10, "open")
    for leaf, kind in rule.resource.items():
        submit(world, leaf, kind, 20)
    world.cycle()
    assert counts_of(world, rule) == rule.fill() == {"n1": 5, "n2.1": 10, "n2.2": 5}
    assert Filling(STARVATION, 10, "none").fill() == {"n1": 6, "n2.1": 10, "n2.2": 4}


def test_it_is_not_starved_either_while_jobs_come_and_go():
    world, naive = world_of(STARVATION, 10), Filling(STARVATION, 10, "none")
    naive.fill()
    for leaf, kind in naive.resource.items():
        submit(world, leaf, kind, 60)
    world.cycle()
    for _ in range(30):
        # One of each ends, and two GPUs and a CPU are given out anew.
        for leaf in naive.resource:
            world.finish(min((name for name in world.attempts if name.startswith(f"{leaf}-")), key=order_of))
            naive.counts[leaf] -= bool(naive.counts[leaf])
        world.cycle()
        naive.fill()
        assert counts_of(world, naive) == {"n1": 5, "n2.1": 10, "n2.2": 5}
    assert naive.counts == {"n1": 10, "n2.1": 10, "n2.2": 0}


def order_of(name: str) -> int:
    return int(name.rpartition("-")[2])


def test_a_blocked_child_is_left_out_of_the_rescaling():
    world, rule = world_of(BLOCKED, 30), Filling(BLOCKED, 30, "open")
    for leaf, kind in rule.resource.items():
        submit(world, leaf, kind, 40)
    world.cycle()
    assert counts_of(world, rule) == rule.fill() == {"n1": 10, "n2": 10, "n3.1": 10, "n3.2": 15, "n4": 15}
    wrong = Filling(BLOCKED, 30, "all").fill()
    assert (wrong["n3.2"], wrong["n4"]) == (20, 10)
