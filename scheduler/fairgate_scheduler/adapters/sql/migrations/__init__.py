"""Alembic's environment and the steps by which tables came to be. A released step must never change: add a new one."""
