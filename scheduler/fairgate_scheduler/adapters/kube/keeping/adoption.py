"""What others made and we use as it is: whether it says what we need it to."""

from collections.abc import Iterator, Mapping
from typing import Any

from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.api.kinds import RESOURCE_FLAVOR
from fairgate_scheduler.adapters.kube.mapping import Wanted
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text


def objections(wanted: Wanted, seen: Manifest) -> Iterator[str]:
    """Why an object of others can not be used in place of ours."""
    if not wanted.is_adoptable:
        yield "somebody else made it: name it otherwise in the configuration, or delete it"
    elif wanted.key.kind == RESOURCE_FLAVOR:
        yield from _of_flavor(get_map(wanted.manifest, "spec"), get_map(seen, "spec"))
    elif wanted.manifest["value"] != seen.get("value"):
        yield (
            f"somebody else made it with the value {seen.get('value')}, and the configuration says "
            f"{wanted.manifest['value']}: write the same value, or name the priority otherwise"
        )


def _of_flavor(wanted: Mapping[str, Any], seen: Mapping[str, Any]) -> Iterator[str]:
    mine, theirs = get_map(wanted, "nodeLabels"), get_map(seen, "nodeLabels")
    if mine != theirs:
        yield f"its nodeLabels are {_text(theirs)}, and node_labels says {_text(mine)}: write the same"
    if get_text(seen, "topologyName"):
        yield "it has a topologyName: Kueue may then keep jobs waiting that have quota"
    tolerations = [*get_list(wanted, "tolerations"), *get_list(seen, "tolerations")]
    for taint in get_list(seen, "nodeTaints"):
        if not any(_tolerates(each, taint) for each in tolerations):
            yield f"nothing tolerates its taint {taint.get('key')}={taint.get('value', '')}: add it to tolerations"


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint.get("key"))
    return toleration.get("key") == taint.get("key") and toleration.get("value", "") == taint.get("value", "")


def _text(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "none"
