"""What the core admits a real Kueue reserves, all of it, on random trees and after quota cuts. No nodes needed."""

import random
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.api.http import HttpApi
from fairgate_scheduler.adapters.kube.api.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    NAMESPACE,
    RESOURCE_FLAVOR,
    WORKLOAD,
)
from fairgate_scheduler.adapters.kube.keeping import Estate, Keeper
from fairgate_scheduler.adapters.kube.mapping import Site, Wanted, is_ours, overruns, wanted_objects
from fairgate_scheduler.adapters.kube.mapping.flavors import flavor_name
from fairgate_scheduler.adapters.kube.mapping.quantities import quantity
from fairgate_scheduler.adapters.kube.reports import Reports
from fairgate_scheduler.core.jobs import Option
from fairgate_scheduler.core.manifests.plain import get_list, get_map
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.testing.random_tenants import FLAVORS, ROWS, cut, random_config, random_option
from fairgate_scheduler.testing.sim_clock import SimClock
from fairgate_scheduler.testing.worlds import World

PATIENCE_S: Final = 120
TREES_AT_ONCE: Final = 25
ROUNDS: Final = 3
KINDS: Final = (RESOURCE_FLAVOR, COHORT, CLUSTER_QUEUE, NAMESPACE, LOCAL_QUEUE)

pytestmark = pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")


class Batch:
    """Some worlds whose tenants are all in one cluster, each a tree of its own."""

    def __init__(self, api: HttpApi, seed: int, trees: int) -> None:
        self.api, self.random = api, random.Random(seed)
        self.stem = f"n{time.time_ns() // 1_000_000:x}-"
        self.worlds = [
            World(random_config(self.random, f"{self.stem}{number}"), capacity=dict.fromkeys(ROWS, 1_000))
            for number in range(trees)
        ]
        self.launched: dict[str, str] = {}
        self.clock = SimClock()
        self.estate = Estate(api, self.clock, watch_s=0)
        self.keeper = Keeper(api, self.estate, Reports(api, self.clock), self.clock)
        self.number = self.most = 0

    def config(self) -> Config:
        """All trees as one configuration."""
        tenants = {name: tenant for world in self.worlds for name, tenant in world.config.tenants.items()}
        return Config(FLAVORS, tenants)

    def keep(self) -> None:
        """Write the queues; then nothing is left to do, whatever form the server has given to what was written."""
        config = self.config()
        there = [
            (world.jobs[each.job].tenant, each.demand) for world in self.worlds for each in world.attempts.values()
        ]
        wanted = [each for each in wanted_objects(config, Site(), overruns(config, there)) if each.key.kind in KINDS]
        assert self._pass(wanted).problems == []
        for _ in range(20):
            settled = self._pass(wanted)
            if settled.is_settled:
                return
            time.sleep(0.2)
        raise AssertionError(settled)

    def _pass(self, wanted: list[Wanted]) -> Any:
        self.estate.step()
        return self.keeper.keep(wanted)

    def round(self) -> None:
        """Jobs come, quotas change, the core plans, what it ended is gone; what it admitted must be reserved."""
        for world in self.worlds:
            leaves = [name for name in world.config.tenants if world.config.is_leaf(name)]
            for _ in range(self.random.randint(2, 5)):
                self.number += 1
                options = [random_option(self.random) for _ in range(self.random.randint(1, 2))]
                name = f"{self.stem}j{self.number}"
                world.submit(name, self.random.choice(leaves), *options, priority=self.random.randint(0, 1))
            if self.random.choice((True, False)):
                world.config = cut(self.random, world.config)
        self.keep()
        for world in self.worlds:
            world.cycle()
        self._follow()
        for world in self.worlds:
            for name in [each for each in world.attempts if self.random.randint(0, 3) == 0]:
                world.finish(name)

    def _follow(self) -> None:
        running = {
            f"{name}-{attempt.number}": (world.jobs[name].tenant, world.jobs[name].options[attempt.option])
            for world in self.worlds
            for name, attempt in world.attempts.items()
        }
        for name in self.launched.keys() - running.keys():
            self.api.delete(WORKLOAD, name, self.launched.pop(name))
        self._wait("all that ended is gone", lambda found: found.keys() <= self.launched.keys())
        for name in running.keys() - self.launched.keys():
            tenant, option = running[name]
            self.api.create(WORKLOAD, workload(name, tenant, option))
            self.launched[name] = tenant
        self.most = max(self.most, len(self.launched))
        self._wait("all that was admitted is reserved", self._is_reserved)

    def _is_reserved(self, found: dict[str, Manifest]) -> bool:
        return found.keys() == self.launched.keys() and all(is_reserved(each) for each in found.values())

    def _wait(self, what: str, holds: Any) -> None:
        ends_at = time.monotonic() + PATIENCE_S
        while True:
            items = self.api.list(WORKLOAD).items
            found = {each["metadata"]["name"]: each for each in items if each["metadata"]["name"].startswith(self.stem)}
            if holds(found):
                return
            if time.monotonic() > ends_at:
                stuck = [f"{name}: {reason(each)}" for name, each in found.items() if not is_reserved(each)]
                raise AssertionError(f"not true after {PATIENCE_S} s: {what}: {stuck[:5] or sorted(found)[:5]}")
            time.sleep(0.5)

    def clear(self) -> None:
        """Nothing of it is left but the flavors, which all batches share."""
        for name, namespace in self.launched.items():
            self.api.delete(WORKLOAD, name, namespace)
        for kind in (LOCAL_QUEUE, CLUSTER_QUEUE, COHORT, NAMESPACE):
            for each in self.api.list(kind).items:
                name, namespace = each["metadata"]["name"], each["metadata"].get("namespace", "")
                if name.startswith(self.stem) or namespace.startswith(self.stem):
                    self.api.delete(kind, name, namespace)


