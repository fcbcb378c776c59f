"""What Alembic runs for each command: the migrations, on the connection and in the transaction that it was given."""

from alembic import context

from fairgate_scheduler.adapters.sql.schema import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
