"""What every Store does with each kind of record."""

import contextlib
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import pytest
from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.core.jobs import AttemptState, Fallback, JobState
from fairgate_scheduler.core.lifecycle import Effect, EffectKind, EventKind
from fairgate_scheduler.core.snapshot import History
from fairgate_scheduler.ports import JobQuery, KeptLog, RequestRecord, StaleVersionError, StoredEvent
from fairgate_scheduler.testing.records import (
    a_config_version,
    a_job,
    a_submission,
    an_attempt,
    an_event,
    an_option,
    insert,
)

UNUSUAL = {
    "priority": -5,
    "preemptible": False,
    "fallback": Fallback.SOONEST,
    "fallback_after_ms": 10**12,
    "state": JobState.STOPPING,
    "pending_since_ms": 3,
    "done_ms": 4,
    "backoff": {0: 17, 1: 2**40},
    "attempts": 6,
    "evictions": 2,
    "outcome": JobState.FAILED,
    "message": "stopped; 'quotes' \"and\" ünïcode 🚀\nand lines",
    "started_at_ms": 8,
    "finished_at_ms": 9,
    "version": 12,
}


class TestJobs:
    def test_a_job_comes_back_as_it_was(self, store):
        plain, unusual = a_job(1), a_job(2, options=(), **UNUSUAL)
        with store.transaction() as transaction:
            insert(transaction, plain, unusual)
            assert transaction.get_job(plain.id) == plain
        with store.transaction() as transaction:
            assert [transaction.get_job(each.id) for each in (plain, unusual)] == [plain, unusual]
            assert transaction.get_job(plain.id).options[0].speed == Fraction(1, 3)

    def test_amounts_are_exact_up_to_unlimited(self, store):
        option = replace(an_option(), demand={("h100", "memory"): UNLIMITED, ("h100", "cpu"): 2**53 + 1})
        job = a_job(options=(option,))
        with store.transaction() as transaction:
            insert(transaction, job)
        with store.transaction() as transaction:
            assert transaction.get_job(job.id) == job

    def test_an_unknown_job_is_none(self, store):
        with store.transaction() as transaction:
            assert transaction.get_job("tenants/physics/jobs/none") is None
            assert transaction.get_submission("tenants/physics/jobs/none") is None

    def test_whether_there_is_a_job(self, store):
        job = a_job(1)
        with store.transaction() as transaction:
            assert not transaction.has_job(job.id)
            insert(transaction, job)
            assert transaction.has_job(job.id)
        with store.transaction(read_only=True) as transaction:
            assert transaction.has_job(job.id)
            assert not transaction.has_job(a_job(2).id)

    def test_several_jobs_at_once(self, store):
        jobs = [a_job(number) for number in range(1, 4)]
        names = [jobs[2].id, "tenants/physics/jobs/none", jobs[0].id, jobs[2].id]
        with store.transaction() as transaction:
            insert(transaction, *jobs)
        with store.transaction() as transaction:
            assert transaction.get_jobs(names) == {jobs[2].id: jobs[2], jobs[0].id: jobs[0]}
            changed = replace(jobs[0], state=JobState.FAILED, version=2)
            transaction.update_job(changed)
            assert transaction.get_jobs([jobs[0].id, jobs[1].id]) == {jobs[0].id: changed, jobs[1].id: jobs[1]}

    def test_jobs_that_are_known_are_as_they_are_stored(self, store):
        jobs = [a_job(number, uid=f"uid-{number}") for number in range(1, 5)]
        with store.transaction() as transaction:
            insert(transaction, *jobs[:3])
            changed = replace(jobs[1], state=JobState.FAILED, version=2)
            transaction.update_job(changed)
        is_older, is_another = jobs[1], replace(jobs[2], uid="uid-0", priority=7)
        known = {each.id: each for each in (jobs[0], is_older, is_another, jobs[3])}
        stored = {jobs[0].id: jobs[0], jobs[1].id: changed, jobs[2].id: jobs[2]}
        with store.transaction() as transaction:
            assert transaction.get_jobs(known, known) == stored
            assert transaction.get_job(jobs[1].id) == changed
            transaction.update_job(replace(jobs[0], state=JobState.FAILED, version=2))
            with pytest.raises(StaleVersionError):
                transaction.update_job(replace(is_older, state=JobState.CANCELLED, version=2))
            assert transaction.get_jobs([jobs[0].id], known)[jobs[0].id].state is JobState.FAILED

    def test_several_submissions_at_once(self, store):
        jobs = [a_job(number) for number in range(1, 4)]
        names = [jobs[2].id, "tenants/physics/jobs/none", jobs[0].id, jobs[2].id]
        with store.transaction() as transaction:
            for job in jobs:
                transaction.insert_job(job, a_submission(submitted_by=job.id))
            found = transaction.get_submissions(names)
            assert {name: each.submitted_by for name, each in found.items()} == {name: name for name in set(names[::2])}

    def test_what_is_written_twice_counts_as_written_last(self, store):
        job = a_job(1)
        with store.transaction() as transaction:
            insert(transaction, job)
            transaction.update_job(replace(job, state=JobState.ADMITTED, version=2))
        with store.transaction() as transaction:
            transaction.update_job(replace(job, state=JobState.RUNNING, version=3))
            transaction.update_job(replace(job, state=JobState.SUCCEEDED, version=4))
            transaction.put_attempt(an_attempt(job, state=AttemptState.RUNNING))
            transaction.put_attempt(an_attempt(job, state=AttemptState.GONE))
        with store.transaction(read_only=True) as transaction:
            assert transaction.get_job(job.id) == replace(job, state=JobState.SUCCEEDED, version=4)
            assert transaction.get_attempts(job.id) == [an_attempt(job, state=AttemptState.GONE)]

    def test_a_submission_comes_back_as_it_was(self, store):
        job = a_job()
        submission = a_submission(
            manifest='{"a": "ü"}', spec={"options": [{"speed": "1/2", "n": None}]}, warnings=("one", "two")
        )
        with store.transaction() as transaction:
            transaction.insert_job(job, submission)
            assert transaction.get_submission(job.id) == submission
        with store.transaction() as transaction:
            assert transaction.get_submission(job.id) == submission

    def test_several_requests_at_once(self, store):
        job = a_job()
        records = [RequestRecord("physics", name, "d", job.id, 1) for name in ("a", "b", "c")]
        keys = [("physics", "b"), ("physics", "none"), ("chemistry", "a"), ("physics", "c"), ("physics", "b")]
        with store.transaction() as transaction:
            insert(transaction, job)
            for record in records[:2]:
                transaction.put_request(record)
            assert transaction.get_requests(keys) == {keys[0]: records[1]}
        with store.transaction() as transaction:
            assert transaction.get_requests(keys) == {keys[0]: records[1]}
            transaction.put_request(records[2])
            assert transaction.get_requests(keys) == {keys[0]: records[1], keys[3]: records[2]}
            assert transaction.get_requests([]) == {}

    def test_a_submission_is_replaced(self, store):
        job, other = a_job(1), a_job(2)
        with store.transaction() as transaction:
            insert(transaction, job, other)
            transaction.replace_submission(job.id, a_submission(manifest='{"a": 2}', submitted_by="now"))
            assert transaction.get_submission(job.id).manifest == '{"a": 2}'
        with store.transaction() as transaction:
            assert transaction.get_submission(job.id) == a_submission(manifest='{"a": 2}', submitted_by="now")
            assert transaction.get_submission(other.id) == a_submission()
            with pytest.raises(StaleVersionError):
                transaction.replace_submission("tenants/physics/jobs/none", a_submission())

    def test_a_log_is_kept_and_kept_anew(self, store):
        job = a_job()
        with store.transaction() as transaction:
            insert(transaction, job)
            transaction.put_log(job.id, 1, KeptLog("u", b"one\x00\xff", 3))
            assert transaction.get_log(job.id, 1) == KeptLog("u", b"one\x00\xff", 3)
        with store.transaction() as transaction:
            transaction.put_log(job.id, 1, KeptLog("u", b"two"))
            with pytest.raises(StaleVersionError):
                transaction.put_log("tenants/physics/jobs/none", 1, KeptLog("u", b""))
        with store.transaction(read_only=True) as transaction:
            assert transaction.get_log(job.id, 1) == KeptLog("u", b"two")
            assert transaction.get_log(job.id, 2) is None

    @pytest.mark.parametrize("spec", [{"speed": Fraction(1, 3)}, {"x": float("nan")}, {"x": {1, 2}}])
    def test_a_spec_that_json_cannot_say_is_refused_and_nothing_is_written(self, store, spec):
        job = a_job()
        with store.transaction() as transaction:
            with pytest.raises((TypeError, ValueError)):
                transaction.insert_job(job, a_submission(spec=spec))
            assert transaction.get_job(job.id) is None

    def test_a_name_is_given_once(self, store):
        job = a_job()
        with store.transaction() as transaction:
            insert(transaction, job)
            with pytest.raises(StaleVersionError, match="there already"):
                insert(transaction, replace(job, priority=9))
        with store.transaction() as transaction:
            with pytest.raises(StaleVersionError, match="there already"):
                insert(transaction, replace(job, priority=9))
            assert transaction.get_job(job.id) == job

    def test_an_update_follows_the_version_that_is_there(self, store):
        job = a_job()
        changed = replace(job, version=2, **{name: value for name, value in UNUSUAL.items() if name != "version"})
        with store.transaction() as transaction:
            insert(transaction, job)
            transaction.update_job(changed)
            assert transaction.get_job(job.id) == changed
        with store.transaction() as transaction:
            assert transaction.get_job(job.id) == changed

    @pytest.mark.parametrize("version", [1, 2, 4])
    def test_an_update_of_another_version_changes_nothing(self, store, version):
        job = a_job(version=2)
        with store.transaction() as transaction:
            insert(transaction, job)
        with store.transaction() as transaction:
            with pytest.raises(StaleVersionError, match="has version 2"):
                transaction.update_job(replace(job, version=version, priority=7))
            assert transaction.get_job(job.id) == job

    def test_an_update_of_an_unknown_job_is_stale(self, store):
        with store.transaction() as transaction, pytest.raises(StaleVersionError, match="is not there"):
            transaction.update_job(a_job(version=2))


