"""The comma-separated logs: virtual clusters, and pods with lists of accelerators."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from fairgate_scheduler.documents.problems import DocumentError
from fairgate_scheduler.replay.readers import read_trace

PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)


def philly(rows: str, zone=UTC):
    return read_trace(PHILLY + rows, "philly", "philly.csv", zone)


def openb(rows: str):
    return read_trace(OPENB + rows, "openb", "pods.csv", UTC)


def test_jobs_of_virtual_clusters_come_in_the_order_of_their_submits():
    trace = philly("2017-10-09 07:01:55,66.0,8,528.0,vc2\n2017-10-09 06:00:00,30.5,1.0,30.5,vc1\n")
    assert [(job.id, job.tenant, job.accelerators, job.run_ms) for job in trace.jobs] == [
        ("line-3", "vc1", 1, 30_500),
        ("line-2", "vc2", 8, 66_000),
    ]
    assert trace.jobs[0].submitted_at_ms == 1_507_528_800_000
    assert philly("2017-10-09 06:00:00,1,1,1,vc1\n", ZoneInfo("America/Los_Angeles")).jobs[0].submitted_at_ms == (
        1_507_528_800_000 + 7 * 3_600_000
    )


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ("2017-10-09 06:00:00,x,1,1,vc1", "duration", "'x' is not a number of 0 or more"),
        ("2017-10-09 06:00:00,nan,1,1,vc1", "duration", "'nan' is not a number of 0 or more"),
        ("2017-10-09 06:00:00,0,1,0,vc1", "duration", "the job took no time at all"),
        ("2017-10-09 06:00:00,99999999999,1,0,vc1", "duration", "'99999999999' seconds are more than a hundred years"),
        ("2017-10-09 06:00:00,5,-1,1,vc1", "num_gpus", "'-1' is not a number of 0 or more"),
        ("2017-10-09 06:00:00,5,1.5,1,vc1", "num_gpus", "'1.5' is not a whole number"),
        ("09.10.2017 06:00,5,1,1,vc1", "timestamp", "'09.10.2017 06:00' is not an instant"),
        ("2017-10-09 06:00:00,5,1,1, ", "cluster", "no virtual cluster"),
        ("2017-10-09 06:00:00,5,1", "", "3 cells where the first line has 5"),
    ],
)
def test_a_row_that_can_not_be_read_is_a_problem_with_line_and_column(row, column, message):
    trace = philly(f"2017-10-09 06:00:00,5,1,1,vc1\n{row}\n")
    assert [(each.line, each.path, each.message) for each in trace.problems] == [(3, column, message)]
    assert len(trace.jobs) == 1


def test_lines_are_counted_over_blank_ones_and_quoted_line_ends():
    trace = philly('\n"2017-10-09 06:00:00",5,1,1,"vc\n1"\n2017-10-09 06:00:00,5,0,1,vc1\nx\n')
    assert [job.line for job in trace.jobs] == [3]
    assert trace.left_out == {"without an accelerator": (5,)}
    assert [each.line for each in trace.problems] == [6]


def test_pods_carry_their_options_and_what_they_waited():
    trace = openb(
        "p0,12000,16384,1,460,T4|V100M16|T4,LS,Running,100,500,160\n"
        "p1,6000,12288,8,1000,,BE,Failed,100,100,100\n"
        "p2,6000,12288,0,0,,BE,Running,100,500,160\n"
        "p3,6000,12288,1,1000,,BE,Pending,100,500,\n"
        "p4,6000,12288,1,1000,,BE,Running,100,90,95\n"
    )
    first, second = trace.jobs
    assert (first.flavors, first.tenant, first.waited_ms, first.run_ms) == (("T4", "V100M16"), "LS", 60_000, 340_000)
    assert (first.cpu, first.memory) == (12000, 16 * 2**30)
    assert (second.flavors, second.accelerators, second.run_ms) == ((), 8, 1000)
    assert trace.left_out == {"without an accelerator": (4,), "never scheduled": (5,)}
    assert [(each.line, each.path) for each in trace.problems] == [(6, "scheduled_time")]
    assert dict(trace.notes) == {"with a part of a device: counted as a whole one": 1}


def test_a_log_of_another_format_is_told_what_it_lacks():
    with pytest.raises(DocumentError) as refused:
        read_trace(OPENB, "philly", "pods.csv", UTC)
    assert "no column timestamp; duration; num_gpus; cluster" in str(refused.value)
