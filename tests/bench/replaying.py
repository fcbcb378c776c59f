"""A real job log through ``fairgate simulate --trace``, in a process of its own, from its file to its report."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil


def philly(trace: Path) -> dict[str, Any]:
    """A log in the format of Microsoft's Philly clusters, under quotas that are derived from it."""
    command = [sys.executable, "-m", "fairgate", "simulate", "--trace", str(trace), "--format", "philly", "--json"]
    began_s, before_s = time.monotonic(), _cpu_s()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    wall_s, used_s = time.monotonic() - began_s, _cpu_s() - before_s
    report = json.loads(done.stdout)
    return {"jobs": report["jobs"], "wall_s": round(wall_s, 1), "cpu_s": round(used_s, 1)}


def _cpu_s() -> float:
    times = psutil.Process().cpu_times()
    return float(times.children_user + times.children_system)
