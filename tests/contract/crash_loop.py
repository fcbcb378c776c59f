"""A program, run by test_sql_crash: kill a process that writes, look at what is left, and again on the same database.

Everything that is looked at is read with plain SQL, so that a mistake of the store can not hide itself.
"""

import os
import random
import signal
import sqlite3
import struct
import sys
import time
from itertools import count

from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.lifecycle import EventKind
from fairgate_scheduler.ports import RequestRecord
from fairgate_scheduler.testing.records import a_job, a_submission, an_event

BATCH = 3
WARM = 3  # transactions of a new process that are slow, so that a kill would hardly hit anything but waiting
NUMBER = struct.Struct("<q")

MUST_BE_EMPTY = {
    "a broken reference": "PRAGMA foreign_key_check",
    "a job without its submission": "SELECT id FROM job WHERE id NOT IN (SELECT job FROM submission)",
    "a job without its request id": "SELECT id FROM job WHERE id NOT IN (SELECT job FROM request)",
    "a request id without its job": "SELECT job FROM request WHERE job NOT IN (SELECT id FROM job)",
    "a job whose events do not tell its version": """
        SELECT id, version FROM job WHERE version <> (SELECT count(*) FROM event WHERE event.job = job.id)""",
    "a job in a state without what belongs to it": """
        SELECT id, state, attempts FROM job
        WHERE (SELECT count(*) FROM attempt WHERE attempt.job = job.id AND attempt.state = 'LAUNCHED') <> attempts
           OR (SELECT count(*) FROM effect WHERE effect.job = job.id) <> attempts
           OR attempts <> (CASE state WHEN 'PENDING' THEN 0 WHEN 'ADMITTED' THEN 1 ELSE -1 END)""",
    "half of a batch": f"SELECT count(*) FROM job HAVING count(*) % {BATCH} <> 0",  # noqa: S608 - a constant
    "a gap in the events": "SELECT count(*), max(sequence) FROM event HAVING count(*) <> coalesce(max(sequence), 0)",
    "a counter that does not fit": """
        SELECT name, value FROM counter WHERE value <>
            CASE name WHEN '@event' THEN (SELECT count(*) FROM event) ELSE (SELECT count(*) FROM job) END""",
}


def write_for_ever(path: str, done: int) -> None:
    """Submit jobs, then admit and launch them; tell how many are there after each transaction."""
    store = SqlStore.open(path)
    for at_ms in count():
        jobs = []
        with store.transaction() as transaction:
            for _ in range(BATCH):
                number = transaction.next_number("sequence")
                job = a_job(number)
                transaction.insert_job(job, a_submission())
                transaction.add_event(job.tenant, an_event(job, EventKind.SUBMITTED))
                transaction.put_request(RequestRecord(job.tenant, f"r-{number}", "d", job.id, at_ms))
                jobs.append(job)
        os.write(done, NUMBER.pack(jobs[-1].sequence))
        with store.transaction() as transaction:
            for job in jobs:
                admitted = lifecycle.admit(job, 0, job.sequence, at_ms)
                launched = lifecycle.launch(admitted.job, admitted.attempts[0], at_ms)
                for change in (admitted, launched):
                    transaction.update_job(change.job)
                    for attempt in change.attempts:
                        transaction.put_attempt(attempt)
                    for event in change.events:
                        transaction.add_event(job.tenant, event)
                    for effect in change.effects:
                        transaction.add_effect(effect)


def kill_a_writer(path: str, after_s: float) -> int:
    """Let a process write for some time, kill it, and return the last job number that it said was committed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            write_for_ever(path, writing)
        finally:
            os._exit(1)
    os.close(writing)
    told = b""
    while len(told) < WARM * NUMBER.size:
        got = os.read(reading, NUMBER.size)
        assert got, "the writer ended by itself"
        told += got
    time.sleep(after_s)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"the writer ended by itself: {status}"
    while more := os.read(reading, 2**16):
        told += more
    os.close(reading)
    return NUMBER.unpack(told[-NUMBER.size :])[0]


def look(path: str, told: int) -> int:
    """Assert that everything belongs together and nothing that was told is missing; return the number of jobs."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    for what, question in MUST_BE_EMPTY.items():
        found = connection.execute(question).fetchall()
        assert not found, f"{what}: {found[:5]}"
    (jobs,) = connection.execute("SELECT count(*) FROM job").fetchone()
    connection.close()
    assert jobs >= told, f"{told} jobs were committed, {jobs} are there"
    return int(jobs)


def main(path: str, rounds: int, seed: int) -> None:
    """Print how many jobs are there after each round."""
    chance = random.Random(seed)
    for _ in range(rounds):
        print(look(path, kill_a_writer(path, chance.uniform(0, 0.02))))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
