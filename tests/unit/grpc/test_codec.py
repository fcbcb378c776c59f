"""The wire has a word for each word of the core, and says numbers exactly."""

from fractions import Fraction

import pytest
from fairgate_api.v1 import jobs_pb2
from fairgate_scheduler.core.holds import MESSAGES
from fairgate_scheduler.core.jobs import AttemptState, Fallback, JobState
from fairgate_scheduler.core.lifecycle import EventKind
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.entrypoints.grpc import codec
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("words", "names", "prefix"),
    [
        (JobState, jobs_pb2.JobState, "JOB_STATE_"),
        (AttemptState, jobs_pb2.AttemptState, "ATTEMPT_STATE_"),
        (EventKind, jobs_pb2.EventKind, "EVENT_KIND_"),
        (HoldReason, jobs_pb2.HoldReason, "HOLD_REASON_"),
        (Fallback, jobs_pb2.FallbackPolicy, "FALLBACK_POLICY_"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_word_of_the_core_is_one_of_the_wire(words, names, prefix):
    assert {f"{prefix}{word.name}" for word in words} | {f"{prefix}UNSPECIFIED"} == set(names.keys())


def test_each_reason_has_a_sentence():
    assert MESSAGES.keys() == set(HoldReason)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "0"),
        ("1", "1"),
        ("10", "10"),
        ("1/2", "0.5"),
        ("-1/2", "-0.5"),
        ("9/20", "0.45"),
        ("5/4", "1.25"),
        ("1/1000", "0.001"),
        ("1/3", "1/3"),
        ("22/7", "22/7"),
    ],
)
def test_ratios_are_decimals_where_they_can_be(value, text):
    assert codec.ratio(Fraction(value)) == text


@given(st.fractions())
def test_ratios_are_exact(value):
    assert Fraction(codec.ratio(value)) == value


@pytest.mark.parametrize("at_ms", [0, 1, 999, 1_700_000_000_123])
def test_instants_are_exact(at_ms):
    stamp = codec.timestamp(at_ms)
    assert stamp is not None
    assert stamp.ToMilliseconds() == at_ms
    assert codec.duration(at_ms).ToMilliseconds() == at_ms
