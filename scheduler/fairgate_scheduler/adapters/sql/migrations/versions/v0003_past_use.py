"""What tenants used before: their history, and attempts by their end for the budgets."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Nobody has a history yet; what attempts have used is there already."""
    op.create_table(
        "history",
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("settled_at_ms", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("tenant", name="pk_history"),
    )
    op.create_index("ix_attempt_ended_at_ms", "attempt", ["ended_at_ms"])
