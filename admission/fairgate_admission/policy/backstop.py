"""The backstop's rules in Python, one function for each policy, with the ids of the policies' messages."""

from collections.abc import Callable
from typing import Final

from fairgate_scheduler.core.amounts import QuantityError, is_accelerator, parse_quantity
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map
from fairgate_scheduler.core.manifests.workloads import workload_demand

from fairgate_admission.facts import names
from fairgate_admission.facts.identities import (
    CLAIMS,
    COLLECTOR,
    CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
    KUBERAY,
    KUEUE,
    NAMESPACES,
    NODE,
    SCHEDULER,
    WORKLOAD_CONTROLLERS,
    autoscaler_of,
    is_admin,
)
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import SUBMIT, Denial

_CLEANERS: Final = frozenset({COLLECTOR, NAMESPACES, CONTROLLER_MANAGER})
_POD_MAKERS: Final = WORKLOAD_CONTROLLERS | {KUBERAY}
_RAY_WRITERS: Final = _CLEANERS | {KUBERAY, KUEUE, SCHEDULER}
SYSTEM_NAMESPACES: Final = (
    "kube-system",
    "kueue-system",
    "kuberay-system",
    "fairgate-system",
    "gpu-operator",
    "nvidia-dra-driver-gpu",
    "node-feature-discovery",
    "karpenter",
)
"""Namespaces whose accounts may publish devices and label nodes."""
GUARDED_LABELS: Final = (names.FAIRGATE, names.KUEUE, "resource.kubernetes.io/", "pod-security.kubernetes.io/")
BUILT_IN: Final = {
    "apps": ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"),
    "batch": ("Job", "CronJob"),
    "": ("ReplicationController",),
}
_KUEUE_GROUP: Final = "kueue.x-k8s.io"
_LEAVE: Final = "ask the admins of the platform"


def check_backstop(request: Request, tenant: str | None) -> list[Denial]:
    """Everything that the policies refuse. ``tenant``: that of the namespace that it is made in, or is about."""
    return [denial for rule in _RULES if (denial := rule(request, tenant)) is not None]


def _is_written(request: Request) -> bool:
    """Whether it is a create, or an update that changes the spec."""
    if request.operation == "CREATE":
        return True
    return request.is_update and get_map(request.object, "spec") != get_map(request.old, "spec")


def _devices(request: Request, tenant: str | None) -> Denial | None:
    """No devices outside of tenants' namespaces; in them only what controllers make."""
    is_pod = (request.group, request.kind) == ("", "Pod") and request.operation == "CREATE"
    is_template = request.kind in BUILT_IN.get(request.group, ())
    is_ray = request.group == "ray.io" and tenant is None  # in tenants' namespaces it has rules of its own
    if request.subresource or not (is_pod or is_template or is_ray) or not _is_written(request):
        return None
    asking = [pods.path for pods in workload_demand(request.object).pod_sets if _asks(pods.template)]
    if not asking:
        return None
    field = f"{asking[0]}.spec".removeprefix(".")
    if tenant is None:
        found = "asks for devices in a namespace that is no tenant's"
        return Denial("FG-NS-001", field, found, SUBMIT)
    if request.username in _POD_MAKERS:
        return None
    rule = "FG-POD-001" if is_pod else "FG-TPL-001"
    return Denial(rule, field, "asks for devices outside of an admitted RayJob", SUBMIT)


def _asks(template: Plain) -> bool:
    """Whether a pod asks for devices anywhere, as the policies see it: an amount that can not be read is one too."""
    spec = get_map(template, "spec")
    kinds = ("containers", "initContainers", "ephemeralContainers")
    resources = [get_map(each, "resources") for kind in kinds for each in get_list(spec, kind)]
    resources += [get_map(spec, "resources"), {"limits": get_map(spec, "overhead")}]
    return any(
        is_accelerator(name) and _is_some(amount)
        for each in resources
        for kind in ("limits", "requests")
        for name, amount in get_map(each, kind).items()
    )


