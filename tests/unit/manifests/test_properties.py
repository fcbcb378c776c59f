"""For any manifest: the charge is the sum over all that runs, and nothing but findings comes of nonsense."""

import copy

from fairgate_scheduler.core.amounts import parse_quantity
from fairgate_scheduler.core.manifests import ManifestError, canonical, ray_resources, render_for_option, understand
from fairgate_scheduler.testing.rayjobs import GPU, TPU, container, fleet, group, head_group, ray_job, template
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

quick = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])

quantities = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["100m", "1", 2, "0.3", "1500m"])},
    optional={"memory": st.sampled_from(["1Gi", "1e6", "200M", "0.5", 1]), GPU: st.integers(0, 8)},
)
init_containers = st.lists(st.tuples(quantities, st.booleans()), max_size=3)
pods = st.tuples(st.lists(quantities, min_size=1, max_size=3), init_containers, st.booleans())


def make_template(pod):
    containers, inits, has_overhead = pod
    spec = {
        "initContainers": [
            container(f"i{index}", limits, **({"restartPolicy": "Always"} if stays else {}))
            for index, (limits, stays) in enumerate(inits)
        ]
    }
    if has_overhead:
        spec["overhead"] = {"cpu": "50m"}
    return template(*(container(f"c{index}", limits) for index, limits in enumerate(containers)), **spec)


def slow_pod(pod, extra_init=(), extra=()):
    """The most that a pod asks for at any moment of its life, each moment written out."""
    containers, inits, has_overhead = pod
    moments = []
    staying = []
    for limits, stays in [*inits, *((limits, False) for limits in extra_init)]:
        moments.append([*staying, limits])
        if stays:
            staying.append(limits)
    moments.append([*staying, *containers, *extra])
    names = {name for moment in moments for limits in moment for name in limits}
    most = {
        name: max(sum(parse_quantity(limits.get(name, 0), name) for limits in moment) for moment in moments)
        for name in names
    }
    if has_overhead:
        most["cpu"] += 50
    return most


@quick
@given(
    pods,
    st.lists(st.tuples(pods, st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.integers(1, 3)), max_size=3),
    st.booleans(),
    st.sampled_from(["K8sJobMode", "HTTPMode", "SidecarMode"]),
)
def test_the_demand_is_the_sum_over_every_pod(head, workers, autoscaled, mode):
    groups = [
        group(
            f"g{index}",
            replicas,
            template=make_template(pod),
            minReplicas=min(low, high),
            maxReplicas=max(low, high),
            numOfHosts=hosts,
        )
        for index, (pod, replicas, low, high, hosts) in enumerate(workers)
    ]
    manifest = ray_job(
        *groups,
        head={**head_group(), "template": make_template(head)},
        submissionMode=mode,
        cluster={"enableInTreeAutoscaling": autoscaled},
    )
    (option,) = understand(manifest, None, fleet(), "vision").options
    sidecars = [{"cpu": "500m", "memory": "512Mi"}] if autoscaled else []
    submitter = {"cpu": "500m", "memory": "200Mi"}
    alive = [slow_pod(head, extra=[*sidecars, *([submitter] if mode == "SidecarMode" else [])])]
    for pod, replicas, low, high, hosts in workers:
        least, most = min(low, high), max(low, high)
        count = most if autoscaled else min(max(replicas, least), most)
        alive += [slow_pod(pod, extra_init=[{"cpu": "200m", "memory": "256Mi"}])] * (count * hosts)
    if mode == "K8sJobMode":
        alive.append({name: parse_quantity(text, name) for name, text in submitter.items()})
    for name in {name for each in alive for name in each}:
        charged = sum(amount for (_, resource), amount in option.demand.items() if resource == name)
        assert charged == sum(each.get(name, 0) for each in alive), name


nonsense = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["-1", "1Gi", GPU]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["spec", "name", "cpu", GPU]), inner),
    max_leaves=6,
)


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


FULL = ray_job(
    group(
        "gpu",
        limits={"cpu": 4, "memory": "8Gi", GPU: 4},
        minReplicas=1,
        maxReplicas=2,
        rayStartParams={"num-gpus": "4", "resources": '{"disk": 1}'},
    ),
    group("tpu", limits={"cpu": 4, TPU: 4}, numOfHosts=2, resources={"CPU": "1"}),
    submitterPodTemplate=template(container(limits={"cpu": 1})),
    cluster={"autoscalerOptions": {"resources": {"limits": {"cpu": 1}}}, "enableInTreeAutoscaling": False},
    deletionStrategy={"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteCluster"}},
    entrypointResources='{"disk": 1}',
)
SPECS = [{"flavor": "h100", "groups": {"tpu": {"flavor": "v5e", "replicas": 2}, "gpu": {"resources": {GPU: 2}}}}]
PLACES = [("manifest", path) for path in places(FULL)] + [("specs", path) for path in places(SPECS)]


@settings(quick, max_examples=250)
@given(st.sampled_from(PLACES), nonsense, st.booleans())
def test_nonsense_anywhere_is_understood_or_found_but_never_a_crash(place, value, removes):
    where, path = place
    document = {"manifest": copy.deepcopy(FULL), "specs": copy.deepcopy(SPECS)}
    at, key = document, where
    for step in path:
        at, key = at[key], step
    if removes:
        del at[key]
    else:
        at[key] = value
    manifest, specs = document.get("manifest"), document.get("specs")
    try:
        understood = understand(manifest, specs, fleet(), "vision")
    except ManifestError:
        return
    canonical(manifest)
    for option, spec in zip(understood.options, understood.option_specs, strict=True):
        assert all(amount > 0 for amount in option.demand.values())
        out = render_for_option(manifest, spec, option, fleet())
        assert ray_resources(out, option).get("GPU", 0) <= sum(
            group.requests.get(GPU, 0) * group.count for group in option.groups
        )
