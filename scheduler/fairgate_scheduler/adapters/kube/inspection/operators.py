"""Kueue and KubeRay: which versions, and how they are set up."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import yaml

from fairgate_scheduler.adapters.kube.api import Api, Kind, Manifest, NotFoundError
from fairgate_scheduler.adapters.kube.api.kinds import (
    ADMISSION_POLICY,
    CLUSTER_QUEUE,
    CONFIG_MAP,
    CRD,
    DEPLOYMENT,
    RAY_JOB,
)
from fairgate_scheduler.adapters.kube.inspection.findings import Finding, error, warning
from fairgate_scheduler.adapters.kube.mapping.policies import LAUNCH_POLICY, QUEUE_POLICY
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text, is_true

_TAG: Final = re.compile(r":v?(\d+)\.(\d+)(?:\.\d+)?[^/]*$")
_KUEUE: Final = (17, 19)
_KUBERAY: Final = (1, 5)
_KUEUE_FILE: Final = "controller_manager_config.yaml"
_RAY_JOB: Final = "ray.io/rayjob"
_BLOCK: Final = "BlockUndeclared"


def operators(api: Api) -> Iterator[Finding]:
    """Kueue's and KubeRay's kinds, versions and settings, and our policies in the API server."""
    yield from _served(api, CLUSTER_QUEUE, "Kueue", "install Kueue 0.17 to 0.19")
    yield from _served(api, RAY_JOB, "KubeRay", "install KubeRay 1.5 or later")
    deployments = api.list(DEPLOYMENT).items
    kueue = _find(deployments, "kueue-controller-manager", "kueue")
    yield from _kueue_version(kueue)
    yield from _kueue_settings(api)
    yield from _kuberay_version(_find(deployments, "kuberay-operator", "kuberay-operator"))
    for policy in (LAUNCH_POLICY, QUEUE_POLICY):
        if not _is_there(api, ADMISSION_POLICY, policy):
            message = "is not there: anybody who may make pods can use the launch queue and write Kueue's objects"
            yield error(f"ValidatingAdmissionPolicy {policy}", message, "apply what `fairgate kube render` prints")


def settings(text: str) -> Iterator[Finding]:
    """What of Kueue's own configuration file does not go together with us."""
    where = "Kueue's configuration"
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError:
        content = None
    if not isinstance(content, dict):
        yield warning(where, "can not be read", "look into its ConfigMap")
        return
    if is_true(get_map(content, "waitForPodsReady"), "enable") or _is_on(get_map(content, "waitForPodsReady")):
        message = "waitForPodsReady is on: Kueue would evict attempts by itself and give them up for good"
        yield error(where, message, "remove it: ready_timeout of the policy does this")
    frameworks = get_list(get_map(content, "integrations"), "frameworks")
    if frameworks and _RAY_JOB not in frameworks:
        message = f"integrations.frameworks lacks {_RAY_JOB}: attempts would never be admitted"
        yield error(where, message, "add it")
    if is_true(content, "manageJobsWithoutQueueName"):
        message = "manageJobsWithoutQueueName is on: jobs of tenants without a queue are suspended, too"
        yield warning(where, message, "keep tenants' namespaces out with managedJobsNamespaceSelector, or turn it off")
    resources = get_map(content, "resources")
    if get_list(resources, "excludeResourcePrefixes") or get_list(resources, "transformations"):
        message = "resources are left out or changed: Kueue does not charge what the pods ask for"
        yield error(where, message, "remove resources.excludeResourcePrefixes and resources.transformations")
    if get_text(content, "quotaCheckStrategy") not in ("", _BLOCK) or get_text(resources, "quotaCheckStrategy") not in (
        "",
        _BLOCK,
    ):
        message = "quotaCheckStrategy lets in resources that no queue covers: they are not charged"
        yield error(where, message, f"write {_BLOCK}, or remove it")


def _is_on(section: Mapping[str, Any]) -> bool:
    """Newer versions have no switch: the section itself turns it on."""
    return bool(section) and "enable" not in section


def _kueue_settings(api: Api) -> Iterator[Finding]:
    found = [
        get_map(each, "data")[_KUEUE_FILE]
        for each in api.list(CONFIG_MAP).items
        if _KUEUE_FILE in get_map(each, "data") and "kueue" in each["metadata"]["namespace"]
    ]
    if not found:
        yield warning("Kueue's configuration", f"no ConfigMap with {_KUEUE_FILE} was found", "look at it yourself")
    for text in found:
        yield from settings(text)


def _kueue_version(deployment: Manifest | None) -> Iterator[Finding]:
    where, remedy = "Kueue", "this was tried with Kueue 0.17 to 0.19"
    version = _version(deployment)
    if version is None:
        yield warning(where, "its version is not known: no Deployment of it with a version in its image", remedy)
    elif version[0] != 0 or not _KUEUE[0] <= version[1] <= _KUEUE[1]:
        is_older = version < (0, _KUEUE[0])
        make = error if is_older else warning
        yield make(where, f"version {version[0]}.{version[1]}", remedy)


def _kuberay_version(deployment: Manifest | None) -> Iterator[Finding]:
    where, remedy = "KubeRay", "this was tried with KubeRay 1.5"
    version = _version(deployment)
    if version is None:
        yield warning(where, "its version is not known: no Deployment of it with a version in its image", remedy)
    elif version < _KUBERAY:
        yield error(where, f"version {version[0]}.{version[1]}", remedy)


def _version(deployment: Manifest | None) -> tuple[int, int] | None:
    containers = get_list(get_map(deployment, "spec", "template", "spec"), "containers")
    found = (_TAG.search(get_text(each, "image")) for each in containers)
    return next(((int(match[1]), int(match[2])) for match in found if match), None)


def _find(deployments: Iterable[Manifest], name: str, app: str) -> Manifest | None:
    return next(
        (
            each
            for each in deployments
            if each["metadata"]["name"] == name
            or get_map(each, "metadata", "labels").get("app.kubernetes.io/name") == app
        ),
        None,
    )


def _served(api: Api, kind: Kind, what: str, remedy: str) -> Iterator[Finding]:
    name = f"{kind.plural}.{kind.group}"
    try:
        versions = get_list(get_map(api.get(CRD, name), "spec"), "versions")
    except NotFoundError:
        yield error(what, f"is not installed: there is no {name}", remedy)
        return
    if not any(get_text(each, "name") == kind.version and is_true(each, "served") for each in versions):
        yield error(what, f"{name} is not served as {kind.version}", remedy)


def _is_there(api: Api, kind: Kind, name: str) -> bool:
    try:
        api.get(kind, name)
    except NotFoundError:
        return False
    return True
