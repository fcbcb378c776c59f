"""Slurm's accounting: every form of row, and each that is no job is named by its line."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from fairgate_scheduler.documents.problems import DocumentError
from fairgate_scheduler.replay.readers import read_trace

HEADER = "JobID|User|Account|Partition|Submit|Start|End|Elapsed|Timelimit|State|ReqTRES|AllocTRES"
TRES = "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1"
MINUTE = 60_000


def row(**changes: str) -> str:
    cells = {
        "JobID": "100",
        "User": "ann",
        "Account": "nlp",
        "Partition": "gpu",
        "Submit": "2024-01-15T10:00:00",
        "Start": "2024-01-15T10:05:00",
        "End": "2024-01-15T11:05:00",
        "Elapsed": "01:00:00",
        "Timelimit": "02:00:00",
        "State": "COMPLETED",
        "ReqTRES": TRES,
        "AllocTRES": TRES,
    }
    return "|".join((cells | changes).values())


def read(*rows: str, header: str = HEADER, zone=UTC):
    return read_trace("\n".join([header, *rows]) + "\n", "slurm", "log.txt", zone)


def job(**changes: str):
    (only,) = read(row(**changes)).jobs
    return only


def test_a_job_is_read_whole():
    it = job()
    assert (it.id, it.line, it.tenant, it.accelerators, it.flavors) == ("100", 2, "nlp", 2, ("a100",))
    assert (it.submitted_at_ms, it.waited_ms, it.run_ms) == (1_705_312_800_000, 5 * MINUTE, 60 * MINUTE)
    assert (it.time_limit_ms, it.cpu, it.memory) == (120 * MINUTE, 8000, 64 * 2**30)


@pytest.mark.parametrize(
    ("changes", "attribute", "expected"),
    [
        ({"Account": ""}, "tenant", "ann"),
        ({"Elapsed": "3-02:01:00"}, "run_ms", (3 * 1440 + 121) * MINUTE),
        ({"Elapsed": "05:30"}, "run_ms", 330_000),
        ({"Elapsed": "00:00:00"}, "run_ms", 1000),
        ({"Elapsed": ""}, "run_ms", 60 * MINUTE),
        ({"Timelimit": "UNLIMITED"}, "time_limit_ms", None),
        ({"Timelimit": "Partition_Limit"}, "time_limit_ms", None),
        ({"Timelimit": "1-00:00:00"}, "time_limit_ms", 1440 * MINUTE),
        ({"AllocTRES": "cpu=4,gres/gpu=4,mem=100M"}, "accelerators", 4),
        ({"AllocTRES": "cpu=4,gres/gpu=4,mem=100M"}, "flavors", ()),
        ({"AllocTRES": "cpu=4,gres/gpu=4,mem=100M"}, "memory", 100 * 2**20),
        ({"AllocTRES": "gres/gpu:h100=8,gres/gpumem=80G,gres/gpuutil=97"}, "accelerators", 8),
        ({"AllocTRES": ""}, "accelerators", 2),
        ({"State": "CANCELLED by 1000"}, "run_ms", 60 * MINUTE),
        ({"State": "CANCELLED+"}, "run_ms", 60 * MINUTE),
        ({"State": "OUT_OF_ME+"}, "run_ms", 60 * MINUTE),
        ({"JobID": "100_7"}, "id", "100_7"),
        ({"JobID": "100+1"}, "id", "100+1"),
        ({"Submit": "1705312800"}, "submitted_at_ms", 1_705_312_800_000),
        ({"Submit": "2024-01-15T10:00:00+0100"}, "submitted_at_ms", 1_705_309_200_000),
        ({"Submit": "2024-01-15T10:00:00Z"}, "submitted_at_ms", 1_705_312_800_000),
        ({"Submit": "2024-01-15T10:05:01"}, "waited_ms", None),
    ],
)
def test_a_value_is_read_in_each_of_its_forms(changes, attribute, expected):
    assert getattr(job(**changes), attribute) == expected


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"JobID": "100.batch"}, "of steps"),
        ({"JobID": "100_7.extern"}, "of steps"),
        ({"JobID": "100+0.0"}, "of steps"),
        ({"JobID": "100_[8-20%4]", "State": "PENDING", "Start": "Unknown"}, "that never started"),
        ({"State": "PENDING", "Start": "Unknown", "End": "Unknown"}, "that never started"),
        ({"State": "CANCELLED by 7", "Start": "None"}, "that never started"),
        ({"State": "CANCELLED by 7", "Elapsed": "00:00:00", "AllocTRES": ""}, "that never started"),
        ({"AllocTRES": "billing=4,cpu=4,mem=8G,node=1"}, "without an accelerator"),
    ],
)
def test_a_row_that_is_no_job_is_left_out_with_its_line(changes, why):
    assert read(row(JobID="1"), row(**changes)).left_out == {why: (3,)}


@pytest.mark.parametrize(
    ("changes", "column", "message"),
    [
        ({"JobID": "abc"}, "JobID", "'abc' is not the id of a job"),
        ({"State": "COMPLETE"}, "State", "'COMPLETE' is not a state of a job"),
        ({"Elapsed": "an hour"}, "Elapsed", "'an hour' is not a duration"),
        ({"Submit": "yesterday"}, "Submit", "'yesterday' is not an instant"),
        ({"Submit": "2024-02-30T10:00:00"}, "Submit", "'2024-02-30T10:00:00' is not an instant"),
        ({"Account": "", "User": ""}, "Account", "neither an account nor a user"),
        ({"AllocTRES": "gres/gpu"}, "AllocTRES", "'gres/gpu' is not name=amount"),
        ({"AllocTRES": "gres/gpu=x"}, "AllocTRES", "'x' is not a number of 0 or more"),
        ({"AllocTRES": "gres/gpu=1,mem=4Q"}, "AllocTRES", "'4Q' is not an amount of memory"),
        ({"AllocTRES": "gres/gpu:a100=1,gres/gpu:v100=1"}, "AllocTRES", "several kinds at once: a100, v100"),
        ({"Elapsed": "", "End": "Unknown"}, "End", "no end, and no time that has elapsed"),
        ({"Elapsed": "", "End": "2024-01-15T09:00:00"}, "End", "it ends before it starts"),
    ],
)
def test_a_row_that_can_not_be_read_is_a_problem_with_line_and_column(changes, column, message):
    trace = read(row(JobID="1"), row(**changes))
    assert [(each.file, each.line, each.path, each.message) for each in trace.problems] == [
        ("log.txt", 3, column, message)
    ]
    assert len(trace.jobs) == 1


def test_a_cut_or_split_row_is_a_problem_and_a_job_counts_once():
    trace = read(row(), row()[:40], "", row(JobID="101") + "|x|y", row())
    assert [(each.line, each.message) for each in trace.problems] == [
        (3, "6 cells where the first line has 12"),
        (5, "14 cells where the first line has 12"),
        (6, "100 is in line 2 already"),
    ]


def test_what_still_runs_and_parts_of_jobs_are_noted():
    trace = read(row(State="RUNNING", End="Unknown"), row(JobID="7+0"), row(JobID="8", Submit="2024-01-15T10:06:00"))
    assert sorted(count for count in trace.notes.values() if count) == [1, 1, 1]
    assert len(trace.jobs) == 3


def test_the_closing_delimiter_of_the_other_parsable_form_is_no_cell():
    assert len(read(row() + "|", header=HEADER + "|").jobs) == 1


def test_local_time_follows_the_clocks_of_its_zone():
    berlin = ZoneInfo("Europe/Berlin")
    before, after = ("2024-03-31T01:59:59", "2024-03-31T03:00:00")  # the clocks go forward in between
    jobs = read(row(JobID="1", Submit=before), row(JobID="2", Submit=after), zone=berlin).jobs
    assert jobs[1].submitted_at_ms - jobs[0].submitted_at_ms == 1000
    naive = read(row(JobID="1", Submit=before), row(JobID="2", Submit=after)).jobs
    assert naive[1].submitted_at_ms - naive[0].submitted_at_ms == 3_601_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the log is empty"),
        ("\n \n", "the log is empty"),
        (row() + "\n", "no column JobID; Account or User; Submit; Elapsed or End; Start; State; AllocTRES or ReqTRES"),
        (HEADER, "no job in it that can be replayed"),
        (HEADER + "\n" + row(JobID="1.batch"), "no job in it that can be replayed"),
    ],
)
def test_a_file_without_jobs_is_refused(text, message):
    with pytest.raises(DocumentError) as refused:
        read_trace(text, "slurm", "log.txt", UTC)
    assert refused.value.problems[-1].message == message
