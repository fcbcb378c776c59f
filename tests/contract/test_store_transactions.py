"""A transaction is all or nothing, alone, and in turn – on every Store."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from fairgate_scheduler.core.jobs import AttemptState, JobState
from fairgate_scheduler.core.lifecycle import Effect, EffectKind
from fairgate_scheduler.ports import JobQuery, RequestRecord, StaleVersionError
from fairgate_scheduler.testing.records import a_config_version, a_job, an_attempt, an_event, insert

JOBS = [a_job(n) for n in (1, 2, 3)]
WAIT_S = 30


def everything(store):
    """All that can be read, to be compared with itself."""
    with store.transaction(read_only=True) as transaction:
        return {
            "jobs": transaction.list_jobs(JobQuery()),
            "submissions": [transaction.get_submission(job.id) for job in JOBS],
            "live jobs": transaction.live_jobs(),
            "attempts": [transaction.get_attempts(job.id) for job in JOBS],
            "live attempts": transaction.live_attempts(),
            "events": transaction.list_events(0, 100),
            "last event": transaction.last_event(),
            "requests": [transaction.get_request("physics", f"r-{n}") for n in (1, 2)],
            "effects": transaction.list_effects(100),
            "config": transaction.get_config(),
        }


def write_everything(transaction):
    """Writes of each kind on top of what ``filled`` has, some of them twice to the same record."""
    transaction.update_job(replace(JOBS[0], state=JobState.RUNNING, version=2))
    transaction.update_job(replace(JOBS[0], state=JobState.SUCCEEDED, version=3))
    insert(transaction, JOBS[2])
    transaction.put_attempt(an_attempt(JOBS[0], 1, state=AttemptState.RUNNING))
    transaction.put_attempt(an_attempt(JOBS[0], 1, state=AttemptState.GONE))
    transaction.put_attempt(an_attempt(JOBS[1], 1))
    transaction.add_event("physics", an_event(JOBS[2]))
    transaction.put_request(RequestRecord("physics", "r-2", "d", JOBS[2].id, 2))
    transaction.remove_effect(transaction.list_effects(1)[0].id)
    transaction.add_effect(Effect(EffectKind.STOP, JOBS[1].id, 1))
    transaction.put_config(a_config_version("two"))
    for counter in ("sequence", "sequence", "new", "new"):
        transaction.next_number(counter)


@pytest.fixture
def filled(store):
    with store.transaction() as transaction:
        insert(transaction, *JOBS[:2])
        transaction.put_attempt(an_attempt(JOBS[0], 1))
        transaction.add_event("physics", an_event(JOBS[0]))
        transaction.put_request(RequestRecord("physics", "r-1", "d", JOBS[0].id, 1))
        for number in (1, 2):
            transaction.add_effect(Effect(EffectKind.LAUNCH, JOBS[0].id, number))
        transaction.put_config(a_config_version("one"))
        transaction.next_number("sequence")
    return store


class BrokenError(Exception):
    pass


class TestAllOrNothing:
    @pytest.mark.parametrize("error", [BrokenError, KeyboardInterrupt, StaleVersionError])
    def test_a_block_that_raises_leaves_no_trace(self, filled, error):
        before = everything(filled)

        def fail():
            with filled.transaction() as transaction:
                write_everything(transaction)
                raise error

        with pytest.raises(error):
            fail()
        assert everything(filled) == before
        with filled.transaction() as transaction:
            assert transaction.next_number("sequence") == 2
            assert transaction.next_number("new") == 1
            assert transaction.add_event("physics", an_event(JOBS[0])) == 2

    def test_writes_that_were_read_back_are_rolled_back_too(self, filled):
        before = everything(filled)
        with contextlib.suppress(BrokenError), filled.transaction() as transaction:
            write_everything(transaction)
            assert transaction.get_job(JOBS[2].id) == JOBS[2]
            assert len(transaction.list_events(0, 10)) == 2
            raise BrokenError
        assert everything(filled) == before

    def test_a_block_that_ends_keeps_everything(self, filled):
        with filled.transaction() as transaction:
            write_everything(transaction)
        after = everything(filled)
        assert [job.sequence for job in after["jobs"]] == [3, 2, 1]
        assert [job.sequence for job in after["live jobs"]] == [2, 3]
        assert after["live attempts"] == [an_attempt(JOBS[1], 1)]
        assert [stored.event.job for stored in after["events"]] == [JOBS[0].id, JOBS[2].id]
        assert [(stored.effect.kind, stored.effect.attempt) for stored in after["effects"]] == [
            (EffectKind.LAUNCH, 2),
            (EffectKind.STOP, 1),
        ]
        assert after["config"] == a_config_version("two")
        assert None not in after["requests"]

    def test_an_error_that_the_block_handles_takes_back_only_its_own_write(self, filled):
        with filled.transaction() as transaction:
            insert(transaction, JOBS[2])
            with pytest.raises(StaleVersionError):
                insert(transaction, JOBS[2])
            with pytest.raises(StaleVersionError):
                transaction.update_job(replace(JOBS[0], version=5))
            transaction.add_event("physics", an_event(JOBS[2]))
        after = everything(filled)
        assert after["jobs"][0] == JOBS[2]
        assert after["last event"] == 2


class TestUse:
    def test_a_transaction_has_an_end(self, store):
        with store.transaction() as transaction:
            pass
        with pytest.raises(RuntimeError, match="ended"):
            transaction.get_job("any")
        with pytest.raises(RuntimeError, match="ended"):
            transaction.next_number("any")

    def test_reading_needs_no_right_to_write_and_has_none(self, filled):
        before = everything(filled)
        writes = [
            lambda t: t.insert_job(JOBS[2], None),
            lambda t: t.update_job(JOBS[0]),
            lambda t: t.put_attempt(an_attempt(JOBS[0])),
            lambda t: t.add_event("physics", an_event(JOBS[0])),
            lambda t: t.put_request(RequestRecord("physics", "r-9", "d", "j", 1)),
            lambda t: t.add_effect(Effect(EffectKind.STOP, JOBS[0].id, 1)),
            lambda t: t.remove_effect(1),
            lambda t: t.put_config(a_config_version()),
            lambda t: t.next_number("sequence"),
        ]
        with filled.transaction(read_only=True) as transaction:
            for write in writes:
                with pytest.raises(RuntimeError, match="only reads"):
                    write(transaction)
        assert everything(filled) == before

    @pytest.mark.parametrize("outer", [True, False])
    @pytest.mark.parametrize("inner", [True, False])
    def test_a_second_transaction_in_a_thread_is_refused_instead_of_waiting_for_ever(self, store, outer, inner):
        refused = pytest.raises(RuntimeError, match="in this thread already")
        with store.transaction(read_only=outer), refused, store.transaction(read_only=inner):
            pass
        with store.transaction() as transaction:
            assert transaction.next_number("a") == 1

    def test_a_closed_store_refuses(self, store):
        store.close()
        with pytest.raises(RuntimeError, match="closed"), store.transaction():
            pass
        store.close()


class TestTurns:
    def test_eight_threads_count_without_gap_or_double(self, store):
        def count(_):
            numbers = []
            for _ in range(50):
                with store.transaction() as transaction:
                    numbers.append(transaction.next_number("sequence"))
            return numbers

        with ThreadPoolExecutor(8) as threads:
            numbers = [number for each in threads.map(count, range(8)) for number in each]
        assert sorted(numbers) == list(range(1, 401))

    def test_of_many_that_submit_under_one_request_id_one_does(self, store):
        def submit(number):
            job = a_job(number)
            with store.transaction() as transaction:
                answer = transaction.get_request("physics", "r-1")
                if answer is None:
                    insert(transaction, job)
                    transaction.put_request(RequestRecord("physics", "r-1", "d", job.id, 1))
                    return job.id
                return answer.job

        with ThreadPoolExecutor(8) as threads:
            answers = set(threads.map(submit, range(50)))
        with store.transaction(read_only=True) as transaction:
            assert {job.id for job in transaction.live_jobs()} == answers
        assert len(answers) == 1

    def test_nobody_sees_half_of_a_transaction(self, store):
        is_half_done, may_go_on = threading.Event(), threading.Event()

        def write():
            with store.transaction() as transaction:
                insert(transaction, JOBS[0])
                transaction.add_event("physics", an_event(JOBS[0]))
                assert transaction.get_job(JOBS[0].id) == JOBS[0]
                is_half_done.set()
                assert may_go_on.wait(WAIT_S)
                insert(transaction, JOBS[1])

        def read():
            with store.transaction(read_only=True) as transaction:
                return [job.sequence for job in transaction.live_jobs()], transaction.last_event()

        with ThreadPoolExecutor(2) as threads:
            writing = threads.submit(write)
            assert is_half_done.wait(WAIT_S)
            reading = threads.submit(read)
            with contextlib.suppress(TimeoutError):
                reading.result(timeout=0.1)  # whether readers wait for writers is the store's choice
            may_go_on.set()
            writing.result()
            assert reading.result() in (([], 0), ([1, 2], 1))
        assert read() == ([1, 2], 1)

    def test_no_event_appears_below_one_that_was_seen(self, store):
        with store.transaction() as transaction:
            insert(transaction, JOBS[0])
        is_done = threading.Event()

        def write(writer):
            for number in range(25):
                with contextlib.suppress(BrokenError), store.transaction() as transaction:
                    for _ in range(1 + writer):
                        transaction.add_event("physics", an_event(JOBS[0]))
                    if number % 5 == 4:
                        raise BrokenError

        def watch():
            seen = []
            while True:
                was_done = is_done.is_set()
                with store.transaction(read_only=True) as transaction:
                    new = transaction.list_events(seen[-1] if seen else 0, 1_000)
                    assert transaction.last_event() == (new[-1].sequence if new else len(seen))
                seen += [each.sequence for each in new]
                if was_done:
                    return seen

        with ThreadPoolExecutor(4) as threads:
            watching = threads.submit(watch)
            list(threads.map(write, range(3)))
            is_done.set()
            assert watching.result() == list(range(1, 20 * (1 + 2 + 3) + 1))
