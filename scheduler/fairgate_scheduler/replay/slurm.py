"""Slurm's accounting as ``sacct -P`` prints it: a header, then a line for each job, array element and step.

Columns, states and the forms of job ids are those of sacct(1).
"""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import tzinfo
from typing import Final, NamedTuple

from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.documents.problems import suggest
from fairgate_scheduler.replay.rows import Cells, LeftOut, Table, read_rows
from fairgate_scheduler.replay.trace import Trace, TraceJob
from fairgate_scheduler.replay.values import Malformed, clock_duration, instant, memory, number, whole

ENDED: Final = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}
)
GOES_ON: Final = frozenset({"COMPLETING", "RESIZING", "RUNNING", "STOPPED", "SUSPENDED"})
NOT_STARTED: Final = frozenset({"CONFIGURING", "PENDING", "REQUEUED", "REVOKED"})
STATES: Final = ENDED | GOES_ON | NOT_STARTED

STEP: Final = "of steps"
NEVER_STARTED: Final = "that never started"
NO_ACCELERATOR: Final = "without an accelerator"
STILL_RUNS: Final = "of jobs that still ran when the log was taken: replayed for as long as they had run"
COMPONENT: Final = "of parts of heterogeneous jobs: replayed as jobs of their own"
BACKWARDS: Final = "with a start before the submit, by the log's clock: the wait there is not known"

_JOB_ID: Final = re.compile(r"[0-9]+(?:_[0-9]+)?(\+[0-9]+)?")
_WAITING_ELEMENTS: Final = re.compile(r"[0-9]+_\[[0-9,:%-]*(?:\.\.\.)?\]")
_DEVICE: Final = re.compile(r"gres/(?:gpu|tpu|npu|hpu)(?::(.+))?")
_NO_INSTANT: Final = ("", "Unknown", "None", "N/A")
_NO_LIMIT: Final = ("", "UNLIMITED", "Partition_Limit")
_SHORTEST_MS: Final = 1000
"""sacct counts whole seconds: what took less than one is written as none."""


class _Resources(NamedTuple):
    accelerators: int
    flavors: tuple[str, ...]
    cpu: int
    memory: int


def read_slurm(text: str, file: str, zone: tzinfo) -> Trace:
    """The jobs that ran. The account is the tenant, or the user where there is none.

    Raises:
        DocumentError: columns are missing, or no job can be replayed.
    """
    table = Table(text, "|", file)
    table.require(
        ["JobID"], ["Account", "User"], ["Submit"], ["Elapsed", "End"], ["Start"], ["State"], ["AllocTRES", "ReqTRES"]
    )
    notes: Counter[str] = Counter()

    def read(cells: Cells, line: int) -> TraceJob:
        return _job({name: cell.strip() for name, cell in cells.items()}, line, zone, notes)

    return read_rows(table, "slurm", read, notes)


def _job(cells: Mapping[str, str], line: int, zone: tzinfo, notes: Counter[str]) -> TraceJob:
    is_component = _check_id(cells["JobID"])
    state = _state(cells["State"])
    if state in NOT_STARTED or cells["Start"] in _NO_INSTANT:
        raise LeftOut(NEVER_STARTED)
    submit_ms, start_ms = (instant(name, cells[name], zone) for name in ("Submit", "Start"))
    elapsed_ms = _elapsed(cells, start_ms, zone)
    if state == "CANCELLED" and not elapsed_ms:
        raise LeftOut(NEVER_STARTED)
    resources = _resources(cells)
    if not resources.accelerators:
        raise LeftOut(NO_ACCELERATOR)
    tenant = cells.get("Account") or cells.get("User")
    if not tenant:
        raise Malformed("Account", "neither an account nor a user", "add Account to sacct's --format")
    limit = cells.get("Timelimit", "")
    time_limit_ms = None if limit in _NO_LIMIT else clock_duration("Timelimit", limit)
    notes[COMPONENT] += is_component
    notes[STILL_RUNS] += state in GOES_ON
    notes[BACKWARDS] += start_ms < submit_ms
    return TraceJob(
        cells["JobID"],
        line,
        tenant,
        submit_ms,
        max(elapsed_ms, _SHORTEST_MS),
        *resources,
        time_limit_ms or None,
        None if start_ms < submit_ms else start_ms - submit_ms,
    )


def _check_id(job_id: str) -> bool:
    """Whether it is a part of a heterogeneous job."""
    if "." in job_id and "[" not in job_id:
        raise LeftOut(STEP)
    if _WAITING_ELEMENTS.fullmatch(job_id):
        raise LeftOut(NEVER_STARTED)
    match = _JOB_ID.fullmatch(job_id)
    if match is None:
        raise Malformed("JobID", f"{job_id!r} is not the id of a job", "expected 123, 123_4, 123+1 or 123.batch")
    return match[1] is not None


def _state(text: str) -> str:
    """``CANCELLED by 1000`` is ``CANCELLED``; a column that was too narrow ends in ``+``."""
    word = text.partition(" ")[0]
    if word.endswith("+"):
        word = next((state for state in sorted(STATES) if state.startswith(word[:-1])), word)
    if word not in STATES:
        raise Malformed("State", f"{text!r} is not a state of a job", suggest(word, sorted(STATES)))
    return word


def _elapsed(cells: Mapping[str, str], start_ms: int, zone: tzinfo) -> int:
    if cells.get("Elapsed"):
        return clock_duration("Elapsed", cells["Elapsed"])
    end = cells.get("End", "")
    if end in _NO_INSTANT:
        raise Malformed("End", "no end, and no time that has elapsed", "add Elapsed to sacct's --format")
    end_ms = instant("End", end, zone)
    if end_ms < start_ms:
        raise Malformed("End", "it ends before it starts", "add Elapsed to sacct's --format")
    return end_ms - start_ms


def _resources(cells: Mapping[str, str]) -> _Resources:
    """What the job got, or else what it asked for. Of ``gres/gpu=4,gres/gpu:a100=4`` the second tells the kind."""
    column = "AllocTRES" if cells.get("AllocTRES") else "ReqTRES"
    untyped, typed, cpu, memory_bytes = 0, dict[str, int](), 0, 0
    for item in filter(None, cells.get(column, "").split(",")):
        name, is_given, amount = item.partition("=")
        if not is_given:
            raise Malformed(column, f"{item!r} is not name=amount", "expected what sacct prints, such as cpu=8,mem=64G")
        device = _DEVICE.fullmatch(name)
        if device is not None and device[1]:
            typed[device[1]] = typed.get(device[1], 0) + whole(column, amount)
        elif device is not None:
            untyped += whole(column, amount)
        elif name == "cpu":
            cpu = int(number(column, amount) * 1000)
        elif name == "mem":
            memory_bytes = min(UNLIMITED, memory(column, amount))
    kinds = tuple(kind for kind, count in typed.items() if count)
    if len(kinds) > 1:
        raise Malformed(column, f"several kinds at once: {', '.join(kinds)}", "such a job can not be replayed")
    return _Resources(max(untyped, sum(typed.values())), kinds, cpu, memory_bytes)
