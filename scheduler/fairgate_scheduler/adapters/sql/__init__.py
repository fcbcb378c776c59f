"""The Store on SQLModel: a SQLite file now, written so that PostgreSQL needs another engine and nothing else.

It must never decide anything, keep state outside the database, or write anything that is not part of a transaction.
"""

from fairgate_scheduler.adapters.sql.store import SqlStore

__all__ = ["SqlStore"]
