"""The fair order: weighted dominant shares down the tenant tree, hierarchical DRF.

Dominant resource fairness is Ghodsi et al., NSDI 2011: a tenant's share is the largest of its shares of any resource.
On a tree the vector of an inner tenant is the sum of its children's, each scaled down to the least share among them,
and children that can not use more are left out of the scaling (Bhattacharya et al., SoCC 2013): without the scaling a
child can be starved by its siblings' use of another resource, and without the exception by a blocked sibling.

Unlike Kueue's dominant resource share, which counts only what is used above nominal, this counts all use.
"""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from fairgate_scheduler.core.quota import DIMENSIONS, QuotaTree
from fairgate_scheduler.core.usage import Charge

Number = int | Fraction
Key = tuple[int, tuple[Number, ...]]
"""What a tenant is compared by: weight 0 last, then the weighted shares, largest first."""


class FairOrder:
    """Whose turn it is, given what each leaf has been counted so far.

    ``history``: what tenants have used before, by number, in the tree's unit; it is added to the dominant share, also
    where children are scaled, so that siblings with equal sums are not scaled at all.
    """

    def __init__(self, tree: QuotaTree, history: Mapping[int, Number] | None = None) -> None:
        self._tree = tree
        self._history = history or {}
        self._points: list[list[int]] = [[0] * len(DIMENSIONS) for _ in tree.ids]
        self._vectors: dict[int, Sequence[Number]] = {}
        self._keys: dict[int, Key] = {}
        self._leaves: frozenset[int] = frozenset()
        self._active: set[int] = set()

    def count(self, charge: Charge) -> None:
        """Count a job."""
        points = self._points[charge.node]
        for place, amount in enumerate(charge.points):
            points[place] += amount
        self._forget(charge.node)

    def uncount(self, charge: Charge) -> None:
        """Count a job no longer."""
        points = self._points[charge.node]
        for place, amount in enumerate(charge.points):
            points[place] -= amount
        self._forget(charge.node)

    def least(self, leaves: Collection[int]) -> int:
        """The leaf whose turn it is, of these, which all have a job that can be placed.

        From the roots down always to the child with the least share; ties: the next-largest share, then the id.
        """
        self._activate(frozenset(leaves))
        level: Sequence[int] = self._tree.roots
        node = -1
        while level:
            candidates = [each for each in level if each in self._active]
            node = candidates[0] if len(candidates) == 1 else min(candidates, key=self._order)
            level = self._tree.children[node]
        return node

    def standing(self, node: int) -> Key:
        """What a tenant is compared by if nothing is scaled: all that its subtree has been counted."""
        return self._weighted(node, self._total(node))

    def _total(self, node: int) -> Sequence[Number]:
        children = self._tree.children[node]
        return [sum(each) for each in zip(*map(self._total, children), strict=True)] if children else self._points[node]

    def _order(self, node: int) -> tuple[Key, int]:
        return self._key(node), node

    def _key(self, node: int) -> Key:
        known = self._keys.get(node)
        if known is None:
            known = self._keys[node] = self._weighted(node, self._vector(node))
        return known

    def _weighted(self, node: int, vector: Sequence[Number]) -> Key:
        shares = sorted(vector, reverse=True)
        if node in self._history:
            shares[0] += self._history[node]
        multiplier = self._tree.multipliers[node]
        return (0 if multiplier else 1, tuple(share * multiplier for share in shares) if multiplier else tuple(shares))

    def _vector(self, node: int) -> Sequence[Number]:
        if not self._tree.children[node]:
            return self._points[node]
        known = self._vectors.get(node)
        if known is None:
            known = self._vectors[node] = self._rescaled(self._tree.children[node])
        return known

    def _rescaled(self, children: Sequence[int]) -> Sequence[Number]:
        least = min((self._key(child) for child in children if child in self._active), default=None)
        out: list[Number] = [0] * len(DIMENSIONS)
        for child in children:
            scale = self._scale(child, least)
            for place, amount in enumerate(self._vector(child)):
                out[place] += amount if scale is None else amount * scale
        return out

    def _scale(self, child: int, least: Key | None) -> Fraction | None:
        """By what a child's vector is scaled; ``None``: not at all."""
        if least is None or child not in self._active:
            return None
        kind, shares = self._key(child)
        if not shares[0] or (kind, shares[0]) == (least[0], least[1][0]):
            return None
        # A child of weight 0 beside one of any weight: its share is beyond comparison, so it is scaled to nothing.
        return Fraction(least[1][0]) / shares[0] if kind == least[0] else Fraction(0)

    def _activate(self, leaves: frozenset[int]) -> None:
        if leaves == self._leaves:
            return
        for leaf in leaves ^ self._leaves:
            self._forget(leaf)
        self._leaves = leaves
        self._active = {node for leaf in leaves for node in self._tree.paths[leaf]}

    def _forget(self, leaf: int) -> None:
        for node in self._tree.paths[leaf]:
            self._keys.pop(node, None)
            self._vectors.pop(node, None)
