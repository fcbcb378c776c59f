"""AdmissionReview v1 on the wire: bytes in, the fields of a request out; a judgement in, bytes out."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
_UID: Final = re.compile(rb'"uid"\s*:\s*"([0-9A-Za-z-]{1,64})"')
_HEAD: Final = 4096
_FORBIDDEN: Final = 403
_WARNING_MAX: Final = 256
"""API servers cut longer warnings off."""


class MalformedError(Exception):
    """The bytes are no AdmissionReview of a request. ``uid``: that of the request where it can be seen, else ""."""

    def __init__(self, message: str, uid: str = "") -> None:
        super().__init__(message)
        self.uid = uid


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: what ``facts.request.read_request`` takes, and what the answer and the audit need beside it."""

    uid: str
    fields: Mapping[str, Any]
    is_dry_run: bool = False

    def text(self, key: str) -> str:
        """One of the fields as a text."""
        return str(self.fields.get(key) or "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server is told. ``message``: why not."""

    uid: str
    allowed: bool
    message: str = ""
    annotations: Mapping[str, str] | None = None
    warnings: tuple[str, ...] = ()


def read_review(body: bytes) -> Asked:
    """The request in an AdmissionReview.

    Raises:
        MalformedError: it is none.
    """
    uid = uid_of(body)
    try:
        review = json.loads(body, parse_constant=_no_constant)
    except RecursionError as error:
        raise MalformedError("is nested too deep", uid) from error
    except ValueError as error:
        raise MalformedError("is not JSON", uid) from error
    request = get_map(review, "request")
    if not isinstance(review, dict) or review.get("apiVersion") != API_VERSION or review.get("kind") != KIND:
        raise MalformedError(f"is no {KIND} of {API_VERSION}", uid)
    if not get_text(request, "uid") or not get_text(request, "operation"):
        raise MalformedError("has no request with a uid and an operation", uid)
    user = get_map(request, "userInfo")
    fields = {
        "operation": request["operation"],
        "username": get_text(user, "username"),
        "groups": get_list(user, "groups"),
        "subresource": get_text(request, "subResource"),
        "resource": get_text(get_map(request, "resource"), "resource"),
        "namespace": get_text(request, "namespace"),
        "name": get_text(request, "name"),
        "object": request.get("object"),
        "old": request.get("oldObject"),
        "options": get_map(request, "options"),
    }
    return Asked(get_text(request, "uid"), fields, request.get("dryRun") is True)


def uid_of(body: bytes) -> str:
    """The uid of a request that can not be read: API servers write it before all that users send."""
    found = _UID.search(body[:_HEAD])
    return found[1].decode() if found else ""


def write_answer(answer: Answer) -> bytes:
    """The AdmissionReview that answers."""
    response: dict[str, Any] = {"uid": answer.uid, "allowed": answer.allowed}
    if not answer.allowed:
        response["status"] = {"code": _FORBIDDEN, "reason": "Forbidden", "message": answer.message}
    if answer.annotations:
        response["auditAnnotations"] = dict(answer.annotations)
    if answer.warnings:
        response["warnings"] = [each[:_WARNING_MAX] for each in answer.warnings]
    return json.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response}).encode()


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
