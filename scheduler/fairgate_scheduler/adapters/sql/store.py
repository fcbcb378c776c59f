"""``SqlStore``: the engine, how it is opened, and the beginning and end of every transaction.

The parts that are SQLite's own are here and nowhere else: the pragmas, BEGIN IMMEDIATE, the path.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, NullPool, QueuePool, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError

from fairgate_scheduler.adapters.sql.config_cache import ConfigCache
from fairgate_scheduler.adapters.sql.transaction import SqlTransaction
from fairgate_scheduler.adapters.sql.upgrade import check_current, upgrade
from fairgate_scheduler.adapters.turns import NestedTurnError, Turns
from fairgate_scheduler.ports import StoreError

BUSY_TIMEOUT_MS: Final = 30_000
"""How long one process waits for the writers of others before it gives up."""

_NOT_OUR_FAULT: Final = (OperationalError, DatabaseError)
"""Locked, full, forbidden, damaged. Subclasses (a broken constraint, bad SQL) are defects and stay what they are."""


class SqlStore:
    """The durable Store. Threads and processes may share a database; their writers take turns, readers never wait."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._turns = Turns()
        self._here = threading.local()
        self._cache = ConfigCache()
        self._is_closed = False

    @classmethod
    def open(cls, url_or_path: str | Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> "SqlStore":
        """Open a SQLite file by its path or ``sqlite:///path``; create it (for its owner only) or bring it up to date.

        Raises:
            StoreError: it can not be opened, is no database of ours, or is newer than this version of Fairgate.
        """
        path = _path(url_or_path)
        try:
            _prepare(path, busy_timeout_ms)
        except DBAPIError as error:
            raise StoreError(f"{path} can not be opened: {error.orig}. {_remedy(error)}") from error
        except OSError as error:
            raise StoreError(f"{path} can not be opened: {error.strerror}. {_NAME_ANOTHER}") from error
        return cls(_engine(path, busy_timeout_ms), str(path))

    @classmethod
    def open_existing(cls, url_or_path: str | Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> "SqlStore":
        """As ``open``, of a database that another process keeps: nothing is created or brought up to date.

        Raises:
            StoreError: also if there is none, or it is older than this version of Fairgate.
        """
        path = _path(url_or_path)
        if not path.exists():
            raise StoreError(f"{path} is not there: start the service first, or name its file")
        engine = _engine(path, busy_timeout_ms)
        try:
            with engine.connect().execution_options(begin="BEGIN") as connection, connection.begin():
                check_current(connection, str(path))
        except DBAPIError as error:
            raise StoreError(f"{path} can not be opened: {error.orig}. {_remedy(error)}") from error
        return cls(engine, str(path))

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[SqlTransaction]:
        """One unit of work; committed when the block ends, rolled back when it raises.

        Raises:
            StoreError: the database could not be read or written, or other processes kept it locked for too long.
            RuntimeError: this thread has a transaction open, or the store is closed.
        """
        with self._one_in_a_thread(), nullcontext() if read_only else self._turns.turn():
            if self._is_closed:
                raise RuntimeError("the store is closed")
            try:
                with self._begun(read_only) as connection:
                    transaction = SqlTransaction(connection, self._cache, read_only=read_only)
                    try:
                        yield transaction
                        transaction.flush()
                    finally:
                        transaction.end()
            except DBAPIError as error:
                if type(error) not in _NOT_OUR_FAULT:
                    raise
                raise StoreError(f"{self._name} can not be used: {error.orig}. {_remedy(error)}") from error

    def close(self) -> None:
        """Wait for the writer, close the connections and refuse every further transaction."""
        with self._turns.turn():
            self._is_closed = True
            self._engine.dispose()

    @contextmanager
    def _begun(self, read_only: bool) -> Iterator[Connection]:
        options = {"begin": "BEGIN" if read_only else "BEGIN IMMEDIATE"}
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @contextmanager
    def _one_in_a_thread(self) -> Iterator[None]:
        if getattr(self._here, "is_open", False):
            raise NestedTurnError("a transaction is open in this thread already; use that one")
        self._here.is_open = True
        try:
            yield
        finally:
            self._here.is_open = False


_CHECKPOINT_PAGES: Final = 8_000
"""Pages (of 4 KiB) in the log before they are moved to the file: a page that changes often is moved less often."""
_NAME_ANOTHER = "Name another file."


def _path(url_or_path: str | Path) -> Path:
    text = str(url_or_path)
    scheme, separator, rest = text.partition("://")
    if separator and (scheme != "sqlite" or not rest.startswith("/")):
        raise StoreError(
            f"{scheme}://… is no database that Fairgate can use: give sqlite:///PATH or the path of a file"
        )
    path = Path(rest[1:] if separator else text).expanduser()
    if str(path) in ("", ".", ":memory:"):
        raise StoreError(f"{text!r} names no file: give sqlite:///PATH or the path of a file")
    path = path.absolute()
    if not path.parent.is_dir():
        raise StoreError(f"{path} can not be created: there is no folder {path.parent}. Make it, or name another file.")
    if path.is_dir():
        raise StoreError(f"{path} is a folder: give the path of a file in it")
    return path


def _prepare(path: Path, busy_timeout_ms: int) -> None:
    if not path.exists():
        # Manifests hold what people put into them. SQLite gives its side files the mode of the file.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    engine = _engine(path, busy_timeout_ms, is_upgrade=True)
    try:
        with engine.connect().execution_options(begin="") as connection:
            _use_wal(connection, busy_timeout_ms)
        with engine.connect().execution_options(begin="BEGIN IMMEDIATE") as connection, connection.begin():
            upgrade(connection, str(path))
    finally:
        engine.dispose()


def _use_wal(connection: Connection, busy_timeout_ms: int) -> None:
    """Switch to the write-ahead log; SQLite does not wait by itself for others that do the same at the same time."""
    until = time.monotonic() + busy_timeout_ms / 1000
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        except DBAPIError as error:
            if "locked" not in str(error.orig) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def _engine(path: Path, busy_timeout_ms: int, *, is_upgrade: bool = False) -> Engine:
    pool: dict[str, Any] = (
        {"poolclass": NullPool} if is_upgrade else {"poolclass": QueuePool, "pool_size": 4, "max_overflow": -1}
    )
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"isolation_level": None, "timeout": busy_timeout_ms / 1000, "check_same_thread": False},
        **pool,
    )
    # Migrations rebuild tables, which must not delete what refers to them.
    pragmas = (
        "synchronous = FULL",
        f"foreign_keys = {'OFF' if is_upgrade else 'ON'}",
        f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
    )

    @event.listens_for(engine, "connect")
    def set_pragmas(connection: Any, _: object) -> None:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if statement := connection.get_execution_options()["begin"]:
            connection.exec_driver_sql(statement)

    return engine


def _remedy(error: DBAPIError) -> str:
    reason = str(error.orig)
    if "locked" in reason:
        return "Another process keeps it locked: see what else uses this file."
    if "not a database" in reason:
        return "It was left as it is: move it away, or name another file."
    return "Look at its permissions and at the free space of its disk."
