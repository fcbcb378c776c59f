"""Opening a database: made, brought up to date, or refused with a reason and left as it was."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from fairgate_scheduler.adapters.sql import SqlStore, upgrade
from fairgate_scheduler.adapters.sql.mapping import JOB
from fairgate_scheduler.ports import StoreError
from fairgate_scheduler.testing.records import a_job, insert
from sqlalchemy import Engine, event

FULL = 2  # PRAGMA synchronous

COUNT = """
import sys
from fairgate_scheduler.adapters.sql import SqlStore
store = SqlStore.open(sys.argv[1])
for _ in range(50):
    with store.transaction() as transaction:
        print(transaction.next_number("sequence"))
store.close()
"""

BROKEN = """
import sqlalchemy as sa
from alembic import op

revision = "broken"
down_revision = "HEAD"


def upgrade():
    op.create_table("half", sa.Column("a", sa.String()))
    raise RuntimeError("broken")
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fairgate.db"


def read(store):
    with store.transaction(read_only=True) as transaction:
        return transaction.live_jobs()


def raw(path, *statements):
    """Run statements past the store and return the rows of the last one."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return [connection.execute(statement).fetchall() for statement in statements][-1]
    finally:
        connection.close()


class TestOpen:
    @pytest.mark.parametrize("form", [str, Path, lambda path: f"sqlite:///{path}"])
    def test_what_was_written_is_there_when_it_is_opened_again(self, path, form):
        for version in (1, 2):
            store = SqlStore.open(form(path))
            with store.transaction() as transaction:
                if version == 1:
                    insert(transaction, a_job())
                assert transaction.get_job(a_job().id) == a_job()
            store.close()

    def test_a_relative_path_is_seen_from_here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        SqlStore.open("sqlite:///here.db").close()
        assert (tmp_path / "here.db").stat().st_size

    def test_the_file_and_its_side_files_are_for_their_owner_only(self, path):
        store = SqlStore.open(path)
        with store.transaction() as transaction:
            insert(transaction, a_job())
        modes = {each.name: oct(each.stat().st_mode & 0o777) for each in path.parent.iterdir()}
        store.close()
        assert modes == dict.fromkeys(["fairgate.db", "fairgate.db-wal", "fairgate.db-shm"], "0o600")

    def test_it_writes_ahead_and_to_the_disk(self, path):
        pragmas = {"journal_mode": "wal", "synchronous": FULL, "foreign_keys": 1}
        seen = []

        def look(connection):
            seen.append({name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas})

        store = SqlStore.open(path)
        event.listen(Engine, "begin", look)
        with store.transaction(), ThreadPoolExecutor(1) as threads:  # two connections
            threads.submit(read, store).result()
        event.remove(Engine, "begin", look)
        store.close()
        assert seen == [pragmas, pragmas]

    def test_many_may_open_a_new_one_at_once(self, path):
        together = threading.Barrier(6)

        def open_and_count(_):
            together.wait(30)
            store = SqlStore.open(path)
            with store.transaction() as transaction:
                number = transaction.next_number("sequence")
            store.close()
            return number

        with ThreadPoolExecutor(6) as threads:
            assert sorted(threads.map(open_and_count, range(6))) == [1, 2, 3, 4, 5, 6]

    def test_two_processes_count_without_gap_or_double(self, path):
        command = [sys.executable, "-c", COUNT, str(path)]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        outputs = [process.communicate(timeout=60)[0] for process in processes]
        assert [process.returncode for process in processes] == [0, 0]
        assert sorted(int(number) for output in outputs for number in output.split()) == list(range(1, 101))


class TestRefusals:
    @pytest.mark.parametrize(
        ("place", "message"),
        [
            ("postgresql://host/db", r"postgresql://… is no database that Fairgate can use: give sqlite:///PATH"),
            ("sqlite://host/db", r"sqlite://… is no database"),
            ("sqlite://", r"is no database"),
            ("sqlite:///", r"names no file"),
            (":memory:", r"names no file"),
            ("sqlite:///:memory:", r"names no file"),
            ("", r"names no file"),
        ],
    )
    def test_a_place_that_is_no_file(self, place, message):
        with pytest.raises(StoreError, match=message):
            SqlStore.open(place)

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(StoreError, match=r"there is no folder .*/nowhere\. Make it, or name another file"):
            SqlStore.open(tmp_path / "nowhere" / "fairgate.db")

    def test_a_folder(self, tmp_path):
        with pytest.raises(StoreError, match="is a folder: give the path of a file in it"):
            SqlStore.open(tmp_path)

    @pytest.mark.parametrize("content", [b"tenants: []\n", b"x" * 10_000])
    def test_a_file_that_is_no_database_is_left_as_it_is(self, path, content):
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"file is not a database\. It was left as it is"):
            SqlStore.open(path)
        assert path.read_bytes() == content
        assert [each.name for each in path.parent.iterdir()] == [path.name]

    def test_the_database_of_another_program(self, path):
        raw(path, "CREATE TABLE songs (title TEXT)")
        with pytest.raises(StoreError, match=r"belongs to another program \(it has a table 'songs'\)"):
            SqlStore.open(path)
        assert raw(path, "SELECT name FROM sqlite_master") == [("songs",)]

    def test_a_database_that_is_newer(self, path):
        SqlStore.open(path).close()
        raw(path, "UPDATE alembic_version SET version_num = '9999'", "INSERT INTO counter VALUES ('kept', 7)")
        with pytest.raises(
            StoreError, match=r"at revision 9999, which this Fairgate does not know: a newer one wrote it"
        ):
            SqlStore.open(path)
        assert raw(path, "SELECT * FROM counter") == [("kept", 7)]

    def test_a_damaged_database(self, path):
        SqlStore.open(path).close()
        content = bytearray(path.read_bytes())
        content[100:] = b"\xff" * (len(content) - 100)
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"can not be opened: database disk image is malformed"):
            SqlStore.open(path)


class TestLocked:
    @pytest.fixture
    def store(self, path):
        store = SqlStore.open(path, busy_timeout_ms=20)
        yield store
        store.close()

    @pytest.fixture
    def locked(self, path, store):
        """Another program writes for as long as the test lasts."""
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.close()

    @pytest.mark.usefixtures("locked")
    def test_writing_gives_up_after_a_while(self, store):
        with (
            pytest.raises(StoreError, match=r"database is locked\. Another process keeps it locked"),
            store.transaction(),
        ):
            pass

    @pytest.mark.usefixtures("locked")
    def test_reading_does_not_wait(self, store):
        with store.transaction(read_only=True) as transaction:
            assert transaction.live_jobs() == []

    @pytest.mark.usefixtures("locked")
    def test_opening_gives_up_after_a_while(self, path):
        with pytest.raises(StoreError, match=r"can not be opened: database is locked"):
            SqlStore.open(path, busy_timeout_ms=20)

    def test_the_store_works_again_afterwards(self, path, store):
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError), store.transaction():
            pass
        connection.close()
        with store.transaction() as transaction:
            insert(transaction, a_job())


class TestMigrations:
    def test_a_job_of_the_first_version_has_no_uid_and_keeps_the_rest(self, path, monkeypatch):
        with monkeypatch.context() as patch:
            to_first = upgrade.command.upgrade
            patch.setattr(upgrade.command, "upgrade", lambda settings, _head: to_first(settings, "0001"))
            SqlStore.open(path).close()
        job = replace(a_job(1), uid="")
        row = {name: value for name, value in JOB.row(job).items() if name != "uid"}
        connection = sqlite3.connect(path)
        marks = ", ".join(["?"] * len(row))
        statement = "INSERT INTO job (" + ", ".join(row) + f") VALUES ({marks})"  # noqa: S608 - our own names
        connection.execute(statement, list(row.values()))
        connection.commit()
        connection.close()
        store = SqlStore.open(path)
        with store.transaction(read_only=True) as transaction:
            assert transaction.get_job(job.id) == job
        store.close()

    def test_one_that_fails_leaves_the_database_as_it_was(self, path, tmp_path, monkeypatch):
        SqlStore.open(path).close()
        before = raw(path, "SELECT name, sql FROM sqlite_master")
        folder = tmp_path / "migrations"
        shutil.copytree(Path(upgrade.__file__).with_name("migrations"), folder)
        head = max((folder / "versions").glob("v*.py")).name[1:5]
        (folder / "versions" / "v9999_broken.py").write_text(BROKEN.replace("HEAD", head))
        monkeypatch.setattr(upgrade, "_FOLDER", folder)
        with pytest.raises(RuntimeError, match="broken"):
            SqlStore.open(path)
        monkeypatch.undo()
        assert raw(path, "SELECT name, sql FROM sqlite_master") == before
        SqlStore.open(path).close()
