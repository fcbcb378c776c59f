"""The world in memory is what the store says, whatever goes wrong."""

from contextlib import contextmanager

import pytest
from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.ports import StaleVersionError
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.errors import NotFound
from fairgate_scheduler.service.world import World
from fairgate_scheduler.testing.builders import job, option, submission


class BrokenDisk:
    """A store whose next commit fails: before it is made, or after."""

    def __init__(self, store):
        self.store = store
        self.fails = ""

    @contextmanager
    def transaction(self, *, read_only=False):
        with self.store.transaction(read_only=read_only) as transaction:
            yield transaction
            if self.fails == "before" and not read_only:
                self.fails = ""
                raise OSError("disk full")
        if self.fails == "after" and not read_only:
            self.fails = ""
            raise OSError("who knows")


def _mirrors(app):
    with app.store.transaction(read_only=True) as transaction:
        stored = World.load(transaction)
    with app.world() as world:
        return (world.jobs, world.attempts, world.version) == (stored.jobs, stored.attempts, stored.version)


def test_the_world_follows_every_commit(rig):
    assert rig.app.snapshot().pending == ()
    name = rig.submit().job.id
    assert [each.id for each in rig.app.snapshot().pending] == [name]
    rig.run_until(name, "RUNNING")
    assert [each.job.id for each in rig.app.snapshot().running] == [name]
    assert _mirrors(rig.app)
    rig.run_until(name, "SUCCEEDED")
    assert (rig.app.snapshot().running, rig.app.snapshot().pending) == ((), ())
    assert _mirrors(rig.app)


def test_a_snapshot_is_the_same_until_something_changes(rig):
    rig.submit("one")
    first = rig.app.snapshot()
    assert rig.app.snapshot() is first
    rig.submit("two")
    assert rig.app.snapshot() is not first


@pytest.mark.parametrize(("fails", "is_there"), [("before", False), ("after", True)])
def test_after_a_commit_of_which_nobody_knows_the_store_is_asked(rig, fails, is_there):
    disk = BrokenDisk(rig.app.store)
    app = App(disk, rig.runner, rig.clock)
    app.snapshot()
    disk.fails = fails
    with pytest.raises(OSError, match=r"disk full|who knows"), app.write() as writing:
        writing.insert(lifecycle.submit(job(), 0), submission())
    assert bool(app.snapshot().pending) is is_there
    assert _mirrors(app)


def test_what_is_refused_inside_a_transaction_leaves_no_trace(rig):
    count = rig.app.changes.count

    def insert_and_refuse():
        with rig.app.write() as writing:
            writing.insert(lifecycle.submit(job(), 0), submission())
            raise NotFound("no")

    with pytest.raises(NotFound):
        insert_and_refuse()
    assert rig.app.snapshot().pending == ()
    assert rig.app.changes.count == count
    assert _mirrors(rig.app)


def test_a_name_that_is_taken_is_stale(rig):
    rig.submit()
    with pytest.raises(StaleVersionError), rig.app.write() as writing:
        writing.insert(lifecycle.submit(job(), 0), submission())
    assert _mirrors(rig.app)


def test_a_transaction_inside_a_transaction_is_a_mistake(rig):
    with pytest.raises(AssertionError, match="inside"), rig.app.write(), rig.app.write():
        pass


def test_a_commit_that_changed_something_wakes_who_waits(rig):
    count = rig.app.changes.count
    with rig.app.write():
        pass
    assert rig.app.changes.count == count
    rig.submit()
    assert rig.app.changes.count == count + 1
    assert rig.app.changes.wait(count, 0) == count + 1


def test_a_cancelled_job_keeps_its_place_until_it_is_gone(rig):
    name = rig.submit().job.id
    rig.run_until(name, "RUNNING")
    cancel(rig.app, name)
    (running,) = rig.app.snapshot().running
    assert (running.job.state, running.leaving) == (JobState.STOPPING, True)


def test_the_next_due_instant_is_the_first_that_time_alone_brings():
    options = (option("h100"), option("a100"))
    patient = job("patient", "a", *options, pending_since_ms=1_000, fallback_after_ms=5_000)
    punished = job("punished", "a", *options, backoff={0: 4_000, 1: 9_000})
    world = World(None, [job("plain"), patient, punished], ())
    assert [world.next_due_ms(now_ms) for now_ms in (0, 4_000, 6_000, 9_000)] == [4_000, 6_000, 9_000, None]


def test_what_is_not_pending_any_more_is_not_due():
    patient = job("patient", pending_since_ms=1_000, fallback_after_ms=5_000)
    world = World(None, [patient], ())
    world.apply(lifecycle.cancel(patient, (), 2_000))
    assert world.next_due_ms(2_000) is None


def test_time_limits_and_min_runtime_are_due_too(rig):
    name = rig.submit(time_limit_ms=40_000).job.id
    view = rig.run_until(name, "RUNNING")
    with rig.app.world() as world:
        assert world.next_due_ms(rig.clock.now_ms()) == view.attempt.ready_at_ms + 40_000
