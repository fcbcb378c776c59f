"""All that is looked at in one pod or pod template, beside what it takes."""

from fairgate_scheduler.core.manifests.findings import Finding
from fairgate_scheduler.core.manifests.plain import Plain
from fairgate_scheduler.core.manifests.podsecurity import check_template as check_baseline

from fairgate_admission.facts.verdict import Denial
from fairgate_admission.facts.world import Settings
from fairgate_admission.review.families.channels import check_channels, check_env_from
from fairgate_admission.review.families.placement import check_placement, check_tolerations


def check_always(template: Plain, path: str, has_devices: bool, settings: Settings) -> list[Denial]:
    """What no pod of a tenant may have, also not one of an admitted attempt."""
    findings: list[Finding] = []
    check_baseline(template, path, findings)
    return [
        *check_channels(template, path),
        *denials("FG-SEC-001", findings),
        *check_placement(template, path, has_devices, settings),
    ]


def check_unproven(template: Plain, path: str, has_devices: bool, settings: Settings) -> list[Denial]:
    """What only pods of an admitted attempt may have: these were checked when they were submitted."""
    return [*check_tolerations(template, path, has_devices, settings), *check_env_from(template, path)]


def denials(rule: str, findings: list[Finding] | tuple[Finding, ...]) -> list[Denial]:
    """Findings of the scheduler's core as denials of one rule."""
    return [Denial(rule, each.field, each.message, each.remedy or "remove it") for each in findings]
