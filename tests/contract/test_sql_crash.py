"""SIGKILL at any moment leaves all of a transaction or nothing, and everything that was committed."""

import itertools
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("crash_loop.py")
ROUNDS = 20
SEED = 7


def test_a_killed_writer_leaves_whole_transactions(tmp_path):
    command = [sys.executable, str(PROGRAM), str(tmp_path / "fairgate.db"), str(ROUNDS), str(SEED)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert ended.returncode == 0, ended.stderr
    jobs = [int(line) for line in ended.stdout.split()]
    assert len(jobs) == ROUNDS
    assert all(before < after for before, after in itertools.pairwise(jobs)), jobs
