"""The tables. A change here needs a migration in ``migrations/versions``; a test compares the two.

Columns are named after the fields of the core's records. Texts marked JSON hold what ``codec`` writes.
"""

from typing import Any

from sqlalchemy import BigInteger, Dialect, ForeignKey, Index, Integer, MetaData, Table, TypeDecorator, text
from sqlalchemy.types import TypeEngine
from sqlmodel import Field, SQLModel

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Whole(TypeDecorator[int]):
    """A 64-bit number everywhere; SQLite numbers rows by themselves only in columns that say INTEGER."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Integer() if dialect.name == "sqlite" else BigInteger())


class Base(SQLModel):
    """What our tables have in common: a catalogue of their own and predictable names of constraints."""

    metadata = MetaData(naming_convention=NAMES)


class JobRow(Base, table=True):
    """``core.jobs.Job``."""

    __tablename__ = "job"
    __table_args__ = (
        Index(None, "state", "sequence"),  # live jobs; lists by state
        Index(None, "tenant", "state", "sequence"),  # counts; a tenant's list by state
        Index(None, "tenant", "sequence"),  # a tenant's list
        Index(None, "sequence"),  # the list of all
    )

    id: str = Field(primary_key=True)
    tenant: str
    submitted_at_ms: int = Field(sa_type=Whole)
    sequence: int = Field(sa_type=Whole)
    options: str  # JSON
    time_limit_ms: int = Field(sa_type=Whole)
    priority: int = Field(sa_type=Whole)
    preemptible: bool
    fallback: str
    fallback_after_ms: int = Field(sa_type=Whole)
    state: str
    pending_since_ms: int = Field(sa_type=Whole)
    done_ms: int = Field(sa_type=Whole)
    backoff: str  # JSON
    attempts: int = Field(sa_type=Whole)
    evictions: int = Field(sa_type=Whole)
    outcome: str | None
    message: str
    started_at_ms: int | None = Field(sa_type=Whole)
    finished_at_ms: int | None = Field(sa_type=Whole)
    version: int = Field(sa_type=Whole)
    uid: str = Field(sa_column_kwargs={"server_default": text("''")})


class SubmissionRow(Base, table=True):
    """``ports.Submission``: apart from the job, because manifests are large and seldom read."""

    __tablename__ = "submission"

    job: str = Field(primary_key=True, sa_column_args=[ForeignKey("job.id")])
    manifest: str
    spec: str  # JSON
    submitted_by: str
    warnings: str  # JSON


class LogRow(Base, table=True):
    """``ports.KeptLog``: apart from the attempt, because it is large and seldom read."""

    __tablename__ = "log"

    job: str = Field(primary_key=True, sa_column_args=[ForeignKey("job.id")])
    attempt: int = Field(primary_key=True, sa_type=Whole)
    uid: str
    data: bytes
    offset: int = Field(sa_type=Whole)


class AttemptRow(Base, table=True):
    """``core.jobs.Attempt``, and with it the job's reservation."""

    __tablename__ = "attempt"
    __table_args__ = (
        Index(None, "state", "admission"),  # live attempts
        Index(None, "ended_at_ms"),  # what was used of budgets
    )

    job: str = Field(primary_key=True, sa_column_args=[ForeignKey("job.id")])
    number: int = Field(primary_key=True, sa_type=Whole)
    option: int = Field(sa_type=Whole)
    demand: str  # JSON
    admission: int = Field(sa_type=Whole)
    admitted_at_ms: int = Field(sa_type=Whole)
    state: str
    holds_quota: bool
    launched_at_ms: int | None = Field(sa_type=Whole)
    ready_at_ms: int | None = Field(sa_type=Whole)
    ended_at_ms: int | None = Field(sa_type=Whole)
    reason: str
    exit_code: int | None = Field(sa_type=Whole)


class EventRow(Base, table=True):
    """``core.lifecycle.Event`` with its place in the one order of all events."""

    __tablename__ = "event"
    __table_args__ = (Index(None, "tenant", "sequence"), Index(None, "job", "sequence"))

    sequence: int = Field(primary_key=True, sa_type=Whole, sa_column_kwargs={"autoincrement": False})
    tenant: str
    job: str = Field(sa_column_args=[ForeignKey("job.id")])
    kind: str
    at_ms: int = Field(sa_type=Whole)
    message: str
    attempt: int | None = Field(sa_type=Whole)
    details: str  # JSON


class RequestRow(Base, table=True):
    """``ports.RequestRecord``."""

    __tablename__ = "request"

    tenant: str = Field(primary_key=True)
    request_id: str = Field(primary_key=True)
    digest: str
    job: str
    at_ms: int = Field(sa_type=Whole)


class EffectRow(Base, table=True):
    """``core.lifecycle.Effect``: the outbox. No id is given twice, so a late removal can not hit another order."""

    __tablename__ = "effect"
    __table_args__ = {"sqlite_autoincrement": True}

    id: int | None = Field(default=None, primary_key=True, sa_type=Whole)
    kind: str
    job: str = Field(sa_column_args=[ForeignKey("job.id")])
    attempt: int = Field(sa_type=Whole)
    reason: str


class HistoryRow(Base, table=True):
    """``core.snapshot.History`` of a tenant."""

    __tablename__ = "history"

    tenant: str = Field(primary_key=True)
    value: str  # JSON
    settled_at_ms: int = Field(sa_type=Whole)


class ConfigRow(Base, table=True):
    """``ports.ConfigVersion``. The one with the highest id is in force."""

    __tablename__ = "config"
    __table_args__ = (Index(None, "etag"), {"sqlite_autoincrement": True})

    id: int | None = Field(default=None, primary_key=True, sa_type=Whole)
    etag: str
    source: str
    config: str  # JSON
    at_ms: int = Field(sa_type=Whole)
    by: str
    comment: str


class CounterRow(Base, table=True):
    """The last number that a durable counter gave."""

    __tablename__ = "counter"

    name: str = Field(primary_key=True)
    value: int = Field(sa_type=Whole)


def table(row: type[Base]) -> Table:
    """The Core table of a row class: statements on it cost a fraction of what the ORM's identity map does."""
    return Base.metadata.tables[str(row.__tablename__)]