class TestLists:
    @pytest.fixture
    def jobs(self, store):
        states = [JobState.PENDING, JobState.RUNNING, JobState.SUCCEEDED]
        jobs = [a_job(n, ("physics", "biology")[n % 2], state=states[n % 3]) for n in range(1, 13)]
        with store.transaction() as transaction:
            insert(transaction, *jobs[6:], *jobs[:6])
        return jobs

    @pytest.mark.parametrize(
        ("query", "numbers"),
        [
            (JobQuery(), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
            (JobQuery(limit=3), [12, 11, 10]),
            (JobQuery(limit=3, before_sequence=10), [9, 8, 7]),
            (JobQuery(before_sequence=1), []),
            (JobQuery(limit=0), []),
            (JobQuery(limit=-1), []),
            (JobQuery(tenants=frozenset({"biology"})), [11, 9, 7, 5, 3, 1]),
            (JobQuery(tenants=frozenset({"biology", "physics"}), limit=2), [12, 11]),
            (JobQuery(tenants=frozenset({"nobody"})), []),
            (JobQuery(tenants=frozenset()), []),
            (JobQuery(states=frozenset({JobState.PENDING})), [12, 9, 6, 3]),
            (JobQuery(states=frozenset({JobState.PENDING, JobState.RUNNING}), limit=4), [12, 10, 9, 7]),
            (JobQuery(states=frozenset()), []),
            (JobQuery(frozenset({"physics"}), frozenset({JobState.RUNNING}), 10, 5), [4]),
        ],
    )
    def test_list_jobs(self, store, jobs, query, numbers):
        with store.transaction() as transaction:
            assert transaction.list_jobs(query) == [jobs[n - 1] for n in numbers]

    def test_live_jobs_are_those_that_are_not_final(self, store, jobs):
        with store.transaction() as transaction:
            assert transaction.live_jobs() == [job for job in jobs if job.sequence % 3 != 2]
            transaction.update_job(replace(jobs[0], state=JobState.FAILED, version=2))
            assert [job.sequence for job in transaction.live_jobs()] == [3, 4, 6, 7, 9, 10, 12]

    @pytest.mark.parametrize(
        ("tenants", "states", "count"),
        [
            ({"physics"}, {JobState.PENDING}, 2),
            ({"physics", "biology"}, {JobState.PENDING, JobState.SUCCEEDED}, 8),
            ({"physics", "nobody"}, {JobState.SUCCEEDED}, 2),
            (set(), {JobState.PENDING}, 0),
            ({"physics"}, set(), 0),
        ],
    )
    def test_count_jobs(self, store, jobs, tenants, states, count):
        with store.transaction() as transaction:
            assert transaction.count_jobs(frozenset(tenants), frozenset(states)) == count


class TestAttempts:
    def test_attempts_come_back_by_number(self, store):
        job = a_job()
        first = an_attempt(
            job,
            1,
            state=AttemptState.GONE,
            holds_quota=False,
            launched_at_ms=0,
            ready_at_ms=1,
            ended_at_ms=2,
            reason="evicted",
            exit_code=-9,
        )
        second = an_attempt(job, 2, demand={})
        with store.transaction() as transaction:
            insert(transaction, job)
            transaction.put_attempt(second)
            transaction.put_attempt(first)
            assert transaction.get_attempts(job.id) == [first, second]
        with store.transaction() as transaction:
            assert transaction.get_attempts(job.id) == [first, second]
            assert transaction.get_attempts("tenants/physics/jobs/none") == []

    def test_an_attempt_is_replaced(self, store):
        job = a_job()
        running = an_attempt(job, state=AttemptState.RUNNING, ready_at_ms=6)
        with store.transaction() as transaction:
            insert(transaction, job)
            transaction.put_attempt(an_attempt(job))
            transaction.put_attempt(running)
        with store.transaction() as transaction:
            assert transaction.get_attempts(job.id) == [running]

    def test_live_attempts_are_those_that_are_not_gone_by_admission(self, store):
        jobs = [a_job(n) for n in (1, 2, 3)]
        attempts = [an_attempt(job, 1, admission=10 - job.sequence) for job in jobs]
        with store.transaction() as transaction:
            insert(transaction, *jobs)
            for attempt in attempts:
                transaction.put_attempt(attempt)
            assert transaction.live_attempts() == attempts[::-1]
            transaction.put_attempt(replace(attempts[1], state=AttemptState.GONE))
        with store.transaction() as transaction:
            assert transaction.live_attempts() == [attempts[2], attempts[0]]

    def test_ended_attempts_are_those_that_have_ended_since_by_their_ends(self, store):
        jobs = [a_job(number) for number in range(3)]
        gone = {"state": AttemptState.GONE, "holds_quota": False}
        late, early = (an_attempt(job, ended_at_ms=at, **gone) for job, at in zip(jobs, (30, 20), strict=False))
        stopping = an_attempt(jobs[2], state=AttemptState.STOPPING, holds_quota=False)
        with store.transaction() as transaction:
            insert(transaction, *jobs)
            for attempt in (late, stopping, early):
                transaction.put_attempt(attempt)
            assert transaction.ended_attempts(19) == [(jobs[1].tenant, early), (jobs[0].tenant, late)]
        with store.transaction(read_only=True) as transaction:
            assert transaction.ended_attempts(20) == [(jobs[0].tenant, late)]
            assert transaction.ended_attempts(30) == []

    def test_an_attempt_of_an_unknown_job_is_refused(self, store):
        with store.transaction() as transaction, pytest.raises(StaleVersionError, match="no job"):
            transaction.put_attempt(an_attempt(a_job()))


class TestEvents:
    def test_sequence_numbers_grow_by_one_from_one(self, store):
        job = a_job()
        with store.transaction() as transaction:
            insert(transaction, job)
            assert transaction.last_event() == 0
            assert [transaction.add_event("physics", an_event(job)) for _ in range(3)] == [1, 2, 3]
            assert transaction.last_event() == 3
        with store.transaction() as transaction:
            assert transaction.last_event() == 3
            assert transaction.add_event("physics", an_event(job)) == 4

    def test_an_event_comes_back_as_it_was_but_as_json_has_it(self, store):
        job = a_job()
        event = an_event(job, EventKind.EVICTED, message="ü", attempt=3, details={"who": ("a", "b"), "n": 2**60})
        with store.transaction() as transaction:
            insert(transaction, job)
            transaction.add_event("physics", event)
        with store.transaction() as transaction:
            (stored,) = transaction.list_events(0, 10)
        assert stored == StoredEvent(1, "physics", replace(event, details={"who": ["a", "b"], "n": 2**60}))

    @pytest.mark.parametrize(
        ("arguments", "sequences"),
        [
            ({"after": 0, "limit": 100}, [1, 2, 3, 4, 5, 6]),
            ({"after": 2, "limit": 2}, [3, 4]),
            ({"after": 6, "limit": 100}, []),
            ({"after": 99, "limit": 100}, []),
            ({"after": -1, "limit": 2}, [1, 2]),
            ({"after": 0, "limit": 0}, []),
            ({"after": 0, "limit": -1}, []),
            ({"after": 0, "limit": 2, "tenants": frozenset({"biology"})}, [2, 4]),
            ({"after": 2, "limit": 9, "tenants": frozenset({"biology", "physics"})}, [3, 4, 5, 6]),
            ({"after": 0, "limit": 9, "tenants": frozenset()}, []),
            ({"after": 1, "limit": 9, "job": "tenants/physics/jobs/job-1"}, [3, 5]),
            ({"after": 0, "limit": 9, "tenants": frozenset({"biology"}), "job": "tenants/physics/jobs/job-1"}, []),
        ],
    )
    def test_list_events(self, store, arguments, sequences):
        jobs = [a_job(1, "physics"), a_job(2, "biology")]
        with store.transaction() as transaction:
            insert(transaction, *jobs)
            for _ in range(3):
                for job in jobs:
                    transaction.add_event(job.tenant, an_event(job))
            assert [each.sequence for each in transaction.list_events(**arguments)] == sequences

    def test_an_event_of_an_unknown_job_is_refused_and_takes_no_number(self, store):
        with store.transaction() as transaction:
            with pytest.raises(StaleVersionError, match="no job"):
                transaction.add_event("physics", an_event(a_job()))
            insert(transaction, a_job())
            with pytest.raises(TypeError):
                transaction.add_event("physics", an_event(a_job(), details={"x": object()}))
            assert transaction.add_event("physics", an_event(a_job())) == 1


class TestRequests:
    RECORD = RequestRecord("physics", "r-1", "digest", "tenants/physics/jobs/job-1", 5)

    def test_a_request_id_is_of_its_tenant(self, store):
        other = replace(self.RECORD, tenant="biology", digest="other")
        with store.transaction() as transaction:
            assert transaction.get_request("physics", "r-1") is None
            transaction.put_request(self.RECORD)
            transaction.put_request(other)
            assert transaction.get_request("physics", "r-1") == self.RECORD
        with store.transaction() as transaction:
            assert transaction.get_request("physics", "r-1") == self.RECORD
            assert transaction.get_request("biology", "r-1") == other
            assert transaction.get_request("biology", "r-2") is None

    def test_an_answer_is_never_replaced(self, store):
        for _ in range(2):
            with store.transaction() as transaction:
                if transaction.get_request("physics", "r-1") is None:
                    transaction.put_request(self.RECORD)
                with pytest.raises(StaleVersionError, match="answered already"):
                    transaction.put_request(replace(self.RECORD, digest="other"))
        with store.transaction() as transaction:
            assert transaction.get_request("physics", "r-1") == self.RECORD


class TestEffects:
    def test_orders_wait_in_their_order_until_they_are_removed(self, store):
        job = a_job()
        orders = [Effect(EffectKind.LAUNCH, job.id, 1), Effect(EffectKind.STOP, job.id, 1, "evicted")]
        with store.transaction() as transaction:
            insert(transaction, job)
            for order in orders:
                transaction.add_effect(order)
            assert [each.effect for each in transaction.list_effects(10)] == orders
        with store.transaction() as transaction:
            first, second = transaction.list_effects(10)
            assert transaction.list_effects(1) == [first]
            assert transaction.list_effects(0) == []
            assert transaction.list_effects(-1) == []
            transaction.remove_effect(first.id)
            assert transaction.list_effects(10) == [second]
        with store.transaction() as transaction:
            transaction.remove_effect(first.id)
            assert transaction.list_effects(10) == [second]

    def test_an_id_is_never_given_twice(self, store):
        job = a_job()
        ids = []
        with store.transaction() as transaction:
            insert(transaction, job)
        for _ in range(3):
            with store.transaction() as transaction:
                transaction.add_effect(Effect(EffectKind.LAUNCH, job.id, 1))
            with store.transaction() as transaction:
                ids += [each.id for each in transaction.list_effects(10)]
                transaction.remove_effect(ids[-1])
        assert ids == sorted(set(ids))
        assert len(ids) == 3

    def test_an_order_for_an_unknown_job_is_refused(self, store):
        with store.transaction() as transaction, pytest.raises(StaleVersionError, match="no job"):
            transaction.add_effect(Effect(EffectKind.LAUNCH, "tenants/physics/jobs/none", 1))


class TestConfigs:
    def test_the_newest_is_in_force_and_all_are_kept(self, store):
        first, second = a_config_version("one"), a_config_version("two", comment="more", by="ü")
        with store.transaction() as transaction:
            assert transaction.get_config() is None
            transaction.put_config(first)
            assert transaction.get_config() == first
        with store.transaction() as transaction:
            transaction.put_config(second)
            assert transaction.get_config() == second
        for _ in range(2):
            with store.transaction() as transaction:
                assert transaction.get_config() == second
                assert transaction.get_config("one") == first
                assert transaction.get_config("two") == second
                assert transaction.get_config("three") is None

    def test_an_earlier_one_may_be_put_in_force_again(self, store):
        again = a_config_version("one", at_ms=9)
        with store.transaction() as transaction:
            for version in (a_config_version("one"), a_config_version("two"), again):
                transaction.put_config(version)
        with store.transaction() as transaction:
            assert transaction.get_config() == again
            assert transaction.get_config("one") == again

    def test_one_that_was_rolled_back_is_not_remembered(self, store):
        with contextlib.suppress(KeyError), store.transaction() as transaction:
            transaction.put_config(a_config_version("lost"))
            assert transaction.get_config().etag == "lost"
            raise KeyError
        with store.transaction() as transaction:
            assert transaction.get_config() is None
            transaction.put_config(a_config_version("kept"))
        with store.transaction() as transaction:
            assert transaction.get_config().etag == "kept"

    def test_the_order_of_flavors_and_tenants_is_kept(self, store):
        version = a_config_version()
        with store.transaction() as transaction:
            transaction.put_config(version)
        with store.transaction() as transaction:
            config = transaction.get_config().config
        assert list(config.flavors) == list(version.config.flavors)
        assert list(config.tenants) == list(version.config.tenants)


class TestHistory:
    PAST: ClassVar = {"b": History(Fraction(1, 3), 2**40), "a": History(Fraction(0), 5)}

    def test_what_was_written_last_is_all_that_there_is(self, store):
        with store.transaction(read_only=True) as transaction:
            assert transaction.get_history() == {}
        with store.transaction() as transaction:
            transaction.put_history(self.PAST)
            assert transaction.get_history() == self.PAST
        with store.transaction() as transaction:
            assert list(transaction.get_history()) == ["a", "b"]
            transaction.put_history({"b": History(Fraction(2), 7)})
        with store.transaction() as transaction:
            assert transaction.get_history() == {"b": History(Fraction(2), 7)}
            transaction.put_history({})
        with store.transaction(read_only=True) as transaction:
            assert transaction.get_history() == {}

    def test_what_was_rolled_back_was_never_there(self, store):
        with store.transaction() as transaction:
            transaction.put_history(self.PAST)
        with contextlib.suppress(ZeroDivisionError), store.transaction() as transaction:
            transaction.put_history({"c": History(Fraction(1), 1)})
            raise ZeroDivisionError
        with store.transaction(read_only=True) as transaction:
            assert transaction.get_history() == self.PAST


class TestCounters:
    def test_each_counts_by_itself_from_one(self, store):
        with store.transaction() as transaction:
            assert [transaction.next_number(name) for name in ("a", "a", "b")] == [1, 2, 1]
        with store.transaction() as transaction:
            assert [transaction.next_number(name) for name in ("a", "b", "")] == [3, 2, 1]

    def test_no_name_is_reserved(self, store):
        job = a_job()
        with store.transaction() as transaction:
            insert(transaction, job)
            for name in ("event", "@event", "effect"):
                assert transaction.next_number(name) == 1
            assert transaction.add_event("physics", an_event(job)) == 1
