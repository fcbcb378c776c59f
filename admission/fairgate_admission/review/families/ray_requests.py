"""A RayJob that somebody applies is a request: checked as a submission is, suspended for ever, in the inbox.

Each attempt is a RayJob of the scheduler's own, made when the request is admitted.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairgate_scheduler.core.manifests import ManifestError, understand, validate
from fairgate_scheduler.core.manifests.changes import variants
from fairgate_scheduler.core.manifests.findings import Finding, child
from fairgate_scheduler.core.manifests.options import collect_option_specs
from fairgate_scheduler.core.manifests.plain import get_map
from fairgate_scheduler.core.manifests.podrules import check_job, check_keeping
from fairgate_scheduler.core.manifests.podsecurity import DEFAULT_ACCOUNTS, check_accounts
from fairgate_scheduler.documents.annotations import Annotations, read_annotations
from fairgate_scheduler.documents.problems import DocumentError

from fairgate_admission.facts import names
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import Denial
from fairgate_admission.facts.world import World
from fairgate_admission.review.families.pod_rules import denials, named

_OPTIONS: Final = child("metadata.annotations", f"{names.FAIRGATE}options")
_ADD: Final = "add the label kueue.x-k8s.io/queue-name: inbox to metadata.labels; it is started when it is its turn"


def check(request: Request, world: World, tenant: str) -> list[Denial]:
    """Whether this RayJob may be made or changed so, by somebody who is no part of the system."""
    queue = request.labels().get(names.QUEUE)
    if queue != world.settings.inbox and (not request.is_update or request.old_labels().get(names.QUEUE) == queue):
        found = "is not in the inbox, so it would go round the queue" if queue is None else f"is in the queue {queue!r}"
        return [Denial("FG-RAY-001", child("metadata.labels", names.QUEUE), found, _ADD)]
    annotated, out = _read_annotations(request, tenant)
    wrong = _not_understood(request, annotated, world, tenant)
    return [
        *out,
        *_suspension(request),
        *_keeping(request),
        *denials("FG-RAY-003", wrong),
        *named(each for each in check_job(request.object, world.settings) if each.finding not in wrong),
        *_options(request, annotated, world),
    ]


def _suspension(request: Request) -> Iterator[Denial]:
    new, old = (get_map(of, "spec").get("suspend") for of in (request.object, request.old))
    if new is False or (old is True and new is not True):
        found = "would start it without admission"
        yield Denial("FG-RAY-004", "spec.suspend", found, "leave it out; what is admitted is started for you")


def _keeping(request: Request) -> Iterator[Denial]:
    spec = get_map(request.object, "spec")
    if spec.get("shutdownAfterJobFinishes") is not True:
        found = "the cluster would keep its pods when the job has ended"
        yield Denial("FG-RAY-006", "spec.shutdownAfterJobFinishes", found, "write shutdownAfterJobFinishes: true")
    yield from named(check_keeping(request.object))


def _not_understood(
    request: Request, annotated: Annotations, world: World, tenant: str
) -> tuple[Finding, ...] | list[Finding]:
    """The findings of a submission, word for word."""
    if world.config is None:
        return validate(request.object)
    accounts = world.config.tenants[tenant].service_accounts if tenant in world.config.tenants else ()
    found = check_accounts(request.object, accounts or DEFAULT_ACCOUNTS)
    try:
        understand(request.object, annotated.options, world.config, tenant, annotated.workload)
    except ManifestError as error:
        return (*error.findings, *found)
    return found


def _read_annotations(request: Request, tenant: str) -> tuple[Annotations, list[Denial]]:
    """What the annotations say, those left out that were there before: they are ours then, or were read."""
    old = request.old_labels("annotations")
    changed = {key: value for key, value in request.labels("annotations").items() if old.get(key) != value}
    try:
        said = read_annotations({"metadata": {"annotations": changed}})
    except DocumentError as error:
        return Annotations(), [
            Denial("FG-RAY-012", each.path, each.message, each.remedy or "remove it") for each in error.problems
        ]
    if said.tenant not in (None, tenant):
        found = "names another tenant than this namespace's"
        return said, [Denial("FG-RAY-012", "metadata.annotations[fairgate.internal/tenant]", found, "remove it")]
    return said, []


def _options(request: Request, annotated: Annotations, world: World) -> Iterator[Denial]:
    """What only an option makes of the manifest: its attempt would be refused."""
    known = list(check_job(request.object, world.settings))
    specs = collect_option_specs(list(annotated.options), "options", [])
    for index, changed in variants(request.object, specs):
        more = [each for each in check_job(changed, world.settings) if each not in known]
        for each in named(more):
            yield Denial(each.rule, f"{_OPTIONS}[{index}]", f"with it {each.field}: {each.found}", each.remedy)


def changed_spec(request: Request) -> Mapping[str, Any]:
    """The fields of the spec that an update changes, as they become."""
    new, old = get_map(request.object, "spec"), get_map(request.old, "spec")
    return {key: new.get(key) for key in dict.fromkeys([*new, *old]) if new.get(key) != old.get(key)}
