"""A job has a uid, which tells it from another job that has the same id after a restore."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Jobs from before have none."""
    op.add_column("job", sa.Column("uid", sa.String(), nullable=False, server_default=sa.text("''")))
