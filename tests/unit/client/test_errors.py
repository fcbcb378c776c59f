"""The server's table and the client's are inverse to each other, and nothing of gRPC gets through."""

import inspect
import typing

import fairgate
import grpc
import pytest
from fairgate import _client, _models, _quota_models
from fairgate._wire import errors as client_side
from fairgate_scheduler.entrypoints.grpc import errors as server_side
from fairgate_scheduler.ports import StaleVersionError, StoreError
from fairgate_scheduler.service import errors as service

EXPECTED = {
    service.InvalidArgument: fairgate.InvalidArgument,
    server_side.Unauthenticated: fairgate.Unauthenticated,
    service.PermissionDenied: fairgate.PermissionDenied,
    service.NotFound: fairgate.NotFound,
    service.AlreadyExists: fairgate.AlreadyExists,
    service.FailedPrecondition: fairgate.FailedPrecondition,
    service.ResourceExhausted: fairgate.ResourceExhausted,
    service.Aborted: fairgate.Aborted,
    StaleVersionError: fairgate.Aborted,
    StoreError: fairgate.Unavailable,
    service.Unavailable: fairgate.Unavailable,
}


def test_every_error_of_the_server_is_expected_here():
    assert set(server_side.TABLE) == set(EXPECTED)


@pytest.mark.parametrize("kind", EXPECTED, ids=lambda kind: kind.__name__)
def test_an_error_arrives_as_its_twin_with_all_that_it_said(kind):
    if kind is service.InvalidArgument:
        error = kind([service.Violation("a.b", "is wrong", "mend it; then again"), service.Violation("c", "too")])
        expected = [fairgate.Violation("a.b", "is wrong", "mend it; then again"), fairgate.Violation("c", "too")]
    elif not issubclass(kind, service.FairgateError):
        error = kind("what happened inside")
        expected = [fairgate.Violation("", server_side.to_status(error).message)]
    else:
        error = kind("is wrong; really", field="name", remedy="mend it")
        expected = [fairgate.Violation("name", "is wrong; really", "mend it")]
    arrived = client_side.from_status(server_side.to_status(error))
    assert type(arrived) is EXPECTED[kind]
    assert list(arrived.violations) == expected
    assert arrived.reason == server_side.TABLE[kind].reason
    assert str(arrived) == "\n".join(map(str, expected))


def test_every_code_has_an_error():
    assert set(client_side.TABLE) == set(grpc.StatusCode) - {grpc.StatusCode.OK}


def test_an_unexpected_error_says_where_to_look():
    status, trace = server_side.internal_status()
    error = client_side.from_status(status)
    assert type(error) is fairgate.Internal
    assert trace in error.message


def test_a_wrong_token_is_unauthenticated(service):
    with fairgate.Client(service.settings.address, token="x" * 20) as client:
        with pytest.raises(fairgate.Unauthenticated, match="not the server's") as caught:
            client.get("a/train")
        with pytest.raises(fairgate.Unauthenticated):
            next(client.watch())
    assert "token file" in caught.value.remedy


def test_nothing_of_grpc_hangs_on_an_error(client):
    for call in (lambda: client.get("a/none"), lambda: next(client.watch(job="a/none"))):
        with pytest.raises(fairgate.NotFound) as caught:
            call()
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_nothing_of_grpc_or_protobuf_is_in_the_public_signatures():
    foreign = []
    public = [getattr(fairgate, name) for name in fairgate.__all__]
    for kind in public:
        members = [kind, *(value for name, value in vars(kind).items() if callable(value) and name[0] != "_")]
        for member in members:
            hints = typing.get_type_hints(member, vars(_client) | vars(_models) | vars(_quota_models))
            foreign += [(kind, name, hint) for name, hint in hints.items() if _is_foreign(hint)]
    assert foreign == []
    assert len(public) > 30


def test_what_comes_back_is_plain_all_the_way_down(service, client, manifest):
    job = client.submit(manifest("train", gpus=2), tenant="a", options=[{"flavor": "h100"}])
    service.turn()
    found = [client.get(job.name), client.explain(job.name), client.get_config(), *client.tenants(), *client.flavors()]
    found += [*client.list(), next(client.watch(after_sequence=0)), client.apply_config(found[2].source, dry_run=True)]
    strangers = {type(value).__module__ for each in found for value in _walk(each)}
    models = {"fairgate._models", "fairgate._forecasts", "fairgate._quota_models"}
    assert strangers <= {"builtins", "datetime", "fractions"} | models


def _is_foreign(hint):
    parts = typing.get_args(hint) or (hint,)
    return any(
        _is_foreign(part) if typing.get_args(part) else getattr(part, "__module__", "").startswith(("grpc", "google"))
        for part in parts
    )


def _walk(value):
    yield value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(key)
            yield from _walk(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item)
    elif hasattr(type(value), "__dataclass_fields__") and not inspect.isclass(value):
        for name in type(value).__dataclass_fields__:
            if name != "_client":
                yield from _walk(getattr(value, name))
