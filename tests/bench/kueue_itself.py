"""Kueue's own scheduler performance test, run as its makefile does, so that its figures are of the same machine.

Its runner starts an API server with etcd and Kueue's scheduler alone ("minimal kueue"), makes the workloads of the same
load as ``shapes.BASELINE``, and marks each as finished when its time is over; there are no pods.
"""

import contextlib
import csv
import os
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import psutil
import yaml
from endtoend import waits
from rig.build import build, module_folder
from shapes import Shape

_LOG_LINES: Final = 15


class KueueError(Exception):
    """Kueue's runner failed."""


def run(shape: Shape, folder: Path, longest_s: float) -> dict[str, Any]:
    """Build what is missing, and run it. Raises KueueError if it fails, RigError if it can not be built."""
    programs = build("kueue-perf-runner", "kueue-minimal", "etcd", "kube-apiserver")
    source = module_folder("kueue", "sigs.k8s.io/kueue")
    scheduler, load = programs["kueue-minimal"], folder / "generator.yaml"
    load.write_text(yaml.safe_dump(generator(shape)))
    _run(
        [
            str(programs["kueue-perf-runner"]),
            f"--o={folder}",
            f"--crds={source / 'config' / 'components' / 'crd' / 'bases'}",
            f"--generatorConfig={load}",
            f"--minimalKueue={scheduler}",
            f"--timeout={longest_s:.0f}s",
        ],
        folder,
        # It stops its API server only when all went well, and keeps that one's files where temporary files go.
        {"PROJECT_DIR": str(source), "KUBEBUILDER_ASSETS": str(scheduler.parent), "TMPDIR": str(folder)},
        source,
    )
    return _figures(shape, folder, scheduler.name)


def generator(shape: Shape) -> dict[str, Any]:
    """The load, as Kueue's generator is told."""
    sets = [
        {
            "count": kind.count,
            "creationIntervalMs": kind.every_ms,
            "workloads": [
                {
                    "className": kind.name,
                    "runtimeMs": kind.run_ms,
                    "priority": kind.priority,
                    "request": str(kind.cpus),
                }
            ],
        }
        for kind in shape.classes
    ]
    queues = {
        "className": "cq",
        "count": shape.tenants,
        "nominalQuota": str(shape.nominal),
        "borrowingLimit": str(shape.borrowing_limit),
        "reclaimWithinCohort": "Any",
        "withinClusterQueue": "LowerPriority",
        "workloadsSets": sets,
    }
    return {"cohorts": [{"className": "cohort", "count": shape.cohorts, "queuesSets": [queues]}]}


def _run(command: list[str], folder: Path, settings: dict[str, str], working: Path) -> None:
    log = folder / "runner.log"
    with log.open("wb") as out:
        runner = subprocess.Popen(
            command,
            cwd=working,
            env=os.environ | settings,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        failed = runner.wait()
    finally:
        _end_session(runner)
    if failed:
        last = log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        raise KueueError(f"Kueue's runner ended with {failed}:\n" + "\n".join(line[:300] for line in last))


def _end_session(runner: "subprocess.Popen[bytes]") -> None:
    """What it started has process groups of its own, but stays in its session."""
    left = list(_session(runner.pid))
    for each in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.send_signal(signal.SIGKILL)
    psutil.wait_procs(left, timeout=30)
    runner.wait()


def _session(leader: int) -> Iterator[psutil.Process]:
    for each in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getsid(each.pid) == leader:
                yield each


def _figures(shape: Shape, folder: Path, scheduler: str) -> dict[str, Any]:
    summary = yaml.safe_load((folder / "summary.yaml").read_text())
    process = yaml.safe_load((folder / f"{scheduler}.stats.yaml").read_text())
    queues = summary["clusterQueueClasses"]["cq"]
    first, last = (datetime.fromisoformat(queues[f"{end}EventTime"]) for end in ("first", "last"))
    done, waits_ms = _workloads(folder / "wlStates.csv")
    if done != shape.jobs:
        raise KueueError(f"{done} of {shape.jobs} workloads have finished")
    wall_s = (last - first).total_seconds()
    figures = {
        "jobs": shape.jobs,
        "wall_s": round(wall_s, 1),
        "wall_as_published_s": round(process["wallMs"] / 1000, 1),
        "ideal_s": round(shape.ideal_s, 1),
        "usage_percent": round(100 * shape.ideal_s / wall_s, 1),
        "usage_as_published_percent": round(100 * queues["cpuAverageUsage"] / queues["nominalQuota"], 1),
        "evictions": sum(each["totalEvictions"] for each in summary["workloadClasses"].values()),
    }
    for kind in shape.classes:
        figures |= waits(f"last_wait_{kind.name}", waits_ms[kind.name])
    return figures | {
        "server_cpu_s": round((process["userMs"] + process["sysMs"]) / 1000, 1),
        "server_memory_mb": round(process["maxrss"] * 1024 / 1e6),
    }


def _workloads(path: Path) -> tuple[int, dict[str, list[int]]]:
    """How many have finished, and by class how long each waited for its last admission."""
    done, waits_ms = 0, defaultdict[str, list[int]](list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            done += int(row["ms to finish"]) > 0
            waits_ms[row["class name"]].append(int(row["ms to admitted"]))
    return done, waits_ms
