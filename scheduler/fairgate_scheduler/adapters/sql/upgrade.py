"""Bringing the tables of a database to what this version of Fairgate expects."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from fairgate_scheduler.ports import StoreError

_FOLDER = Path(__file__).with_name("migrations")


def upgrade(connection: Connection, name: str) -> None:
    """Run the migrations that are missing, all or none. The caller holds the write lock and commits.

    Raises:
        StoreError: the tables are of a newer Fairgate, or of another program.
    """
    settings = _settings(connection)
    known = {revision.revision for revision in ScriptDirectory.from_config(settings).walk_revisions()}
    there = MigrationContext.configure(connection).get_current_heads()
    if strangers := set(there) - known:
        raise StoreError(
            f"{name} is at revision {', '.join(sorted(strangers))}, which this Fairgate does not know: a newer one"
            " wrote it. Start that version, or name another file."
        )
    tables = inspect(connection).get_table_names()
    if not there and tables:
        raise StoreError(f"{name} belongs to another program (it has a table {tables[0]!r}). Name another file.")
    command.upgrade(settings, "head")


def check_current(connection: Connection, name: str) -> None:
    """Only look.

    Raises:
        StoreError: the tables are not those of this version of Fairgate.
    """
    wanted = ScriptDirectory.from_config(_settings(connection)).get_heads()
    there = MigrationContext.configure(connection).get_current_heads()
    if set(there) != set(wanted):
        raise StoreError(
            f"{name} is at revision {', '.join(sorted(there)) or 'none'}, not {', '.join(sorted(wanted))}:"
            " run the service and this process in the same version"
        )


def _settings(connection: Connection) -> Config:
    settings = Config()
    settings.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    settings.set_main_option("path_separator", "os")
    settings.attributes["connection"] = connection
    return settings
