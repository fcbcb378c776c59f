"""The clusters that tests run against: started at most once in a session, taken down at its end."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig import host
from rig.cluster import Rig
from rig.paths import lock
from rig.target import Target

_LONGEST_S = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever is first waits for the cluster to start."""
    for item in items:
        if Path(__file__).parent in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_LONGEST_S))


@pytest.fixture(scope="session")
def cluster(_alone: None) -> Iterator[Target]:
    """A cluster with a node that runs pods: of ``KUBECONFIG``, else one started by hand, else one of our own."""
    if kubeconfig := os.environ.get("KUBECONFIG"):
        yield Target(Path(kubeconfig))
    elif (by_hand := Rig("hand")).is_up() and by_hand.site.has_node:
        yield Target(by_hand.site.kubeconfig("admin"), by_hand)
    elif problem := host.node_problem():
        pytest.skip(problem)
    else:
        with _started(Rig("tests"), has_node=True) as rig:
            yield Target(rig.site.kubeconfig("admin"), rig)


@pytest.fixture(scope="session")
def control_plane(_alone: None) -> Iterator[Target]:
    """A control plane of our own with fake nodes only. Needs no root."""
    with _started(Rig("control"), has_node=False) as rig:
        yield Target(rig.site.kubeconfig("admin"), rig)


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """An API server with Kueue and KubeRay where no pod needs to run: of ``KUBECONFIG``, else ``control_plane``."""
    if given := os.environ.get("KUBECONFIG"):
        return Path(given)
    target: Target = request.getfixturevalue("control_plane")
    return target.kubeconfig


@pytest.fixture(scope="session")
def _alone() -> Iterator[None]:
    """Two runs of the tests do not share clusters: the second waits."""
    with lock("cluster", "other tests use the cluster; waiting"):
        yield


@contextlib.contextmanager
def _started(rig: Rig, *, has_node: bool) -> Iterator[Rig]:
    if rig.is_abandoned():
        rig.down()
    before = rig.traces()
    rig.up(has_node=has_node, owner=os.getpid())
    try:
        yield rig
    finally:
        rig.down()
    assert rig.traces() - before == frozenset()
