"""The formats of job logs, and the two plain ones. Text comes in; nothing that is in it gets lost without a word."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Final

from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.replay.rows import Cells, LeftOut, Table, read_rows
from fairgate_scheduler.replay.slurm import read_slurm
from fairgate_scheduler.replay.trace import Trace, TraceJob
from fairgate_scheduler.replay.values import Malformed, instant, number, seconds, whole

NO_ACCELERATOR: Final = "without an accelerator"
SHARED: Final = "with a part of a device: counted as a whole one"


def read_trace(text: str, log_format: str, file: str, zone: tzinfo) -> Trace:
    """The jobs of a log. ``zone``: of instants that are written without an offset.

    Raises:
        DocumentError: it is not a log of this format, or has no job that can be replayed.
    """
    return FORMATS[log_format](text, file, zone)


def read_philly(text: str, file: str, zone: tzinfo) -> Trace:
    """Jobs of virtual clusters: ``timestamp, duration, num_gpus, cluster``. The virtual cluster is the tenant."""
    table = Table(text, ",", file)
    table.require(["timestamp"], ["duration"], ["num_gpus"], ["cluster"])

    def read(cells: Cells, line: int) -> TraceJob:
        tenant = cells["cluster"].strip()
        if not tenant:
            raise Malformed("cluster", "no virtual cluster", "write the name of one")
        gpus = whole("num_gpus", cells["num_gpus"])
        if not gpus:
            raise LeftOut(NO_ACCELERATOR)
        begin_ms = instant("timestamp", cells["timestamp"], zone)
        run_ms = _positive("duration", seconds("duration", cells["duration"]))
        return TraceJob(f"line-{line}", line, tenant, begin_ms, run_ms, gpus)

    return read_rows(table, "philly", read, {})


def read_openb(text: str, file: str, _zone: tzinfo) -> Trace:
    """Pods of a cluster with several kinds of accelerators: ``gpu_spec`` lists those that a pod may use.

    The class of service (``qos``) is the tenant. Instants are seconds from the begin of the log.
    """
    table = Table(text, ",", file)
    names = ("name", "num_gpu", "gpu_spec", "qos", "creation_time", "deletion_time", "scheduled_time")
    table.require(*([name] for name in names))
    notes: Counter[str] = Counter()

    def read(cells: Cells, line: int) -> TraceJob:
        if not cells["scheduled_time"].strip():
            raise LeftOut("never scheduled")
        gpus = whole("num_gpu", cells["num_gpu"])
        if not gpus:
            raise LeftOut(NO_ACCELERATOR)
        submit_ms, start_ms, end_ms = (
            seconds(name, cells[name]) for name in ("creation_time", "scheduled_time", "deletion_time")
        )
        if not submit_ms <= start_ms <= end_ms:
            raise Malformed("scheduled_time", "not between creation and deletion", "check the three instants")
        if cells.get("gpu_milli", "1000").strip() not in ("1000", ""):
            notes[SHARED] += 1
        return TraceJob(
            cells["name"],
            line,
            cells["qos"].strip() or "none",
            submit_ms,
            max(end_ms - start_ms, 1000),
            gpus,
            tuple(dict.fromkeys(filter(None, (each.strip() for each in cells["gpu_spec"].split("|"))))),
            whole("cpu_milli", cells.get("cpu_milli") or "0"),
            min(UNLIMITED, int(number("memory_mib", cells.get("memory_mib") or "0") * 2**20)),
            waited_ms=start_ms - submit_ms,
        )

    return read_rows(table, "openb", read, notes)


def _positive(column: str, value_ms: int) -> int:
    if not value_ms:
        raise Malformed(column, "the job took no time at all", "write more than 0")
    return value_ms


FORMATS: Final[Mapping[str, Callable[[str, str, tzinfo], Trace]]] = {
    "philly": read_philly,
    "openb": read_openb,
    "slurm": read_slurm,
}
"""By name, what reads a log of that format."""
