"""Whatever the core admits, Kueue reserves under the queues that we write: on random trees, also after quota cuts."""

from collections.abc import Mapping
from fractions import Fraction
from random import Random
from typing import Any, Final

from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.mapping import Site, check_mapping, overruns, wanted_objects
from fairgate_scheduler.core.amounts import Row, parse_quantity
from fairgate_scheduler.core.config_checks import check_config
from fairgate_scheduler.core.jobs import Option
from fairgate_scheduler.core.tenancy import Config, Quota, Tenant
from fairgate_scheduler.testing.kueue_model import KueueModel, usage_of
from fairgate_scheduler.testing.random_tenants import FLAVORS, GPU, ROWS, cut, random_config, random_option
from fairgate_scheduler.testing.worlds import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PROFILE = settings(
    derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
LABELS: Final = {name: flavor.node_labels for name, flavor in FLAVORS.items()}


def manifests(config: Config, lifted: Mapping[tuple[str, Row], int] | None = None) -> list[Manifest]:
    return [each.manifest for each in wanted_objects(config, Site(), lifted or {})]


class Cluster:
    """Kueue beside a world: what the world admits is launched into it, what it ends is taken out."""

    def __init__(self, world: World) -> None:
        self.world, self.kueue = world, KueueModel(manifests(world.config))
        self.launched: dict[tuple[str, int], tuple[str, Mapping[Any, int]]] = {}

    def keep(self) -> None:
        """The queues are written for what is there now."""
        there = [(self.world.jobs[name].tenant, each.demand) for name, each in self.world.attempts.items()]
        self.kueue.apply(manifests(self.world.config, overruns(self.world.config, there)))

    def follow(self) -> None:
        """All that has ended is gone first, then comes what is new: each must be reserved."""
        now = {(name, attempt.number): attempt for name, attempt in self.world.attempts.items()}
        for key in self.launched.keys() - now.keys():
            self.kueue.release(*self.launched.pop(key))
        for key in sorted(now.keys() - self.launched.keys(), key=lambda each: now[each].admission):
            job, attempt = self.world.jobs[key[0]], now[key]
            usage = usage_of(self.kueue, job.tenant, job.options[attempt.option], LABELS)
            assert self.kueue.reserve(job.tenant, usage), (key, job.tenant, usage)
            self.launched[key] = (job.tenant, usage)


@given(st.randoms(use_true_random=False))
@PROFILE
def test_what_the_core_admits_kueue_reserves(random: Random) -> None:
    world = World(random_config(random), capacity=dict.fromkeys(ROWS, random.choice((9, 1_000))))
    cluster, number = Cluster(world), 0
    leaves = [name for name in world.config.tenants if world.config.is_leaf(name)]
    for _ in range(random.randint(1, 4)):
        for _ in range(random.randint(1, 5)):
            number += 1
            wanted = [random_option(random) for _ in range(random.randint(1, 2))]
            world.submit(f"j{number}", random.choice(leaves), *wanted, priority=random.randint(0, 1))
        if random.choice((True, False)):
            world.config = cut(random, world.config)
        cluster.keep()
        world.cycle()
        cluster.follow()
        for name in [each for each in world.attempts if random.randint(0, 3) == 0]:
            world.finish(name)


@given(st.randoms(use_true_random=False))
@PROFILE
def test_queues_are_as_kueue_wants_them(random: Random) -> None:
    config = random_config(random)
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
    assert not cluster.kueue.reserve("a", {("random-a", GPU): 4}), "without the lift Kueue would not reserve it"
    cluster.kueue.apply(manifests(world.config, overruns(world.config, [("b", {gpus: 6})])))
    assert cluster.kueue.reserve("a", {("random-a", GPU): 4})
    assert not cluster.kueue.reserve("b", {("random-a", GPU): 1}), "the lift is no quota"