def _is_some(amount: object) -> bool:
    try:
        return parse_quantity(amount, "memory") != 0
    except QuantityError:
        return True


def _ray_objects(request: Request, tenant: str | None) -> Denial | None:
    if tenant is None or request.group != "ray.io" or request.subresource or not _is_written(request):
        return None
    if request.username in _RAY_WRITERS:
        return None
    if request.kind == "RayJob":
        if request.labels().get(names.QUEUE) == "inbox" or request.is_update:
            return None
        found = "is not in the inbox, so it would go round the queue"
        remedy = f"add the label {names.QUEUE}: inbox to metadata.labels"
        return Denial("FG-RAY-001", f"metadata.labels[{names.QUEUE}]", found, remedy)
    if request.is_update and request.username == autoscaler_of(request.namespace, request.name):
        return None
    return Denial("FG-RAY-002", "kind", f"a {request.kind} is not for users to make or change", SUBMIT)


def _starting(request: Request, tenant: str | None) -> Denial | None:
    """Kueue alone starts what is suspended."""
    if tenant is None or not _is_ray_job_update(request) or request.username == KUEUE:
        return None
    new, old = (get_map(of, "spec").get("suspend") is True for of in (request.object, request.old))
    if new or not old:
        return None
    found = "would start it without admission"
    return Denial("FG-RAY-004", "spec.suspend", found, "leave it out; what is admitted is started for you")


def _queue(request: Request, tenant: str | None) -> Denial | None:
    """A RayJob stays in its queue, or what runs would be managed by nobody."""
    if tenant is None or not _is_ray_job_update(request) or request.username in (KUEUE, SCHEDULER):
        return None
    if request.labels().get(names.QUEUE) == request.old_labels().get(names.QUEUE):
        return None
    found = "the queue of an object is set when it is made, and only RayJobs have one: inbox"
    return Denial("FG-LABEL-002", f"metadata.labels[{names.QUEUE}]", found, "leave it as it is")


def _is_ray_job_update(request: Request) -> bool:
    return request.is_update and (request.group, request.kind, request.subresource) == ("ray.io", "RayJob", "")


def _resize(request: Request, tenant: str | None) -> Denial | None:
    if tenant is None or request.subresource != "resize" or not _is_written(request):
        return None
    found = "changes what a running pod takes, which was admitted with it"
    return Denial("FG-RESIZE-001", "spec.containers", found, "make a new pod; for a job, submit it anew")


def _orphans(request: Request, tenant: str | None) -> Denial | None:
    """A cluster without its RayJob would run on when the quota is free."""
    is_ray = tenant is not None and request.group == "ray.io" and request.operation == "DELETE"
    if not is_ray or request.username in _RAY_WRITERS:
        return None
    if request.options.get("propagationPolicy") != "Orphan" and request.options.get("orphanDependents") is not True:
        return None
    found = "would leave running what it has made"
    return Denial("FG-DEL-002", "propagationPolicy", found, "delete it without --cascade=orphan")


def _kueue_objects(request: Request, tenant: str | None) -> Denial | None:
    is_theirs = request.group in (_KUEUE_GROUP, "autoscaling.x-k8s.io") or (request.group, request.kind) == (
        "",
        "PodTemplate",
    )
    if not is_theirs or request.operation == "CONNECT" or request.username in _CLEANERS | {KUEUE, SCHEDULER}:
        return None
    if request.group == _KUEUE_GROUP:
        found = f"a {request.kind} is written by Kueue and by our scheduler alone"
        return Denial("FG-KUEUE-001", "kind", found, "change quotas with `fairgate quota apply`")
    if tenant is None:
        return None
    found = f"a {request.kind} can get nodes outside of every quota"
    return Denial("FG-KUEUE-002", "kind", found, SUBMIT)


