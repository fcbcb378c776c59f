"""Orders to the runner are carried out at least once, in order for each attempt, and none holds up another."""

import logging

import pytest
from fairgate_scheduler.core.lifecycle import Effect, EffectKind
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.deliver import Courier, Retry


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class Recorder:
    """Notes what it is told and fails for the jobs that it is to fail for."""

    def __init__(self):
        self.calls = []
        self.fails_for = set()

    def check(self, _manifest, _tenant):
        return []

    def objections(self, _config):
        return ()

    def capacity(self, _config):
        return {}

    def launch(self, launch):
        self._note("launch", launch.job.id, launch.attempt.number)
        self.manifest = launch.manifest

    def stop(self, job, attempt, reason):
        self._note("stop", job, attempt)

    def _note(self, what, job, attempt):
        self.calls.append((what, job.rpartition("/")[2], attempt))
        if job in self.fails_for:
            raise OSError("no room")


@pytest.fixture
def recorder(rig):
    """A runner that takes the place of the fake one; the scheduler's own deliveries are left out."""
    rig.app.runner = Recorder()
    rig.turn = lambda: [rig.scheduler.plan(rig.clock.now_ms()), rig.scheduler.steps["launch"](rig.clock.now_ms())]
    return rig.app.runner


def _outbox(rig):
    with rig.app.read() as transaction:
        return [each.effect.kind.value for each in transaction.list_effects(100)]


def _deliver(rig, courier):
    courier.deliver(rig.clock.now_ms())


def test_a_launch_has_all_that_the_runner_needs_and_leaves_the_outbox(rig, recorder):
    rig.submit()
    rig.turn()
    assert _outbox(rig) == ["LAUNCH"]
    _deliver(rig, Courier(rig.app, Retry()))
    assert recorder.calls == [("launch", "train", 1)]
    assert recorder.manifest["metadata"] == {"name": "train"}
    assert _outbox(rig) == []


def test_a_failing_order_is_tried_again_later_and_holds_up_no_other(rig, recorder):
    bad = rig.submit("bad").job.id
    rig.submit("good")
    rig.turn()
    recorder.fails_for = {bad}
    courier = Courier(rig.app, Retry(first_ms=100, most_ms=300))
    begin_ms = rig.clock.now_ms()
    tries = []
    for _ in range(1_000):
        before = len(recorder.calls)
        _deliver(rig, courier)
        if ("launch", "bad", 1) in recorder.calls[before:]:
            tries.append(rig.clock.now_ms() - begin_ms)
        rig.clock.advance(1)
    assert tries == [0, 100, 300, 600, 900]
    assert recorder.calls.count(("launch", "good", 1)) == 1
    assert courier.next_due_ms() == begin_ms + 1_200
    recorder.fails_for = set()
    rig.clock.advance(300)
    _deliver(rig, courier)
    assert _outbox(rig) == []
    assert courier.next_due_ms() is None


def test_orders_on_one_attempt_keep_their_order(rig, recorder):
    name = rig.submit().job.id
    rig.turn()
    recorder.fails_for = {name}
    courier = Courier(rig.app, Retry())
    with rig.app.write() as writing:
        writing.transaction.add_effect(Effect(EffectKind.STOP, name, 1, "later"))
    _deliver(rig, courier)
    assert recorder.calls == [("launch", "train", 1)]
    recorder.fails_for = set()
    rig.clock.advance(1_000)
    _deliver(rig, courier)
    assert recorder.calls[1:] == [("launch", "train", 1), ("stop", "train", 1)]


def test_a_launch_that_was_overtaken_by_a_stop_is_not_carried_out(rig, recorder):
    name = rig.submit().job.id
    rig.turn()
    cancel(rig.app, name)
    assert _outbox(rig) == ["LAUNCH", "STOP"]
    _deliver(rig, Courier(rig.app, Retry()))
    assert recorder.calls == [("stop", "train", 1)]
    assert _outbox(rig) == []


def test_a_launch_that_was_carried_out_before_a_crash_does_not_run_what_has_ended(rig):
    name = rig.submit().job.id
    rig.run_until(name, "SUCCEEDED")
    rig.turn(2)
    with rig.app.write() as writing:
        writing.transaction.add_effect(Effect(EffectKind.LAUNCH, name, 1))
    rig.turn(2)
    assert len(rig.runner.history) == 1
    assert _outbox(rig) == []
