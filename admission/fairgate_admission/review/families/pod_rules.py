"""The scheduler's rules about one pod or pod template, under the ids that the gate tells them by."""

from collections.abc import Iterable
from typing import Final

from fairgate_scheduler.core.manifests.channels import check_channels, check_env_from
from fairgate_scheduler.core.manifests.concerns import Concern, Concerned
from fairgate_scheduler.core.manifests.findings import Finding
from fairgate_scheduler.core.manifests.placement import PodLimits, check_tolerations
from fairgate_scheduler.core.manifests.plain import Plain
from fairgate_scheduler.core.manifests.podrules import check_pod

from fairgate_admission.facts.verdict import Denial

_RULES: Final = {
    Concern.AMOUNT: "FG-TPL-002",
    Concern.RUNNABLE: "FG-RAY-003",
    Concern.VARIABLE: "FG-CHAN-001",
    Concern.ANNOTATION: "FG-CHAN-002",
    Concern.MOUNT: "FG-CHAN-003",
    Concern.ENV_FROM: "FG-CHAN-004",
    Concern.MIRROR: "FG-POD-006",
    Concern.BASELINE: "FG-SEC-001",
    Concern.NODE: "FG-PLACE-001",
    Concern.SCHEDULER: "FG-PLACE-002",
    Concern.TOLERATION: "FG-PLACE-003",
    Concern.RUNTIME_CLASS: "FG-PLACE-004",
    Concern.PRIORITY: "FG-PRIO-001",
    Concern.GRACE: "FG-GRACE-001",
    Concern.KEPT: "FG-FIN-001",
    Concern.MARK: "FG-LABEL-001",
    Concern.START_PARAMETER: "FG-RAY-007",
    Concern.KEEPING: "FG-RAY-006",
}


def check_always(template: Plain, path: str, has_devices: bool, limits: PodLimits) -> list[Denial]:
    """What no pod of a tenant may have, also not one of an admitted attempt."""
    return named(check_pod(template, path, has_devices, limits))


def check_unproven(template: Plain, path: str, has_devices: bool, limits: PodLimits) -> list[Denial]:
    """What only pods of an admitted attempt may have: who submitted it answers for them."""
    return [*named(check_tolerations(template, path, has_devices, limits)), *named(check_env_from(template, path))]


def check_joining(template: Plain) -> list[Denial]:
    """What no container may use that joins a pod later."""
    return [*named(check_channels(template, "")), *named(check_env_from(template, ""))]


def named(found: Iterable[Concerned]) -> list[Denial]:
    """Findings as denials of the rules that they are about."""
    return [denial for each in found for denial in denials(_RULES[each.concern], [each.finding])]


def denials(rule: str, findings: Iterable[Finding]) -> list[Denial]:
    """Findings of the scheduler's core as denials of one rule."""
    return [Denial(rule, each.field, each.message, each.remedy or "remove it") for each in findings]
