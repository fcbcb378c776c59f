"""Whatever is changed in a request that is allowed: if it takes more devices than before, it is allowed no more.

Starts from every request of the attack files that is allowed, and changes it at random: more of what is counted in any
place and spelling, another kind around it, other callers, other owners.
"""

import copy
from dataclasses import replace
from pathlib import Path

import pytest
from fairgate_admission.facts.request import Request
from fairgate_admission.offline.document_world import DocumentWorld
from fairgate_admission.offline.reading import read_attack_file
from fairgate_admission.review import review
from fairgate_scheduler.core.manifests.plain import get_map
from fairgate_scheduler.core.manifests.workloads import workload_demand
from hypothesis import given, settings
from hypothesis import strategies as st

FILES = sorted((Path(__file__).resolve().parents[2] / "admission" / "attacks").glob("*.attack.yaml"))
DEVICES = ("nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "google.com/tpu", "vendor.example/npu", "amd.com/gpu")
AMOUNTS = (1, "8", "1k", "1e3", "1000m", "2Ki", 64, "0x8", "-1", "0.5", "1e30")
SYSTEM = (
    "kubernetes-admin",
    "user-t1",
    "system:serviceaccount:t1:default",
    "system:serviceaccount:t1:kuberay-operator",
)


def allowed():
    """Requests that are allowed and whose object makes pods, in namespaces where devices are counted or refused."""
    out = []
    for file in FILES:
        attack = read_attack_file(file.read_text(), file.name)
        world = DocumentWorld(attack.setting)
        for case in attack.cases:
            request = case.request
            if case.want_allow and request.operation != "DELETE" and not request.subresource:
                assert review(request, world).allowed
                if workload_demand(request.object).pod_sets:
                    out.append((request, world))
    return out


ALLOWED = allowed()


def pods_of(value):
    """Every map with containers below a value."""
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield value
        for item in value.values():
            yield from pods_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from pods_of(item)


@st.composite
def more_devices(draw):
    """An allowed request, and the same asking for devices that it did not ask for, or for more of them."""
    request, world = draw(st.sampled_from(ALLOWED))
    changed = copy.deepcopy(request.object)
    pod = draw(st.sampled_from(list(pods_of(changed))))
    name, amount = draw(st.sampled_from(DEVICES)), draw(st.sampled_from(AMOUNTS))
    kind = draw(st.sampled_from(("containers", "initContainers", "sidecar", "overhead", "ephemeralContainers", "pod")))
    side = draw(st.sampled_from((("limits",), ("requests",), ("limits", "requests"))))
    resources = {each: {name: amount} for each in side}
    if kind == "overhead":
        pod["overhead"] = {**pod.get("overhead", {}), name: amount}
    elif kind == "pod":
        pod["resources"] = resources
    elif kind == "containers" and draw(st.booleans()):
        container = draw(st.sampled_from(pod["containers"]))
        own = get_map(container, "resources")
        container["resources"] = {**own, **{each: {**get_map(own, each), name: amount} for each in side}}
    else:
        more = {"name": "more", "image": "x", "resources": resources}
        if kind == "sidecar":
            more["restartPolicy"] = "Always"
        place = "initContainers" if kind == "sidecar" else kind
        pod[place] = [*pod.get(place, []), more]
    caller = draw(st.sampled_from((request.username, *SYSTEM)))
    return replace(request, object=changed, username=caller), request, world


@settings(max_examples=800, deadline=None)
@given(more_devices())
def test_more_devices_are_never_allowed(drawn):
    changed, request, world = drawn
    before, after = workload_demand(request.object), workload_demand(changed.object)
    if after.findings or grown(before, after):
        verdict = review(changed, world)
        if is_request(changed, world):
            return  # a request may ask for anything: it waits until it is admitted
        assert not verdict.allowed, changed


def grown(before, after) -> bool:
    old = {pods.path: pods.demand.accelerators for pods in before.pod_sets}
    return any(
        amount > old.get(pods.path, {}).get(name, 0)
        for pods in after.pod_sets
        for name, amount in pods.demand.accelerators.items()
    )


def is_request(request: Request, world: DocumentWorld) -> bool:
    is_inbox = request.labels().get("kueue.x-k8s.io/queue-name") == world.settings.inbox
    return request.kind == "RayJob" and is_inbox and world.tenant_of(request.namespace) is not None


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(ALLOWED), st.integers(2, 10**12), st.data())
def test_more_pods_are_never_allowed(drawn, times, data):
    """More replicas, hosts or bounds of what has devices."""
    request, world = drawn
    changed = copy.deepcopy(request.object)
    places = [each for each in walk(changed) if "template" in each]
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    for key in data.draw(st.sampled_from((("replicas", "maxReplicas"), ("numOfHosts",), ("parallelism", "replicas")))):
        place[key] = times
    before, after = workload_demand(request.object), workload_demand(changed)
    devices = {name for pods in after.accelerated for name in pods.demand.accelerators}
    more = any(after.total.get(name, 0) > max(before.total.get(name, 0), reserved(world, name)) for name in devices)
    again = replace(request, object=changed)
    if more and not is_request(again, world):
        assert not review(again, world).allowed, again


def reserved(world: DocumentWorld, name: str) -> int:
    return sum(
        max(group.count, group.max) * group.requests.get(name, 0)
        for reservation in world.setting.admitted
        for group in reservation.groups.values()
    )


def walk(value):
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk(item)


def test_there_is_something_to_change():
    assert len(ALLOWED) > 50
    assert {request.kind for request, _ in ALLOWED} >= {"Pod", "Deployment", "RayJob", "RayCluster", "Job"}


@pytest.mark.parametrize("caller", SYSTEM)
def test_no_identity_but_a_controllers_makes_pods_with_devices(caller):
    """Every allowed pod with devices, made by somebody else."""
    tried = 0
    for request, world in ALLOWED:
        if request.kind == "Pod" and request.operation == "CREATE" and workload_demand(request.object).accelerated:
            assert not review(replace(request, username=caller, groups=("system:masters",)), world).allowed
            tried += 1
    assert tried > 3
