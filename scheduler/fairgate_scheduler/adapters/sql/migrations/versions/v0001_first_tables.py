"""The first tables: jobs, submissions, attempts, events, requests, effects, configurations, counters."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make every table in an empty database."""
    _job()
    _submission()
    _attempt()
    _event()
    _request()
    _effect()
    _config()
    op.create_table("counter", _text("name"), _whole("value"), sa.PrimaryKeyConstraint("name", name="pk_counter"))


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=nullable)


def _whole(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, WHOLE, nullable=nullable)


def _of_job(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["job"], ["job.id"], name=f"fk_{table}_job")


def _index(table: str, *columns: str) -> None:
    op.create_index("_".join(("ix", table, *columns)), table, list(columns))


def _job() -> None:
    op.create_table(
        "job",
        _text("id"),
        _text("tenant"),
        _whole("submitted_at_ms"),
        _whole("sequence"),
        _text("options"),
        _whole("time_limit_ms"),
        _whole("priority"),
        sa.Column("preemptible", sa.Boolean(), nullable=False),
        _text("fallback"),
        _whole("fallback_after_ms"),
        _text("state"),
        _whole("pending_since_ms"),
        _whole("done_ms"),
        _text("backoff"),
        _whole("attempts"),
        _whole("evictions"),
        _text("outcome", nullable=True),
        _text("message"),
        _whole("started_at_ms", nullable=True),
        _whole("finished_at_ms", nullable=True),
        _whole("version"),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
    )
    _index("job", "state", "sequence")
    _index("job", "tenant", "state", "sequence")
    _index("job", "tenant", "sequence")
    _index("job", "sequence")


def _submission() -> None:
    op.create_table(
        "submission",
        _text("job"),
        _text("manifest"),
        _text("spec"),
        _text("submitted_by"),
        _text("warnings"),
        _of_job("submission"),
        sa.PrimaryKeyConstraint("job", name="pk_submission"),
    )


def _attempt() -> None:
    op.create_table(
        "attempt",
        _text("job"),
        _whole("number"),
        _whole("option"),
        _text("demand"),
        _whole("admission"),
        _whole("admitted_at_ms"),
        _text("state"),
        sa.Column("holds_quota", sa.Boolean(), nullable=False),
        _whole("launched_at_ms", nullable=True),
        _whole("ready_at_ms", nullable=True),
        _whole("ended_at_ms", nullable=True),
        _text("reason"),
        _whole("exit_code", nullable=True),
        _of_job("attempt"),
        sa.PrimaryKeyConstraint("job", "number", name="pk_attempt"),
    )
    _index("attempt", "state", "admission")


def _event() -> None:
    op.create_table(
        "event",
        sa.Column("sequence", WHOLE, nullable=False, autoincrement=False),
        _text("tenant"),
        _text("job"),
        _text("kind"),
        _whole("at_ms"),
        _text("message"),
        _whole("attempt", nullable=True),
        _text("details"),
        _of_job("event"),
        sa.PrimaryKeyConstraint("sequence", name="pk_event"),
    )
    _index("event", "tenant", "sequence")
    _index("event", "job", "sequence")


def _request() -> None:
    op.create_table(
        "request",
        _text("tenant"),
        _text("request_id"),
        _text("digest"),
        _text("job"),
        _whole("at_ms"),
        sa.PrimaryKeyConstraint("tenant", "request_id", name="pk_request"),
    )


def _effect() -> None:
    op.create_table(
        "effect",
        _whole("id"),
        _text("kind"),
        _text("job"),
        _whole("attempt"),
        _text("reason"),
        _of_job("effect"),
        sa.PrimaryKeyConstraint("id", name="pk_effect"),
        sqlite_autoincrement=True,
    )


def _config() -> None:
    op.create_table(
        "config",
        _whole("id"),
        _text("etag"),
        _text("source"),
        _text("config"),
        _whole("at_ms"),
        _text("by"),
        _text("comment"),
        sa.PrimaryKeyConstraint("id", name="pk_config"),
        sqlite_autoincrement=True,
    )
    _index("config", "etag")