def workload(name: str, namespace: str, option: Option) -> Manifest:
    """What Kueue makes of an attempt: a pod set for each flavor, with all of its node labels."""
    by_flavor: dict[str, dict[str, str]] = {flavor: {} for flavor, _ in option.demand}
    for (flavor, resource), amount in option.demand.items():
        if amount:
            by_flavor[flavor][resource] = quantity(amount, resource)
    pod_sets = [
        {"name": flavor, "count": 1, "template": {"spec": pod(requests, dict(FLAVORS[flavor].node_labels))}}
        for flavor, requests in by_flavor.items()
    ]
    spec = {"queueName": names.LAUNCH_QUEUE, "podSets": pod_sets}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def pod(requests: dict[str, str], selector: dict[str, str]) -> dict[str, Any]:
    resources = {"requests": requests, "limits": requests}
    container = {"name": "c", "image": "none", "resources": resources}
    return {"restartPolicy": "Never", "nodeSelector": selector, "containers": [container]}


def conditions(manifest: Manifest) -> Iterator[dict[str, Any]]:
    yield from get_list(get_map(manifest, "status"), "conditions")


def is_reserved(manifest: Manifest) -> bool:
    return any(each["type"] == "QuotaReserved" and each["status"] == "True" for each in conditions(manifest))


def reason(manifest: Manifest) -> str:
    return next(
        (each["message"] for each in conditions(manifest) if each["type"] == "QuotaReserved"), "never looked at"
    )


def run(kubeconfig: Path, seeds: Iterable[int], trees: int) -> None:
    api = HttpApi.load(kubeconfig)
    if any(is_ours(each) for each in api.list(CLUSTER_QUEUE).items):
        pytest.skip("a Fairgate keeps queues in this cluster, and the keeper of this test would prune them")
    try:
        for seed in seeds:
            batch = Batch(api, seed, trees)
            try:
                for _ in range(ROUNDS):
                    batch.round()
                assert batch.most > trees, "the worlds are not empty"
            finally:
                batch.clear()
    finally:
        for flavor in FLAVORS.values():
            api.delete(RESOURCE_FLAVOR, flavor_name(flavor))
        api.delete(CLUSTER_QUEUE, names.HELD_CLUSTER_QUEUE)
        api.close()


@pytest.mark.cluster
def test_what_the_core_admits_kueue_reserves(kubeconfig: Path) -> None:
    run(kubeconfig, [1], TREES_AT_ONCE)


@pytest.mark.cluster_full
@pytest.mark.timeout(7200)
def test_what_the_core_admits_kueue_reserves_on_a_thousand_trees(kubeconfig: Path) -> None:
    run(kubeconfig, range(10), 100)
