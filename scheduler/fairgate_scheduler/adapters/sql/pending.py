"""Writes of one transaction that the database has not seen yet: those of one table go there in one statement."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, Dialect, bindparam, delete, insert, update
from sqlalchemy.dialects import postgresql, sqlite

from fairgate_scheduler.adapters.sql import schema
from fairgate_scheduler.ports import StaleVersionError

Row = dict[str, Any]

_job = schema.table(schema.JobRow)
_submission = schema.table(schema.SubmissionRow)
_attempt = schema.table(schema.AttemptRow)
_event = schema.table(schema.EventRow)
_request = schema.table(schema.RequestRow)
_effect = schema.table(schema.EffectRow)

_INSERTS: Final = {table: insert(table).inline() for table in (_job, _submission, _event, _effect, _request)}
_UPDATE_JOB: Final = update(_job).where(_job.c.id == bindparam("job_"), _job.c.version == bindparam("version_"))
_REMOVE_EFFECT: Final = delete(_effect).where(_effect.c.id == bindparam("id_"))


def _put_attempt(dialect: Any) -> Any:
    statement = dialect.insert(_attempt).inline()
    changed = {column.name: statement.excluded[column.name] for column in _attempt.c if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=list(_attempt.primary_key), set_=changed)


_PUT_ATTEMPT: Final = {"sqlite": _put_attempt(sqlite), "postgresql": _put_attempt(postgresql)}
"""By the name of the dialect: there is no common word for it."""


class Pending:
    """What waits. Of a job or an attempt that is written several times only the last state goes to the database."""

    def __init__(self) -> None:
        self._new_jobs: dict[str, Row] = {}
        self._updates: dict[str, Row] = {}
        self._attempts: dict[str, dict[int, Row]] = {}
        self._rest: dict[Any, list[Row]] = {table: [] for table in (_submission, _event, _effect, _request)}
        self._removed_effects: list[Row] = []

    def insert_job(self, row: Row, submission: Row) -> None:
        """A new job."""
        self._new_jobs[row["id"]] = row
        self._rest[_submission].append({"job": row["id"], **submission})

    def update_job(self, job: str, changes: Row, stored_version: int) -> None:
        """Some columns of a job that is there in this version, or is waiting here."""
        if job in self._new_jobs:
            self._new_jobs[job].update(changes)
            return
        # Not the id: SQLite would look for everything that refers to it, in tables without an index for that too.
        changes.pop("id", None)
        before = self._updates.setdefault(job, {"job_": job, "version_": stored_version})
        before.update(changes)

    def put_attempt(self, row: Row) -> None:
        """A new attempt, or a new state of one."""
        self._attempts.setdefault(row["job"], {})[row["number"]] = row

    def add_event(self, row: Row) -> None:
        """A new event."""
        self._rest[_event].append(row)

    def add_effect(self, row: Row) -> None:
        """A new effect."""
        self._rest[_effect].append(row)

    def remove_effect(self, effect: int) -> None:
        """An effect that goes."""
        self._removed_effects.append({"id_": effect})

    def put_request(self, row: Row) -> None:
        """A new answer."""
        self._rest[_request].append(row)

    def has_submission(self, job: str) -> bool:
        """Whether what was submitted as this job waits here."""
        return job in self._new_jobs

    def has_attempts(self, job: str) -> bool:
        """Whether attempts of this job wait here."""
        return job in self._attempts

    def flush(self, connection: Connection) -> None:
        """Write everything, in such an order that nothing refers to what comes later.

        Raises:
            StaleVersionError: a job is not in the version any more that it was read in.
        """
        _execute(connection, _INSERTS[_job], list(self._new_jobs.values()))
        self._new_jobs = {}
        for updates in self._take_updates():
            if _execute(connection, _UPDATE_JOB, updates) < len(updates):
                names = ", ".join(row["job_"] for row in updates)
                raise StaleVersionError(f"one of {names} was changed by another writer")
        attempts = [row for rows in self._attempts.values() for row in rows.values()]
        _execute(connection, _PUT_ATTEMPT[connection.dialect.name], attempts)
        self._attempts = {}
        for table, rows in self._rest.items():
            _execute(connection, _INSERTS[table], rows)
            self._rest[table] = []
        _execute(connection, _REMOVE_EFFECT, self._removed_effects)
        self._removed_effects = []

    def _take_updates(self) -> Iterable[list[Row]]:
        """What waits of jobs that are there, those with the same columns together."""
        groups: defaultdict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in self._updates.values():
            groups[tuple(sorted(row))].append(row)
        self._updates = {}
        return groups.values()


def _execute(connection: Connection, statement: Any, rows: list[Row]) -> int:
    """Execute a statement for each of some rows with the same columns; returns how many rows of the table that met."""
    if not rows:
        return 0
    text, parameters = _compiled(statement, connection.dialect, tuple(rows[0]))
    return connection.exec_driver_sql(text, list(map(parameters, rows))).rowcount


@lru_cache(maxsize=1024)
def _compiled(statement: Any, dialect: Dialect, columns: tuple[str, ...]) -> tuple[str, Callable[[Row], Any]]:
    """The statement in the words of the driver, and how it takes a row. All columns here are of types that the driver
    takes as they are, so that SQLAlchemy need not go through every row.
    """
    compiled = statement.compile(dialect=dialect, column_keys=list(columns))
    names = compiled.positiontup
    if names is None:
        return str(compiled), dict
    return str(compiled), itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)
