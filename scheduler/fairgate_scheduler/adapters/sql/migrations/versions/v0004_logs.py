"""The output of attempts that ran where it can not be read any more."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Nothing was kept before."""
    op.create_table(
        "log",
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("attempt", WHOLE, nullable=False),
        sa.Column("uid", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("offset", WHOLE, nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name="fk_log_job"),
        sa.PrimaryKeyConstraint("job", "attempt", name="pk_log"),
    )
