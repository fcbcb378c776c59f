"""Exceptions that admins make: a cluster role that allows to ``use`` one, until the day that it says.

A ClusterRole with the label ``fairgate.internal/exception`` declares exceptions: the ``resourceNames`` of its rules for
``exemptions`` of ``fairgate.internal`` are rule ids. Whoever is bound to it, in a namespace or everywhere, is let past
these rules until ``fairgate.internal/expires``. The API server itself says who is, by a SubjectAccessReview.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from fairgate_scheduler.adapters.kube.api import Api, ApiError
from fairgate_scheduler.adapters.kube.api.kinds import CLUSTER_ROLE, SUBJECT_ACCESS_REVIEW
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text

from fairgate_admission.facts import names
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.world import LookupFailedError

GROUP: Final = "fairgate.internal"
RESOURCE: Final = "exemptions"
VERB: Final = "use"
MARK: Final = f"{names.FAIRGATE}exception"
EXPIRES: Final = f"{names.FAIRGATE}expires"
EXCEPTABLE: Final = frozenset(
    {
        "FG-CHAN-004",
        "FG-GRACE-001",
        "FG-PLACE-002",
        "FG-PLACE-003",
        "FG-PLACE-004",
        "FG-PRIO-001",
        "FG-SEC-001",
    }
)
"""How a pod may look. Whose devices are whose is not open to exceptions: quotas are."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A rule that a cluster role lets its subjects past. ``name``: as the role writes it, ``RULE`` or ``RULE.note``.

    ``expires`` ``None``: it says none that can be read, so it lets nobody past.
    """

    role: str
    name: str
    expires: datetime | None

    @property
    def rule(self) -> str:
        """The id of the rule."""
        return self.name.partition(".")[0]

    def is_good(self, now: datetime) -> bool:
        """Whether somebody could use it now."""
        return self.rule in EXCEPTABLE and self.expires is not None and now < self.expires


def declared(api: Api) -> tuple[Declared, ...]:
    """All exceptions of a cluster, also those that are over. Raises ApiError."""
    return tuple(each for role in api.list(CLUSTER_ROLE, labels=MARK).items for each in _of_role(role))


def excepted(api: Api, request: Request, rules: frozenset[str], now: datetime) -> tuple[str, ...] | None:
    """The names of exceptions by which a request may break all of these rules; ``None``: there are not enough.

    Raises:
        LookupFailedError: it could not be found out.
    """
    if not rules <= EXCEPTABLE:
        return None
    try:
        good = [each for each in declared(api) if each.rule in rules and each.is_good(now)]
        used = {each.rule: each.name for each in good if _may_use(api, request, each.name)}
    except ApiError as error:
        raise LookupFailedError("the exceptions") from error
    return tuple(sorted(used.values())) if used.keys() == rules else None


def _of_role(role: Mapping[str, Any]) -> Iterator[Declared]:
    name = str(role["metadata"]["name"])
    expires = _instant(get_text(get_map(role, "metadata", "annotations"), EXPIRES))
    for rule in get_list(role, "rules"):
        if GROUP in get_list(rule, "apiGroups") and RESOURCE in get_list(rule, "resources"):
            for each in get_list(rule, "resourceNames"):
                yield Declared(name, str(each), expires)


def _instant(text: str) -> datetime | None:
    """A day means its end, UTC."""
    try:
        found = datetime.fromisoformat(text if "T" in text else f"{text}T23:59:59+00:00")
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _may_use(api: Api, request: Request, name: str) -> bool:
    asked = {"group": GROUP, "resource": RESOURCE, "verb": VERB, "name": name, "namespace": request.namespace}
    spec = {"user": request.username, "groups": list(request.groups), "resourceAttributes": asked}
    answer = api.create(SUBJECT_ACCESS_REVIEW, {"spec": spec})
    return get_map(answer, "status").get("allowed") is True
