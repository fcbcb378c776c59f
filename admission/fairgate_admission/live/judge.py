"""The whole judgement of a request in the live world: the review, our attempts' digests, and admins' exceptions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from fairgate_scheduler.adapters.kube.api import Api
from fairgate_scheduler.adapters.kube.attempts import digest_of
from fairgate_scheduler.core.manifests.findings import ManifestError
from fairgate_scheduler.documents.scalars import format_duration
from fairgate_scheduler.ports import Clock

from fairgate_admission.facts import names
from fairgate_admission.facts.identities import SCHEDULER
from fairgate_admission.facts.request import Request, read_request
from fairgate_admission.facts.verdict import Denial, Verdict, verdict
from fairgate_admission.facts.world import LookupFailedError, Settings
from fairgate_admission.live.books import Books
from fairgate_admission.live.exceptions import excepted
from fairgate_admission.live.world import LiveWorld
from fairgate_admission.review import review

_SECOND_MS: Final = 1_000
_NOT_READ: Final = "FG-LOOK-001"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and what else there is to say: to the caller, and to the audit."""

    verdict: Verdict
    tenant: str = ""
    reservation: str = ""
    exceptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges requests, several at a time. It never writes, so a dry run is answered as every other request."""

    api: Api
    books: Books
    settings: Settings
    clock: Clock

    def __call__(self, fields: Mapping[str, Any]) -> Judgement:
        """The judgement on a request as ``read_request`` takes it."""
        try:
            request = read_request(fields)
        except ManifestError as error:
            wrong = [Denial("FG-REQ-001", each.field, each.message, each.remedy) for each in error.findings]
            return Judgement(verdict("The request", wrong))
        world = LiveWorld(self.api, self.books, self.settings)
        found = review(request, world)
        if any(each.rule == _NOT_READ for each in found.denials):
            return Judgement(found)
        try:
            return self._finish(request, world, found)
        except LookupFailedError as error:
            denial = Denial(_NOT_READ, "", f"{error.what} could not be read", "try again")
            return Judgement(verdict(request.subject, [*found.denials, denial]))

    def _finish(self, request: Request, world: LiveWorld, found: Verdict) -> Judgement:
        tenant = world.tenant_of(request.namespace) or ""
        held = world.found.reservation.rayjob if world.found is not None else ""
        if found.allowed:
            found = verdict(request.subject, _forged(request))
        if found.allowed:
            return Judgement(found, tenant, held, warnings=self._advice(request, tenant))
        now = datetime.fromtimestamp(self.clock.now_ms() / _SECOND_MS, UTC)
        names_of = excepted(self.api, request, frozenset(each.rule for each in found.denials), now)
        if names_of is None:
            return Judgement(found, tenant, held)
        warnings = tuple(f"Fairgate: allowed by the exception {each}" for each in names_of)
        return Judgement(Verdict(found.subject), tenant, held, names_of, warnings)

    def _advice(self, request: Request, tenant: str) -> tuple[str, ...]:
        """What somebody who has just applied a request wants to know."""
        is_request = (request.operation, request.group, request.kind) == ("CREATE", "ray.io", "RayJob")
        if not tenant or not is_request or request.labels().get(names.QUEUE) != self.settings.inbox:
            return ()
        waiting = self.books.waiting(tenant)
        wait = f"Fairgate: it is a request and waits its turn; {waiting.pending} jobs of {tenant} wait already"
        if waiting.usual_ms is None:
            return (wait,)
        usual = format_duration(waiting.usual_ms // _SECOND_MS * _SECOND_MS)
        return (wait, f"Fairgate: of the jobs of {tenant} that started last, half waited less than {usual}")


def _forged(request: Request) -> list[Denial]:
    """An attempt whose digest is not that of what it runs: the digest that it says has been compared already."""
    is_ours = request.username == SCHEDULER and (request.group, request.kind) == ("ray.io", "RayJob")
    is_attempt = request.operation == "CREATE" or names.ATTEMPT in request.labels()
    if not is_ours or request.subresource or not is_attempt:
        return []
    if request.labels("annotations").get(names.DIGEST) == digest_of(request.object):
        return []
    return [Denial("FG-RAY-008", "spec", "is not what was reserved for this attempt", "render it again")]