def _status(request: Request, tenant: str | None) -> Denial | None:
    """What runs is told by what runs it: a forged end would free a quota that is in use."""
    if request.subresource != "status" or tenant is None:
        return None
    name = request.username
    if request.group == "ray.io" and name not in _RAY_WRITERS:
        found = f"the status of a {request.kind} is written by KubeRay"
        return Denial("FG-STATUS-001", "status", found, "read it")
    if (request.group, request.kind) == ("batch", "Job") and name not in WORKLOAD_CONTROLLERS | {KUEUE, KUBERAY}:
        return Denial("FG-STATUS-001", "status", "the status of a Job is written by its controller", "read it")
    if (request.group, request.kind) == ("", "Pod") and not _is_of_system(name):
        return Denial("FG-STATUS-002", "status", "the status of a pod is written by its node", "read it")
    return None


def _bindings(request: Request, tenant: str | None) -> Denial | None:
    is_binding = request.subresource == "binding" or (request.group, request.kind) == ("", "Binding")
    if not is_binding or request.username == KUBE_SCHEDULER:
        return None
    return Denial("FG-BIND-001", "target", "only the scheduler puts pods on nodes", "let it be scheduled")


def _claims(request: Request, tenant: str | None) -> Denial | None:
    if request.group != "resource.k8s.io" or request.kind not in ("ResourceClaim", "ResourceClaimTemplate"):
        return None
    if request.operation == "DELETE" or request.username in _CLEANERS | {CLAIMS, KUBE_SCHEDULER}:
        return None
    if request.username.startswith(NODE) or request.subresource:
        return None
    found = "claims devices, which are not counted by claims"
    return Denial("FG-DRA-001", "spec.devices", found, "ask for them by their resource name in a RayJob")


def _platform(request: Request, tenant: str | None) -> Denial | None:
    """Nodes, classes of devices, quota objects: what is counted, and by what."""
    kinds = {
        ("resource.k8s.io", "DeviceClass"): "FG-DRA-002",
        ("resource.k8s.io", "ResourceSlice"): "FG-DRA-002",
        ("", "Node"): "FG-NODE-001",
        ("", "ResourceQuota"): "FG-QUOTA-001",
    }
    rule = kinds.get((request.group, request.kind))
    if rule is None or request.subresource or is_admin(request.groups) or _is_of_system(request.username):
        return None
    if rule == "FG-QUOTA-001" and tenant is None:
        return None
    return Denial(rule, "kind", f"a {request.kind} is changed by admins alone", _LEAVE)


def _is_of_system(username: str) -> bool:
    """Nodes, and parts of the system: none of them is in a tenant's namespace."""
    accounts = tuple(f"system:serviceaccount:{namespace}:" for namespace in SYSTEM_NAMESPACES)
    return username.startswith((NODE, *accounts)) or username in (KUBE_SCHEDULER, CONTROLLER_MANAGER)


def _namespaces(request: Request, tenant: str | None) -> Denial | None:
    if (request.group, request.kind) != ("", "Namespace") or request.operation not in ("CREATE", "UPDATE"):
        return None
    if is_admin(request.groups) or request.username in _CLEANERS | {SCHEDULER}:
        return None
    new, old = request.labels(), request.old_labels()
    of_tenant = tenant is not None or names.TENANT in old
    for key in dict.fromkeys([*new, *old]):
        if new.get(key) != old.get(key) and (of_tenant or key.startswith(GUARDED_LABELS)):
            found = f"the label {key} says what may happen in the namespace"
            return Denial("FG-NS-002", f"metadata.labels[{key}]", found, _LEAVE)
    return None


_Rule = Callable[[Request, str | None], Denial | None]
_RULES: Final[tuple[_Rule, ...]] = (
    _devices, _ray_objects, _starting, _queue, _resize, _orphans,
    _kueue_objects, _status, _bindings, _claims, _platform, _namespaces,
)  # fmt: skip
