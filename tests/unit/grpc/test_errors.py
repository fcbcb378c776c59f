"""The one table from errors to gRPC statuses."""

import grpc
import pytest
from fairgate_scheduler.entrypoints.grpc import errors
from fairgate_scheduler.ports import StaleVersionError, StoreError
from fairgate_scheduler.service import errors as service
from fairgate_scheduler.service.errors import FairgateError, InvalidArgument, Violation
from google.rpc import error_details_pb2 as details_pb2

CODE = grpc.StatusCode
SUBJECT = {"field": "tenant", "remedy": "wait"}


def _subclasses(kind: type[Exception]) -> set[type[Exception]]:
    return {kind, *(each for child in kind.__subclasses__() for each in _subclasses(child))}


def _details(error):
    """The details of an error's status by the name of their message."""
    status = errors.to_status(error)
    found = {}
    for packed in status.details:
        kind = getattr(details_pb2, packed.TypeName().rpartition(".")[2])
        found[kind.__name__] = kind.FromString(packed.value)
    return status, found


def test_the_table_covers_every_error_of_the_service():
    ours = {each for each in _subclasses(FairgateError) if each.__module__.startswith("fairgate_scheduler.")}
    assert len(ours) > 8
    assert ours - {FairgateError} <= errors.TABLE.keys()


def test_every_reason_is_told_apart():
    reasons = [rule.reason for rule in errors.TABLE.values()]
    assert len(set(reasons)) == len(reasons)


@pytest.mark.parametrize(
    ("error", "code", "reason", "kinds"),
    [
        (
            InvalidArgument([Violation("x", "is wrong", "mend it")]),
            CODE.INVALID_ARGUMENT,
            "INVALID_ARGUMENT",
            {"BadRequest"},
        ),
        (errors.Unauthenticated("no token", remedy="send it"), CODE.UNAUTHENTICATED, "UNAUTHENTICATED", set()),
        (service.PermissionDenied("no"), CODE.PERMISSION_DENIED, "PERMISSION_DENIED", set()),
        (service.NotFound("no job"), CODE.NOT_FOUND, "NOT_FOUND", set()),
        (service.AlreadyExists("taken"), CODE.ALREADY_EXISTS, "ALREADY_EXISTS", set()),
        (
            service.FailedPrecondition("it has ended"),
            CODE.FAILED_PRECONDITION,
            "FAILED_PRECONDITION",
            {"PreconditionFailure"},
        ),
        (service.ResourceExhausted("10 wait", **SUBJECT), CODE.RESOURCE_EXHAUSTED, "LIMIT_REACHED", {"QuotaFailure"}),
        (service.Aborted("stale"), CODE.ABORTED, "STALE_ETAG", set()),
        (StaleVersionError("tenants/a/jobs/b"), CODE.ABORTED, "CONCURRENT_CHANGE", {"RetryInfo"}),
        (service.Unavailable("starting"), CODE.UNAVAILABLE, "UNAVAILABLE", {"RetryInfo"}),
        (StoreError("/secret/place is locked"), CODE.UNAVAILABLE, "STORE_UNAVAILABLE", {"RetryInfo"}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_code_reason_and_details(error, code, reason, kinds):
    status, details = _details(error)
    assert status.code == code.value[0]
    assert details.keys() == kinds | {"ErrorInfo"}
    assert (details["ErrorInfo"].reason, details["ErrorInfo"].domain) == (reason, "fairgate.dev")


def test_each_violation_names_its_field_and_its_remedy():
    error = InvalidArgument([Violation("job.priority", "is 9", "ask for at most 5"), Violation("job_id", "is taken")])
    status, details = _details(error)
    assert [(each.field, each.description) for each in details["BadRequest"].field_violations] == [
        ("job.priority", "is 9; ask for at most 5"),
        ("job_id", "is taken"),
    ]
    assert status.message == "job.priority: is 9; ask for at most 5\njob_id: is taken"
    assert dict(details["ErrorInfo"].metadata) == {"field": "job.priority", "remedy": "ask for at most 5"}


def test_a_limit_says_whose_it_is():
    _, details = _details(service.ResourceExhausted("10 jobs wait already", **SUBJECT))
    violation = details["QuotaFailure"].violations[0]
    assert (violation.subject, violation.description) == ("tenant", "10 jobs wait already")


def test_what_a_store_says_stays_with_the_server():
    status, _ = _details(StoreError("/secret/place is locked"))
    assert "secret" not in str(status)


def test_a_subclass_nobody_listed_is_mapped_as_its_parent():
    class VeryGone(service.NotFound):
        pass

    assert errors.rule_of(VeryGone("x")) is errors.TABLE[service.NotFound]


@pytest.mark.parametrize("error", [FairgateError("bare"), RuntimeError("bug"), KeyError("x")])
def test_what_nobody_expected_has_no_rule(error):
    assert errors.rule_of(error) is None


@pytest.mark.parametrize(
    "error",
    [
        InvalidArgument([Violation(f"job.options[{n}].speed", "is no speed × ÷ –", "mend it") for n in range(1000)]),
        InvalidArgument([Violation("job.manifest", "× " * 5000)]),
        service.NotFound("ö" * 5000, field="f" * 5000, remedy="r" * 5000),
        service.ResourceExhausted("ö" * 5000, field="f" * 5000),
    ],
)
def test_a_status_fits_into_the_metadata_that_peers_accept(error):
    """Text and details must stay below 8 KiB together, as HTTP/2 writes them."""
    wire = errors.to_wire(errors.to_status(error))
    text = sum(1 if letter.isascii() else 3 * len(letter.encode()) for letter in wire.details)
    packed = len(wire.trailing_metadata[0][1]) * 4 / 3
    assert text + packed < 7500


def test_an_internal_error_says_nothing_but_where_to_look():
    status, trace = errors.internal_status()
    assert status.code == CODE.INTERNAL.value[0]
    assert trace in status.message
