from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.service.guard import write_each
from fairgate_scheduler.service.query import get_job


def prioritise(rig, names, refused=()):
    """Give each job another priority, refusing some, and say how many transactions wrote."""
    commits = rig.app.changes.count

    def write(writing, job, name):
        if name in refused:
            raise ValueError(name)
        writing.write(lifecycle.update(job, 1, 7))

    write_each(rig.app, names, lambda name: name, write, "a new priority")
    return rig.app.changes.count - commits


def test_all_are_written_in_one_transaction(rig):
    names = [rig.submit(f"train{number}").job.id for number in range(3)]
    assert prioritise(rig, names) == 1
    assert [get_job(rig.app, name).job.priority for name in names] == [7, 7, 7]


def test_one_that_can_not_be_written_holds_up_no_other(rig, caplog):
    names = [rig.submit(f"train{number}").job.id for number in range(3)]
    assert prioritise(rig, names, refused=names[1:2]) == 2
    assert [get_job(rig.app, name).job.priority for name in names] == [7, 0, 7]
    assert [each.getMessage() for each in caplog.records] == [
        "a new priority together failed; doing it one by one",
        f"a new priority of {names[1]} failed; it is tried again",
    ]


def test_what_is_not_there_is_skipped(rig):
    name = rig.submit().job.id
    assert prioritise(rig, ["tenants/a/jobs/none", name]) == 1
    assert get_job(rig.app, name).job.priority == 7


def test_nothing_to_write_is_no_transaction(rig):
    assert prioritise(rig, []) == 0
