"""Every rule of the gate by its id. Ids are stable: a rule keeps its id, and one that is given up is not used again."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Layers(StrEnum):
    """Who applies a rule: the webhook, which can look things up; the API server by our policies; or both."""

    WEBHOOK = "webhook"
    POLICY = "policy"
    BOTH = "webhook and policy"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: who applies it, and what it says in a sentence."""

    layers: Layers
    says: str


_WEBHOOK: Final = {
    "FG-REQ-001": "A request that can not be read is refused",
    "FG-LOOK-001": "What can not be looked up is not let through",
    "FG-POD-002": "A pod asks for whole, countable amounts of what is counted",
    "FG-POD-003": "A pod takes no more than was admitted for its group",
    "FG-POD-004": "There are no more pods of a group than were admitted",
    "FG-POD-005": "A pod that is there never comes to ask for more devices",
    "FG-POD-006": "Mirrors of nodes' own pods are not in tenants' namespaces",
    "FG-LIN-001": "Devices are for pods that belong to an admitted attempt",
    "FG-LIN-002": "Only the controller of an owner's kind makes what belongs to it",
    "FG-LIN-003": "An owner that is named exists",
    "FG-LIN-004": "An owner that is named has the uid that is named",
    "FG-LIN-005": "The last owner is an admitted attempt of the namespace's tenant",
    "FG-TPL-002": "A template asks for whole, countable amounts, in its pods",
    "FG-TPL-003": "A controller's object for an attempt is within what was admitted",
    "FG-SCALE-001": "What asks for devices is not scaled up",
    "FG-SCALE-002": "What is scaled up can be looked up",
    "FG-RAY-003": "A request can be run, as a submission can",
    "FG-RAY-005": "An attempt runs as it was admitted",
    "FG-RAY-006": "A RayJob's pods end with it",
    "FG-RAY-007": "Start parameters of Ray hold no shell commands",
    "FG-RAY-008": "An attempt is made by our scheduler for a reservation, as reserved",
    "FG-RAY-009": "An attempt and its cluster are within the reservation",
    "FG-RAY-010": "An autoscaler changes replicas within what was admitted, and nothing else",
    "FG-RAY-011": "Kueue changes where an attempt runs, and nothing else",
    "FG-RAY-012": "A request's annotations are ones that we know, and name its own tenant",
    "FG-LABEL-001": "Labels and annotations of Kueue, KubeRay and Fairgate are not users' to write",
    "FG-LABEL-003": "The labels of a pod with devices stay as they are",
    "FG-OWNER-001": "Only controllers say what belongs to what",
    "FG-FIN-001": "Users' finalizers do not keep what holds capacity",
    "FG-GATE-001": "Only Kueue opens its scheduling gates",
    "FG-DEL-001": "What is being deleted is not changed",
    "FG-EPH-001": "Ephemeral containers ask for nothing",
    "FG-CHAN-001": "Devices are not asked for by environment variables",
    "FG-CHAN-002": "Devices are not asked for by annotations",
    "FG-CHAN-003": "Devices are not asked for by mounts",
    "FG-CHAN-004": "Variables of pods outside of attempts are named one by one",
    "FG-SEC-001": "Pods keep to the Pod Security Standard baseline",
    "FG-PLACE-001": "Pods do not choose their node themselves",
    "FG-PLACE-002": "Pods use a scheduler that is allowed",
    "FG-PLACE-003": "Pods without devices do not tolerate the taints of devices' nodes",
    "FG-PLACE-004": "Runtime classes that give devices are for pods that ask for them",
    "FG-PRIO-001": "Pods use priority classes that are allowed",
    "FG-GRACE-001": "Pods end within the longest grace period",
}
_POLICY: Final = {
    "FG-NS-001": "There are no devices in namespaces that are no tenant's",
    "FG-NS-002": "Labels that say what may happen in a namespace are admins' to write",
    "FG-DEL-002": "What a RayJob or a RayCluster has made is deleted with it",
    "FG-KUEUE-001": "Kueue's objects are written by Kueue and our scheduler alone",
    "FG-KUEUE-002": "Tenants do not ask for nodes outside of quotas",
    "FG-STATUS-001": "The status of jobs is written by what runs them",
    "FG-STATUS-002": "The status of pods is written by nodes and the system",
    "FG-BIND-001": "Only the scheduler puts pods on nodes",
    "FG-DRA-001": "Tenants do not claim devices",
    "FG-DRA-002": "Classes and slices of devices are written by admins and drivers",
    "FG-NODE-001": "Nodes are changed by admins and the system",
    "FG-QUOTA-001": "Resource quotas of tenants' namespaces are written by admins and the system",
}
_BOTH: Final = {
    "FG-RAY-004": "Only Kueue starts a RayJob, and only an admitted attempt",
    "FG-LABEL-002": "The queue of an object is set when it is made, and only on requests",
    "FG-RESIZE-001": "What a running pod takes is not changed",
    "FG-POD-001": "Pods with devices are made by controllers, for attempts",
    "FG-TPL-001": "Templates with devices are refused at whatever count",
    "FG-RAY-001": "A RayJob of a user is a request: in the inbox",
    "FG-RAY-002": "RayClusters, RayServices and RayCronJobs are not users' to make or change",
}

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        **{key: Rule(Layers.WEBHOOK, says) for key, says in _WEBHOOK.items()},
        **{key: Rule(Layers.POLICY, says) for key, says in _POLICY.items()},
        **{key: Rule(Layers.BOTH, says) for key, says in _BOTH.items()},
    }
)
