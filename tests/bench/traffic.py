"""The callers of a benchmark, in a process of their own: they submit a load on its schedule and tell how that went.

``python traffic.py`` reads a ``Traffic`` as JSON from its input and prints a ``Report`` as JSON.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from fairgate import Client, FairgateError, Submission
from shapes import Arrival, JobClass, Shape, manifest

BULK_MS: Final = 100
"""How often what has become due is sent, in bulk mode."""


@dataclass(frozen=True)
class Traffic:
    """Who submits what where. ``callers`` 0: one caller, in bulk. ``is_paced``: by the schedule, else at full speed."""

    address: str
    token_file: str
    shape: Shape
    callers: int = 0
    is_paced: bool = True


@dataclass(frozen=True)
class Report:
    """``late_ms``: how long after its due time each call began. ``call_ms``: how long it took. Sorted, both."""

    jobs: int
    wall_s: float
    cpu_s: float
    late_ms: list[float]
    call_ms: list[float]


def start(traffic: Traffic) -> "subprocess.Popen[bytes]":
    """Begin, in another process."""
    command = [sys.executable, __file__]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(traffic)).encode())
    process.stdin.close()
    return process


def finish(process: "subprocess.Popen[bytes]") -> Report:
    """Wait for the end."""
    assert process.stdout is not None
    out = process.stdout.read()
    assert process.wait() == 0, "the callers failed"
    return Report(**json.loads(out))


class _Callers:
    def __init__(self, client: Client, traffic: Traffic) -> None:
        self._client = client
        self._traffic = traffic
        self._turn = threading.Lock()
        self._arrivals = traffic.shape.arrivals()
        self._begin = time.monotonic()
        self.late_ms: list[float] = []
        self.call_ms: list[float] = []

    def call_one_by_one(self) -> None:
        while True:
            with self._turn:
                arrival = next(self._arrivals, None)
            if arrival is None:
                return
            began = self._wait(arrival.due_ms)
            self._client.submit(**submission(arrival))
            self._note(began)

    def call_in_bulk(self) -> None:
        for due_ms, arrivals in self._bulks():
            began = self._wait(due_ms)
            answers = self._client.submit_many(Submission(**submission(each)) for each in arrivals)
            for answer in answers:
                if isinstance(answer, FairgateError):
                    raise answer
            self._note(began)

    def _bulks(self) -> Iterator[tuple[int, list[Arrival]]]:
        due_ms, bulk = BULK_MS, list[Arrival]()
        for arrival in self._arrivals:
            while arrival.due_ms > due_ms:
                if bulk:
                    yield due_ms, bulk
                due_ms, bulk = due_ms + BULK_MS, []
            bulk.append(arrival)
        yield due_ms, bulk

    def _wait(self, due_ms: int) -> float:
        now_s = time.monotonic()
        if self._traffic.is_paced:
            wait_s = self._begin + due_ms / 1000 - now_s
            self.late_ms.append(max(-wait_s, 0) * 1000)
            if wait_s > 0:
                time.sleep(wait_s)
        return time.monotonic()

    def _note(self, began_s: float) -> None:
        self.call_ms.append((time.monotonic() - began_s) * 1000)


def submission(arrival: Arrival) -> dict[str, Any]:
    """What is submitted of one job of the load."""
    return {
        "manifest": manifest(arrival.kind),
        "tenant": arrival.tenant,
        "priority": arrival.kind.priority,
        "time_limit": "1h",
    }


def _main() -> None:
    plain = json.load(sys.stdin)
    shape = plain.pop("shape")
    shape["classes"] = tuple(JobClass(**each) for each in shape["classes"])
    traffic = Traffic(**plain, shape=Shape(**shape))
    began = time.monotonic()
    with Client(traffic.address, token_file=Path(traffic.token_file), timeout_s=120) as client:
        callers = _Callers(client, traffic)
        if traffic.callers:
            with ThreadPoolExecutor(traffic.callers) as threads:
                for each in [threads.submit(callers.call_one_by_one) for _ in range(traffic.callers)]:
                    each.result()
        else:
            callers.call_in_bulk()
    report = Report(
        traffic.shape.jobs,
        time.monotonic() - began,
        time.process_time(),
        sorted(callers.late_ms),
        sorted(callers.call_ms),
    )
    json.dump(asdict(report), sys.stdout)


if __name__ == "__main__":
    _main()
