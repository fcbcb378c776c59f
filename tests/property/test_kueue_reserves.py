"""Whatever the core admits, Kueue reserves under the queues that we write: on random trees, also after quota cuts."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.mapping import Site, check_mapping, overruns, wanted_objects
from fairgate_scheduler.core.amounts import UNLIMITED, Row, parse_quantity
from fairgate_scheduler.core.config_checks import check_config
from fairgate_scheduler.core.jobs import Option
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.testing.kueue_model import KueueModel, usage_of
from fairgate_scheduler.testing.worlds import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PROFILE = settings(
    derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
GPU: Final = "nvidia.com/gpu"
TPU: Final = "google.com/tpu"
FLAVORS: Final = {
    "cpu": Flavor("cpu", default_for_cpu_pods=True),
    "a": Flavor("a", resource=GPU, node_labels={"pool": "a"}),
    "b": Flavor("b", resource=GPU, node_labels={"pool": "a", "size": "big"}, kueue_flavor="other"),
    "t": Flavor("t", resource=TPU, node_labels={"topology": "2x4"}),
}
LABELS: Final = {name: flavor.node_labels for name, flavor in FLAVORS.items()}
ROWS: Final[tuple[Row, ...]] = (("a", GPU), ("b", GPU), ("t", TPU), ("cpu", "cpu"), ("a", "cpu"), ("cpu", "memory"))
SHAPES: Final[tuple[Mapping[str, str | None], ...]] = (
    {"o": None},
    {"o": None, "r": None},
    {"o": None, "o1": "o", "o2": "o"},
    {"o": None, "m": "o", "n": "m", "p": "n", "q": "n", "r": "m"},
    {"o": None, "o1": "o", "o2": "o", "x": "o1", "y": "o1", "z": "o2", "r": None, "s": "r"},
)


def quotas(draw: st.DrawFn, *, is_root: bool) -> Mapping[Row, Quota]:
    out: dict[Row, Quota] = {}
    for row in ROWS:
        if draw(st.booleans()):
            nominal = draw(st.sampled_from((0, 1, 2, 3, 5, 8, UNLIMITED)))
            borrowing = None if is_root else draw(st.sampled_from((None, None, 0, 2, UNLIMITED)))
            lending = None if is_root else draw(st.sampled_from((None, None, 0, min(1, nominal), nominal)))
            out[row] = Quota(nominal, borrowing, lending)
    return out


@st.composite
def configs(draw: st.DrawFn) -> Config:
    tenants = {
        name: Tenant(name, parent, Fraction(draw(st.sampled_from((0, 1, 2)))), quotas(draw, is_root=parent is None))
        for name, parent in draw(st.sampled_from(SHAPES)).items()
    }
    policy = Policy(
        reclaim=draw(st.booleans()), rebalance=draw(st.booleans()), quota_cut=draw(st.sampled_from(list(QuotaCut)))
    )
    return Config(FLAVORS, tenants, policy)


@st.composite
def options(draw: st.DrawFn) -> Option:
    """Workers on one flavor, their head and submitter on ``cpu``."""
    flavor = draw(st.sampled_from(("a", "b", "t")))
    devices = {(flavor, TPU if flavor == "t" else GPU): draw(st.integers(0, 4))}
    plain = {(flavor, "cpu"): draw(st.integers(0, 3)), ("cpu", "cpu"): draw(st.integers(0, 3)), ("cpu", "memory"): 2}
    return Option(flavor, Fraction(1), (), devices | plain)


def manifests(config: Config, lifted: Mapping[tuple[str, Row], int] | None = None) -> list[Manifest]:
    return [each.manifest for each in wanted_objects(config, Site(), lifted or {})]


class Cluster:
    """Kueue beside a world: what the world admits is launched into it, what it ends is taken out."""

    def __init__(self, world: World) -> None:
        self.world, self.kueue = world, KueueModel(manifests(world.config))
        self.launched: dict[str, tuple[str, Mapping[Any, int]]] = {}

    def keep(self) -> None:
        """The queues are written for what is there now."""
        there = [(self.world.jobs[name].tenant, each.demand) for name, each in self.world.attempts.items()]
        self.kueue.apply(manifests(self.world.config, overruns(self.world.config, there)))

    def follow(self) -> None:
        """All that has ended is gone first, then comes what is new: each must be reserved."""
        for name in [each for each in self.launched if each not in self.world.attempts]:
            self.kueue.release(*self.launched.pop(name))
        new = [name for name in self.world.attempts if name not in self.launched]
        for name in sorted(new, key=lambda each: self.world.attempts[each].admission):
            job, attempt = self.world.jobs[name], self.world.attempts[name]
            usage = usage_of(self.kueue, job.tenant, job.options[attempt.option], LABELS)
            assert self.kueue.reserve(job.tenant, usage), (name, job.tenant, usage)
            self.launched[name] = (job.tenant, usage)


@given(st.data())
@PROFILE
def test_what_the_core_admits_kueue_reserves(data: st.DataObject) -> None:
    draw = data.draw
    there = draw(st.sampled_from((9, 1_000)))
    world = World(draw(configs()), capacity=dict.fromkeys(ROWS, there))
    cluster, number = Cluster(world), 0
    leaves = [name for name in world.config.tenants if world.config.is_leaf(name)]
    for _ in range(draw(st.integers(1, 4))):
        for _ in range(draw(st.integers(1, 5))):
            number += 1
            wanted = draw(st.lists(options(), min_size=1, max_size=2))
            world.submit(f"j{number}", draw(st.sampled_from(leaves)), *wanted, priority=draw(st.integers(0, 1)))
        if draw(st.booleans()):
            changed = world.config.tenants[draw(st.sampled_from(sorted(world.config.tenants)))]
            cut = replace(changed, quota=quotas(draw, is_root=changed.parent is None))
            world.config = replace(world.config, tenants={**world.config.tenants, changed.id: cut})
        cluster.keep()
        world.cycle()
        cluster.follow()
        for name in [each for each in world.attempts if draw(st.integers(0, 3)) == 0]:
            world.finish(name)


@given(configs())
@PROFILE
def test_queues_are_as_kueue_wants_them(config: Config) -> None:
    assert not check_config(config)
    assert not check_mapping(config)
    for manifest in manifests(config):
        if manifest["kind"] not in ("ClusterQueue", "Cohort"):
            continue
        spec = manifest["spec"]
        has_parent = "cohortName" in spec or "parentName" in spec
        for group in spec.get("resourceGroups", ()):
            assert len(group["coveredResources"]) == len(set(group["coveredResources"]))
            for flavor in group["flavors"]:
                assert [each["name"] for each in flavor["resources"]] == group["coveredResources"]
                for each in flavor["resources"]:
                    assert has_parent or each.keys() == {"name", "nominalQuota"}, each
                    nominal = parse_quantity(each["nominalQuota"], each["name"])
                    lending = parse_quantity(each.get("lendingLimit", "0"), each["name"])
                    assert 0 <= lending <= nominal < 2**62, each


def test_a_debt_above_does_not_keep_a_tenant_from_what_it_keeps_for_itself() -> None:
    gpus: Row = ("a", GPU)

    def config(of_b: int) -> Config:
        a = Tenant("a", "o", quota={gpus: Quota(4, lending_limit=0)})
        b = Tenant("b", "o", quota={gpus: Quota(of_b)})
        return Config(FLAVORS, {each.id: each for each in (Tenant("o"), a, b)})

    world = World(config(6), capacity={gpus: 99})
    world.submit("big", "b", Option("a", Fraction(1), (), {gpus: 6}))
    cluster = Cluster(world)
    world.cycle()
    cluster.follow()
    world.config = config(2)
    world.submit("own", "a", Option("a", Fraction(1), (), {gpus: 4}))
    world.cycle()
    assert world.running() == {"big": "a", "own": "a"}
    cluster.kueue.apply(manifests(world.config))
    assert not cluster.kueue.reserve("a", {("a", GPU): 4}), "without the lift Kueue would not reserve it"
    cluster.kueue.apply(manifests(world.config, overruns(world.config, [("b", {gpus: 6})])))
    assert cluster.kueue.reserve("a", {("a", GPU): 4})
    assert not cluster.kueue.reserve("b", {("a", GPU): 1}), "the lift is no quota"
