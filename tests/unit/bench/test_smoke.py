"""Every benchmark runs, on a load so small that its figures mean nothing: the harness can not rot unseen."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.parametrize(
    ("names", "count"),
    [(["kueue/unary", "large/decisions", "cycle"], 4), (["submit/bulk", "recovery"], 2), (["gate"], 2)],
    ids=["loads", "submits", "gate"],
)
def test_the_benchmarks_run(tmp_path: Path, names: list[str], count: int) -> None:
    out = tmp_path / "bench.json"
    command = [sys.executable, str(BENCH), "--tiny", "--longest", "60", "--out", str(out), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(out.read_text())["results"]
    assert len(results) == count
    assert all(result["bench"] in done.stdout for result in results)
    assert results[0].keys() & {"jobs", "reviews"}


def test_a_benchmark_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH), "--out", str(tmp_path / "bench.json"), "no-such"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 1
    assert "there are: kueue/unary" in done.stderr
