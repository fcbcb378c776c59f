"""What a rule about pods is about, so that whoever applies it can name it in his own way."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from fairgate_scheduler.core.manifests.findings import Finding


class Concern(StrEnum):
    """What a finding is about. Each is one rule; the gate has an id for it."""

    AMOUNT = "what it asks for can be counted"
    RUNNABLE = "Kubernetes makes such pods"
    VARIABLE = "no devices by variables"
    ANNOTATION = "no devices by annotations"
    MOUNT = "no devices by mounts"
    ENV_FROM = "variables are named one by one"
    MIRROR = "no mirror of a node's own pod"
    BASELINE = "Pod Security Standard baseline"
    NODE = "does not choose its node"
    SCHEDULER = "uses a scheduler that is allowed"
    RUNTIME_CLASS = "uses a runtime class that is allowed"
    PRIORITY = "uses a priority class that is allowed"
    GRACE = "ends in time"
    TOLERATION = "stays off the nodes of devices without one"
    KEPT = "is not kept by finalizers or owners"
    MARK = "reserved labels and annotations"
    START_PARAMETER = "no shell commands in start parameters"
    KEEPING = "pods end with the job"


@dataclass(frozen=True, slots=True)
class Concerned:
    """A finding and what it is about."""

    concern: Concern
    finding: Finding


def concerned(concern: Concern, findings: Iterable[Finding]) -> Iterator[Concerned]:
    """The findings, all about one thing."""
    return (Concerned(concern, each) for each in findings)
