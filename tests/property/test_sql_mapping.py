"""Whatever a record holds, the database gives it back: for every field that there is, also those of tomorrow."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from itertools import count
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.lifecycle import Effect, Event
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.ports import ConfigVersion, RequestRecord, StoredEvent, Submission
from hypothesis import given, settings
from hypothesis import strategies as st

IDS = count(1)
SIMPLE = {
    str: st.text(max_size=12),
    int: st.integers(-(2**63), 2**63 - 1),
    bool: st.booleans(),
    NoneType: st.none(),
    Fraction: st.fractions(),
    Any: st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
}


def values(kind):
    """Any value of a type as it stands in an annotation."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in SIMPLE:
        return SIMPLE[kind]
    if origin is UnionType:
        return st.one_of(*map(values, arguments))
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if origin is frozenset:
        return st.frozensets(values(arguments[0]), max_size=3)
    if origin is Mapping:
        return st.dictionaries(*map(values, arguments), max_size=3)
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    assert is_dataclass(kind), kind
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: values(hints[field.name]) for field in fields(kind)})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = SqlStore.open(tmp_path_factory.mktemp("store") / "fairgate.db")
    yield store
    store.close()


@settings(max_examples=60, deadline=None)
@given(
    job=values(Job),
    submission=values(Submission),
    attempts=st.lists(values(Attempt), max_size=3, unique_by=lambda each: each.number),
    event=values(Event),
    effect=values(Effect),
)
def test_all_that_is_of_a_job_comes_back(store, job, submission, attempts, event, effect):
    job = replace(job, id=f"{job.id}/{next(IDS)}")
    attempts = [replace(each, job=job.id) for each in attempts]
    event, effect = replace(event, job=job.id), replace(effect, job=job.id)
    with store.transaction() as transaction:
        transaction.insert_job(job, submission)
        for attempt in attempts:
            transaction.put_attempt(attempt)
        sequence = transaction.add_event(job.tenant, event)
        transaction.add_effect(effect)
    with store.transaction() as transaction:
        assert transaction.get_job(job.id) == job
        assert transaction.get_submission(job.id) == submission
        assert transaction.get_attempts(job.id) == sorted(attempts, key=lambda each: each.number)
        assert transaction.list_events(sequence - 1, 1) == [StoredEvent(sequence, job.tenant, event)]
        assert [stored.effect for stored in transaction.list_effects(1_000)][-1] == effect
    follower = replace(job, version=min(job.version, 2**63 - 2) + 1, message="")
    if follower.version == job.version + 1:
        with store.transaction() as transaction:
            transaction.update_job(follower)
            assert transaction.get_job(job.id) == follower


@settings(max_examples=60, deadline=None)
@given(version=values(ConfigVersion), record=values(RequestRecord))
def test_configurations_and_requests_come_back(store, version, record):
    record = replace(record, request_id=f"{record.request_id}/{next(IDS)}")
    with store.transaction() as transaction:
        transaction.put_config(version)
        transaction.put_request(record)
    with store.transaction() as transaction:
        assert transaction.get_config() == version
        assert transaction.get_config(version.etag) == version
        assert transaction.get_request(record.tenant, record.request_id) == record


@settings(max_examples=20, deadline=None)
@given(config=values(Config))
def test_the_order_of_a_configuration_is_kept(store, config):
    with store.transaction() as transaction:
        transaction.put_config(ConfigVersion("e", "", config, 1, "me"))
    with store.transaction() as transaction:
        stored = transaction.get_config().config
    for field in fields(Config):
        mapping = getattr(config, field.name)
        if isinstance(mapping, dict):
            assert list(getattr(stored, field.name).items()) == list(mapping.items())
