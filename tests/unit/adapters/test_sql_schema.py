"""The migrations make exactly the tables of the models, and the questions asked of them are answered by indexes."""

import re
import sqlite3

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.adapters.sql.schema import Base
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.core.lifecycle import EventKind
from fairgate_scheduler.ports import JobQuery, RequestRecord
from fairgate_scheduler.testing.records import a_job, a_submission, an_event
from sqlalchemy import Engine, create_engine, event


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fairgate.db"


@pytest.fixture
def store(path):
    store = SqlStore.open(path)
    yield store
    store.close()


@pytest.fixture
def statements():
    """All statements that anybody executes, with their parameters."""
    seen = []

    def see(_connection, _cursor, statement, parameters, _context, _many):
        seen.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", see)
    yield seen
    event.remove(Engine, "before_cursor_execute", see)


def tables(path):
    """The statements that made the tables, whatever the order of their columns' and constraints' white space."""
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name <> 'alembic_version'"
    ).fetchall()
    connection.close()
    return {name: sorted(re.split(r",\s*|\(\s*", re.sub(r"\s*\)", "", " ".join(sql.split())))) for name, sql in rows}


def test_alembic_finds_nothing_to_migrate(store, path):
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_migrated_tables_are_those_of_the_models_word_by_word(store, path, tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path / 'models.db'}")
    Base.metadata.create_all(engine)
    engine.dispose()
    assert tables(path) == tables(tmp_path / "models.db")


QUESTIONS = {
    "job": lambda t: t.get_job("j"),
    "live jobs": lambda t: t.live_jobs(),
    "all jobs": lambda t: t.list_jobs(JobQuery(before_sequence=9)),
    "jobs of a tenant": lambda t: t.list_jobs(JobQuery(frozenset({"a"}))),
    "jobs of a tenant in a state": lambda t: t.list_jobs(JobQuery(frozenset({"a"}), frozenset({JobState.PENDING}))),
    "count": lambda t: t.count_jobs(frozenset({"a", "b"}), frozenset({JobState.PENDING, JobState.RUNNING})),
    "attempts": lambda t: t.get_attempts("j"),
    "live attempts": lambda t: t.live_attempts(),
    "ended attempts": lambda t: t.ended_attempts(10**15),
    "events": lambda t: t.list_events(5, 10),
    "events of a tenant": lambda t: t.list_events(5, 10, tenants=frozenset({"a"})),
    "events of a job": lambda t: t.list_events(5, 10, job="j"),
    "last event": lambda t: t.last_event(),
    "request": lambda t: t.get_request("a", "r"),
    "effects": lambda t: t.list_effects(10),
    "config": lambda t: t.get_config(),
    "old config": lambda t: t.get_config("e"),
}
SORTED_AFTERWARDS = {"live jobs", "live attempts"}  # few rows out of many


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_index_answers(store, path, statements, question):
    with store.transaction(read_only=True) as transaction:
        statements.clear()
        QUESTIONS[question](transaction)
        (statement, parameters) = statements[-1]
    connection = sqlite3.connect(path)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    connection.close()
    whole = [step for step in plan if step.startswith("SCAN") and "LIMIT" not in statement]
    sorts = [step for step in plan if step.endswith("FOR ORDER BY") and question not in SORTED_AFTERWARDS]
    assert plan
    assert not whole, plan
    assert not sorts, plan


def test_many_submits_in_one_transaction_are_written_in_batches(store, statements):
    with store.transaction() as transaction:
        for number in range(1, 201):
            job = a_job(transaction.next_number("sequence"))
            assert transaction.get_request(job.tenant, f"r-{number}") is None
            transaction.insert_job(job, a_submission())
            transaction.add_event(job.tenant, an_event(job, EventKind.SUBMITTED))
            transaction.put_request(RequestRecord(job.tenant, f"r-{number}", "d", job.id, 1))
    written = [statement for statement, _ in statements if statement.startswith(("INSERT", "UPDATE"))]
    assert len(written) == 8  # four tables at once; two counters, each looked for before it is made
    assert len(statements) <= 3 * 200 + 20
