"""Random tenant trees, quotas and jobs for what must hold of all of them; a ``random.Random`` makes the choices."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Final

from fairgate_scheduler.core.amounts import UNLIMITED, Row
from fairgate_scheduler.core.jobs import Option
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, QuotaCut, Tenant

GPU: Final = "nvidia.com/gpu"
TPU: Final = "google.com/tpu"
FLAVORS: Final[Mapping[str, Flavor]] = {
    "cpu": Flavor("cpu", kueue_flavor="random-cpu", default_for_cpu_pods=True),
    "a": Flavor("a", resource=GPU, kueue_flavor="random-a", node_labels={"pool": "a"}),
    "b": Flavor("b", resource=GPU, node_labels={"pool": "a", "size": "big"}, kueue_flavor="random-b"),
    "t": Flavor("t", resource=TPU, kueue_flavor="random-t", node_labels={"topology": "2x4"}),
}
ROWS: Final[tuple[Row, ...]] = (("a", GPU), ("b", GPU), ("t", TPU), ("cpu", "cpu"), ("a", "cpu"), ("cpu", "memory"))
_SHAPES: Final[tuple[Mapping[str, str | None], ...]] = (
    {"o": None},
    {"o": None, "r": None},
    {"o": None, "o1": "o", "o2": "o"},
    {"o": None, "m": "o", "n": "m", "p": "n", "q": "n", "r": "m"},
    {"o": None, "o1": "o", "o2": "o", "x": "o1", "y": "o1", "z": "o2", "r": None, "s": "r"},
)


def random_config(random: Random, prefix: str = "") -> Config:
    """A tree, or two. ``prefix``: of all ids."""
    shape = random.choice(_SHAPES)
    tenants = {
        prefix + name: Tenant(
            prefix + name,
            None if parent is None else prefix + parent,
            Fraction(random.choice((0, 1, 2))),
            random_quotas(random, is_root=parent is None),
        )
        for name, parent in shape.items()
    }
    policy = Policy(
        reclaim=random.choice((True, False)),
        rebalance=random.choice((True, False)),
        quota_cut=random.choice((QuotaCut.DRAIN, QuotaCut.RECLAIM)),
    )
    return Config(FLAVORS, tenants, policy)


def random_quotas(random: Random, *, is_root: bool) -> Mapping[Row, Quota]:
    """Quotas of some rows, with limits of all kinds."""
    out: dict[Row, Quota] = {}
    for row in ROWS:
        if random.choice((True, False)):
            nominal = random.choice((0, 1, 2, 3, 5, 8, UNLIMITED))
            borrowing = None if is_root else random.choice((None, None, 0, 2, UNLIMITED))
            lending = None if is_root else random.choice((None, None, 0, min(1, nominal), nominal))
            out[row] = Quota(nominal, borrowing, lending)
    return out


def cut(random: Random, config: Config) -> Config:
    """Another version of a configuration: one tenant has other quotas."""
    changed = config.tenants[random.choice(sorted(config.tenants))]
    quota = random_quotas(random, is_root=changed.parent is None)
    return replace(config, tenants={**config.tenants, changed.id: replace(changed, quota=quota)})


def random_option(random: Random) -> Option:
    """Workers on one flavor, their head and submitter on ``cpu``."""
    flavor = random.choice(("a", "b", "t"))
    devices = {(flavor, TPU if flavor == "t" else GPU): random.randint(0, 4)}
    plain = {(flavor, "cpu"): random.randint(0, 3), ("cpu", "cpu"): random.randint(0, 3), ("cpu", "memory"): 2}
    return Option(flavor, Fraction(1), (), devices | plain)
