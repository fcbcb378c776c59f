"""Slurm's two ways to rank users by past use, and ours, which is that of Fair Tree on a decayed history.

Classic fair share gives each user a number, 2^−(effective usage ÷ shares), in which a part of what the siblings used
counts too. Fair Tree ranks account by account from the top. Ours goes down from the root at each turn, to the child of
least (share + history) ÷ weight; as history outweighs one small job here, that is the order of Fair Tree.
"""

from collections.abc import Mapping
from fractions import Fraction

import pytest
from fairgate_scheduler.core.snapshot import History
from fairgate_scheduler.core.tenancy import Policy, Quota, Tenant
from fairgate_scheduler.testing.worlds import H100, World, config_of, takes

# name -> (parent, shares); users are leaves
DOCUMENTED = {
    "A": (None, 40),
    "B": ("A", 30),
    "C": ("A", 10),
    "D": (None, 60),
    "E": ("D", 25),
    "F": ("D", 35),
    "G": (None, 0),
    "u1": ("B", 1),
    "u2": ("C", 1),
    "u3": ("C", 1),
    "u4": ("E", 1),
    "u5": ("F", 1),
    "u6": ("G", 1),
}
DOCUMENTED_USE = {"u1": "0.2", "u2": "0.25", "u3": "0", "u4": "0.25", "u5": "0", "u6": "0.3"}
# A has used more than its half, though one of its users has used nothing.
CROSSED = {"A": (None, 1), "B": (None, 1), "a1": ("A", 1), "a2": ("A", 1), "b1": ("B", 1), "b2": ("B", 1)}
CROSSED_USE = {"a1": "0", "a2": "0.6", "b1": "0.25", "b2": "0.15"}

Tree = Mapping[str, tuple[str | None, int]]


class Slurm:
    """Both rules, exact, for one tree of accounts and the users' parts of all use."""

    def __init__(self, tree: Tree, use: Mapping[str, str]) -> None:
        self.tree = tree
        self.use = {name: Fraction(0) for name in tree} | {user: Fraction(part) for user, part in use.items()}
        for user in use:
            parent = tree[user][0]
            while parent is not None:
                self.use[parent] += Fraction(use[user])
                parent = tree[parent][0]

    def children(self, node: str | None) -> list[str]:
        return [name for name, (parent, _) in self.tree.items() if parent == node]

    def part(self, node: str) -> Fraction:
        """Its shares, of those of its siblings and itself."""
        parent, shares = self.tree[node]
        return Fraction(shares, sum(self.tree[each][1] for each in self.children(parent)))

    def shares(self, node: str) -> Fraction:
        parent = self.tree[node][0]
        return self.part(node) * (1 if parent is None else self.shares(parent))

    def effective(self, node: str) -> Fraction:
        parent, own = self.tree[node][0], self.use[node]
        return own if parent is None else own + (self.effective(parent) - own) * self.part(node)

    def classic(self) -> list[str]:
        """Users by 2^−(effective usage ÷ shares), best first; those without shares last."""
        users = [name for name in self.tree if not self.children(name)]
        with_shares = [user for user in users if self.shares(user)]
        return sorted(with_shares, key=lambda user: self.effective(user) / self.shares(user)) + [
            user for user in users if user not in with_shares
        ]

    def fair_tree(self, node: str | None = None) -> list[str]:
        """Users depth first by level: the part of the shares ÷ the part of the use, largest first."""
        children = self.children(node)
        if node is not None and not children:
            return [node]
        whole = sum(self.use[each] for each in children)
        use_by_share = {
            each: (not self.part(each), self.use[each] / whole / self.part(each) if whole and self.part(each) else 0)
            for each in children
        }
        ranked = sorted(children, key=lambda each: use_by_share[each])
        return [user for each in ranked for user in self.fair_tree(each)]


def ours(tree: Tree, slurm: Slurm) -> list[str]:
    """The order in which one small job of each user is admitted."""
    org = Tenant("org", quota={H100: Quota(10**9)})
    tenants = [Tenant(name, parent or "org", Fraction(shares)) for name, (parent, shares) in tree.items()]
    world = World(config_of(org, *tenants, policy=Policy(history_half_life_ms=3_600_000)))
    world.history = {name: History(part, 0) for name, part in slurm.use.items()}
    for user in reversed(tree):
        if not slurm.children(user):
            world.submit(user, user, takes("h100", gpu=1))
    return [admit.job for admit in world.cycle().admissions]


def test_the_documented_numbers():
    slurm = Slurm(DOCUMENTED, DOCUMENTED_USE)
    users = ("u1", "u2", "u3", "u4", "u5")
    effective = [float(slurm.effective(user)) for user in users]
    factors = [2 ** -float(slurm.effective(user) / slurm.shares(user)) for user in users]
    assert effective == pytest.approx([0.3875, 0.275, 0.15, 0.25, 0.145833], abs=1e-6)
    assert factors == pytest.approx([0.408479, 0.022097, 0.125, 0.5, 0.749154], abs=1e-6)


def test_all_three_agree_on_the_documented_tree():
    slurm = Slurm(DOCUMENTED, DOCUMENTED_USE)
    assert slurm.classic() == ["u5", "u4", "u1", "u3", "u2", "u6"]
    assert slurm.fair_tree() == ["u5", "u4", "u1", "u3", "u2", "u6"]
    assert ours(DOCUMENTED, slurm) == ["u5", "u4", "u1", "u3", "u2", "u6"]


def test_users_of_an_account_that_has_used_less_come_first():
    slurm = Slurm(CROSSED, CROSSED_USE)
    # Classic fair share puts a user of the over-served account before one of the other: a1 before b1.
    assert slurm.classic() == ["b2", "a1", "b1", "a2"]
    assert slurm.fair_tree() == ["b2", "b1", "a1", "a2"]
    assert ours(CROSSED, slurm) == ["b2", "b1", "a1", "a2"]
