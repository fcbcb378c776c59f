"""What of an installation is open or broken, as the API server itself sees it, each with a remedy."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Api, Kind, Manifest, NotFoundError
from fairgate_scheduler.adapters.kube.api.kinds import (
    ADMISSION_POLICY,
    ADMISSION_POLICY_BINDING,
    DEPLOYMENT,
    NAMESPACE,
    SUBJECT_ACCESS_REVIEW,
    VALIDATING_WEBHOOKS,
)
from fairgate_scheduler.adapters.kube.inspection.findings import Finding, Severity, error, warning
from fairgate_scheduler.adapters.kube.inspection.operators import operators
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map, get_text, normalize

from fairgate_admission.certificates.authority import Pair, is_aging, split
from fairgate_admission.certificates.secret import bundle_of
from fairgate_admission.installing.manifests import policies
from fairgate_admission.installing.names import WEBHOOKS
from fairgate_admission.installing.webhook import webhooks
from fairgate_admission.live.exceptions import EXCEPTABLE, declared

_DAEMON_SET: Final = Kind("apps", "v1", "DaemonSet", "daemonsets")
_AUTHENTICATED: Final = "system:authenticated"
_AT_ONCE: Final = 16
"""Namespaces that are asked about at the same time: there can be many."""
_APPLY: Final = "apply what `fairgate gate render` prints"
_RIGHTS: Final = "take that out of their roles"
_FORBIDDEN: Final = (
    ("", "pods", "resize", "patch"),
    ("", "pods", "status", "patch"),
    ("", "pods", "binding", "create"),
    ("batch", "jobs", "status", "patch"),
    ("ray.io", "rayjobs", "status", "patch"),
    ("ray.io", "rayclusters", "status", "patch"),
    ("ray.io", "rayclusters", "", "create"),
    ("resource.k8s.io", "resourceclaims", "", "create"),
    ("kueue.x-k8s.io", "workloads", "", "create"),
    ("kueue.x-k8s.io", "workloads", "status", "patch"),
    ("kueue.x-k8s.io", "localqueues", "", "create"),
    ("autoscaling.x-k8s.io", "provisioningrequests", "", "create"),
    ("", "resourcequotas", "", "patch"),
)
"""(group, resource, subresource, verb): ways round, or rights that no tenant needs, within its namespace."""
_FORBIDDEN_EVERYWHERE: Final = (
    ("", "users", "", "impersonate"),
    ("", "nodes", "", "patch"),
    ("", "namespaces", "", "patch"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "delete"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "", "delete"),
)
_SYSTEM_ACCOUNTS: Final = (("kube-system", "job-controller"), ("kuberay-system", "kuberay-operator"))
_TOOLKIT: Final = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"


def inspect_gate(api: Api, people: Sequence[str]) -> Sequence[Finding]:
    """Everything that was found, errors first. ``people``: names of tenants' users, beside their service accounts.

    Raises:
        ApiError: the cluster can not be asked.
    """
    found = [*_webhook(api), *_policies(api), *_rights(api, people), *_toolkit(api), *_exceptions(api)]
    found += [each for each in operators(api) if each.where.startswith("Kueue")]
    return sorted(found, key=lambda each: each.severity is not Severity.ERROR)


def _webhook(api: Api) -> Iterator[Finding]:
    where = f"ValidatingWebhookConfiguration {WEBHOOKS}"
    try:
        live = api.get(VALIDATING_WEBHOOKS, WEBHOOKS)
    except NotFoundError:
        yield error(where, "is not there: only the policies in the API server hold", _APPLY)
        return
    wanted = webhooks("")["webhooks"][0]
    for each in get_list(live, "webhooks"):
        for key, value in wanted.items():
            if key != "clientConfig" and normalize(each.get(key)) != normalize(value):
                yield error(where, f"{key} is not what was rendered", _APPLY)
    yield from _trust(bundle_of(api, WEBHOOKS), where)


def _trust(bundle: str, where: str) -> Iterator[Finding]:
    try:
        certificates = [Pair(each) for each in split(bundle)]
    except ValueError:
        certificates = []
    now = datetime.now(UTC)
    alive = [each for each in certificates if now < each.x509.not_valid_after_utc]
    if not alive:
        message = "has no caBundle that is valid: the API server refuses all that tenants make"
        yield error(where, message, "see why the gate does not write it: its /readyz says so")
    elif is_aging(alive[0], now):
        yield warning(where, "the newest authority is old and was not renewed", "see why the gate does not renew it")


def _policies(api: Api) -> Iterator[Finding]:
    kinds = {each.kind: each for each in (ADMISSION_POLICY, ADMISSION_POLICY_BINDING)}
    for wanted in policies():
        where = f"{wanted['kind']} {wanted['metadata']['name']}"
        try:
            live = api.get(kinds[wanted["kind"]], wanted["metadata"]["name"])
        except NotFoundError:
            yield error(where, "is not there", _APPLY)
            continue
        if not _holds(get_map(normalize(live), "spec"), get_map(normalize(wanted), "spec")):
            yield error(where, "is not what was rendered", _APPLY)


def _holds(live: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; API servers add defaults."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(_holds(live.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        both = zip(live, wanted, strict=False) if isinstance(live, list) else ()
        return isinstance(live, list) and len(live) == len(wanted) and all(_holds(a, b) for a, b in both)
    return bool(live == wanted)


def _rights(api: Api, people: Sequence[str]) -> Iterator[Finding]:
    tenants = [each["metadata"]["name"] for each in api.list(NAMESPACE, labels=names.TENANT).items]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for found in pool.map(lambda namespace: list(_rights_in(api, namespace, people)), tenants):
            yield from found
    for user in people:
        yield from _rights_everywhere(api, user)


def _rights_in(api: Api, namespace: str, people: Sequence[str]) -> Iterator[Finding]:
    account = f"system:serviceaccount:{namespace}:default"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", _AUTHENTICATED]
    for user, of in [(account, groups), *((each, [_AUTHENTICATED]) for each in people)]:
        held = [
            f"{verb} {resource}{'/' if part else ''}{part}"
            for group, resource, part, verb in _FORBIDDEN
            if _may(api, user, of, (group, resource, part, verb, namespace))
        ]
        if held:
            yield error(user, f"may {', '.join(held)} in namespace {namespace}", _RIGHTS)


def _rights_everywhere(api: Api, user: str) -> Iterator[Finding]:
    held = [
        f"{verb} {resource}"
        for group, resource, part, verb in _FORBIDDEN_EVERYWHERE
        if _may(api, user, [_AUTHENTICATED], (group, resource, part, verb, ""))
    ]
    held += [
        f"make tokens of {account} in {namespace}"
        for namespace, account in _SYSTEM_ACCOUNTS
        if _may(api, user, [_AUTHENTICATED], ("", "serviceaccounts", "token", "create", namespace))
    ]
    if held:
        yield error(user, f"may {', '.join(held)}", _RIGHTS)


def _may(api: Api, user: str, groups: Sequence[str], what: tuple[str, str, str, str, str]) -> bool:
    keys = ("group", "resource", "subresource", "verb", "namespace")
    attributes = {key: text for key, text in zip(keys, what, strict=True) if text}
    spec = {"user": user, "groups": list(groups), "resourceAttributes": attributes}
    return get_map(api.create(SUBJECT_ACCESS_REVIEW, {"spec": spec}), "status").get("allowed") is True


def _toolkit(api: Api) -> Iterator[Finding]:
    """What no admission can close: a container runtime that obeys variables baked into images."""
    pods = [each for kind in (_DAEMON_SET, DEPLOYMENT) for each in api.list(kind).items]
    toolkits = [each for each in pods if "nvidia-container-toolkit" in get_text(get_map(each, "metadata"), "name")]
    remedy = f"set {_TOOLKIT}=false in the toolkit, or use its CDI mode (GPU operator 25.10 or later)"
    for each in toolkits:
        if _variables(each).get(_TOOLKIT, "true").lower() != "false":
            yield error(_name(each), "images can ask for devices by NVIDIA_VISIBLE_DEVICES", remedy)
    if not toolkits:
        message = "no container toolkit was found: look yourself whether images can ask for devices"
        yield warning("NVIDIA container toolkit", message, remedy)


def _variables(manifest: Manifest) -> dict[str, str]:
    containers = get_list(get_map(manifest, "spec", "template", "spec"), "containers")
    items: list[Plain] = [item for each in containers for item in get_list(each, "env")]
    return {get_text(item, "name"): get_text(item, "value") for item in items}


def _exceptions(api: Api) -> Iterator[Finding]:
    now = datetime.now(UTC)
    for each in declared(api):
        where = f"ClusterRole {each.role}"
        if each.rule not in EXCEPTABLE:
            known = ", ".join(sorted(EXCEPTABLE))
            yield warning(where, f"no exception can be made for {each.rule}", f"there are exceptions for {known}")
        elif not each.is_good(now):
            yield warning(where, f"the exception {each.name} is over or has no end", "remove it, or renew it")


def _name(manifest: Manifest) -> str:
    return f"{manifest['kind']} {manifest['metadata'].get('namespace', '')}/{manifest['metadata']['name']}"
