"""Whatever is done to them, the fast twin and the SQL store answer the same, errors included."""

import contextlib
import tempfile
from dataclasses import replace
from pathlib import Path

from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.core.jobs import AttemptState, JobState
from fairgate_scheduler.core.lifecycle import Effect, EffectKind
from fairgate_scheduler.ports import JobQuery, RequestRecord, StaleVersionError
from fairgate_scheduler.testing.memory_store import MemoryStore
from fairgate_scheduler.testing.records import a_config_version, a_job, a_submission, an_attempt, an_event
from hypothesis import given, settings
from hypothesis import strategies as st

TENANTS = ("physics", "biology")
JOBS = {number: a_job(number, TENANTS[number % 2]) for number in (1, 2, 3)}


class TakenBackError(Exception):
    pass


def change(transaction, job, state, step):
    stored = transaction.get_job(job.id)
    transaction.update_job(replace(job, state=state, version=(stored.version if stored else 0) + step))


def remove(transaction, place):
    waiting = transaction.list_effects(10)
    transaction.remove_effect(waiting[place].id if place < len(waiting) else 99)


def read(transaction):
    few, tenant, states = 2, frozenset({"physics"}), frozenset({JobState.PENDING, JobState.SUCCEEDED})
    return [
        [(transaction.get_job(job.id), transaction.get_submission(job.id)) for job in JOBS.values()],
        [transaction.get_attempts(job.id) for job in JOBS.values()],
        transaction.list_jobs(JobQuery()),
        transaction.list_jobs(JobQuery(tenant, states, 3, few)),
        transaction.live_jobs(),
        transaction.count_jobs(tenant, states),
        transaction.live_attempts(),
        transaction.last_event(),
        transaction.list_events(1, few),
        transaction.list_events(0, 10, tenants=tenant),
        transaction.list_events(0, 10, job=JOBS[1].id),
        [transaction.get_request(each, "r-1") for each in TENANTS],
        transaction.list_effects(10),
        [transaction.get_config(etag) for etag in (None, "one", "two")],
    ]


jobs = st.sampled_from(sorted(JOBS)).map(JOBS.get)
steps = st.one_of(
    st.builds(lambda job: lambda t: t.insert_job(job, a_submission()), jobs),
    st.builds(lambda job: lambda t: t.insert_job(job, a_submission()), jobs),  # most other steps need a job
    st.builds(
        lambda job, state, step: lambda t: change(t, job, state, step),
        jobs,
        st.sampled_from(JobState),
        st.sampled_from([1, 1, 1, 0, 2]),
    ),
    st.builds(
        lambda job, number, state, place: (
            lambda t: t.put_attempt(an_attempt(job, number, state=state, admission=place))
        ),
        jobs,
        st.integers(1, 2),
        st.sampled_from(AttemptState),
        st.integers(1, 3),
    ),
    st.builds(lambda job: lambda t: t.add_event(job.tenant, an_event(job)), jobs),
    st.builds(
        lambda job: lambda t: t.put_request(RequestRecord(job.tenant, "r-1", job.id, job.id, 1)),
        jobs,
    ),
    st.builds(lambda job: lambda t: t.add_effect(Effect(EffectKind.STOP, job.id, 1, "why")), jobs),
    st.builds(lambda place: lambda t: remove(t, place), st.integers(0, 2)),
    st.builds(lambda etag: lambda t: t.put_config(a_config_version(etag)), st.sampled_from(["one", "two"])),
    st.builds(lambda name: lambda t: t.next_number(name), st.sampled_from(["a", "b"])),
    st.just(read),
)
transactions = st.lists(st.tuples(st.lists(steps, max_size=8), st.booleans()), max_size=6)


def run(store, work):
    """The answers to all steps of all transactions, and what can be read at the end."""
    answers = []
    for steps_of_one, is_taken_back in work:
        with contextlib.suppress(TakenBackError), store.transaction() as transaction:
            for step in steps_of_one:
                try:
                    answers.append(step(transaction))
                except StaleVersionError as error:
                    answers.append(str(error))
            if is_taken_back:
                raise TakenBackError
    with store.transaction(read_only=True) as transaction:
        answers.append(read(transaction))
    store.close()
    return answers


@settings(max_examples=30, deadline=None)
@given(work=transactions)
def test_both_stores_answer_the_same(work):
    with tempfile.TemporaryDirectory() as folder:
        assert run(SqlStore.open(Path(folder) / "fairgate.db"), work) == run(MemoryStore(), work)
