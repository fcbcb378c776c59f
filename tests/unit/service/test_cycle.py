"""The scheduler's turn: what fails is logged and tried again, what has not changed is not planned again."""

from dataclasses import replace

import pytest
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.service import cycle, preview
from fairgate_scheduler.service.cycle import PAUSE_MS, RETRY_MS, Scheduler, Timing
from fairgate_scheduler.service.planner import Planner
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.testing.fake_runner import Script


@pytest.fixture
def plans(monkeypatch):
    """How often it was planned."""
    made = []
    plan = Planner.plan
    monkeypatch.setattr(Planner, "plan", lambda *args: made.append(args) or plan(*args))
    return made


def test_it_plans_only_when_something_has_changed(rig, plans):
    rig.submit()
    rig.turn()
    assert len(plans) == 1
    rig.turn(3)
    assert len(plans) == 2  # the admission and the launch were changes
    rig.submit("other")
    rig.turn()
    assert len(plans) == 3


def test_it_plans_when_a_wait_is_over(rig, plans):
    options = [{"flavor": "h100"}, {"flavor": "a100"}]
    apply_config(rig.app, rig.app.config_version().source.replace("{resource: nvidia.com/gpu}\n  cpu", _A100))
    rig.runner.script = lambda _launch: Script(run_ms=10_000_000)
    rig.run_until(rig.submit("all", gpus=4).job.id, "RUNNING")
    name = rig.submit("patient", gpus=1, options=options, fallback_after_ms=60_000).job.id
    rig.turn(3)
    made = len(plans)
    begin_ms = rig.clock.now_ms()
    assert get_job(rig.app, name).hold.value == "WAITING_FOR_PREFERRED"
    rig.clock.advance(59_999)
    rig.turn()
    assert len(plans) == made
    rig.clock.advance(1)
    rig.turn()
    view = get_job(rig.app, name)
    assert (view.attempt.option, view.attempt.admitted_at_ms) == (1, begin_ms + 60_000)


_A100 = "{resource: nvidia.com/gpu, capacity: {nvidia.com/gpu: 1}}\n  cpu"


@pytest.mark.parametrize("step", ["observe", "launch", "deliver"])
def test_a_step_that_fails_does_not_keep_the_others_from_working(rig, monkeypatch, caplog, step):
    def fail(*_args):
        raise OSError("broken")

    name = rig.submit().job.id
    with monkeypatch.context() as broken:
        if step == "launch":
            broken.setattr(cycle, "launch", fail)
        else:
            broken.setattr(rig.scheduler._observer if step == "observe" else rig.scheduler._courier, step, fail)
        rig.turn()
        assert f"the step '{step}' failed" in caplog.text
        assert get_job(rig.app, name).job.state.value == "ADMITTED"
        assert rig.scheduler.next_due_ms(rig.clock.now_ms()) <= rig.clock.now_ms() + RETRY_MS
    assert rig.run_until(name, "SUCCEEDED").job.attempts == 1


def test_a_plan_that_fails_is_made_again(rig, monkeypatch, caplog):
    name = rig.submit().job.id
    with monkeypatch.context() as broken:
        broken.setattr(Planner, "plan", lambda *_args: 1 / 0)
        rig.turn()
    assert "the step 'plan' failed" in caplog.text
    rig.turn()
    assert get_job(rig.app, name).job.state.value == "ADMITTED"


def test_with_nothing_to_do_nothing_is_due(rig):
    rig.turn()
    assert rig.scheduler.next_due_ms(rig.clock.now_ms()) is None
    rig.submit("too-big-for-now", gpus=4)
    rig.turn(2)
    assert rig.scheduler.next_due_ms(rig.clock.now_ms()) is not None


def test_while_attempts_are_there_the_runner_is_looked_at(rig):
    scheduler = Scheduler(rig.app, Timing(poll_ms=700))
    rig.submit()
    scheduler.turn()
    assert scheduler.next_due_ms(5_000) == 5_700


def test_it_never_turns_without_a_pause(rig):
    name = rig.submit(time_limit_ms=30_000).job.id
    rig.run_until(name, "RUNNING")
    rig.runner.history[0].has_trace = False
    rig.turn()
    now_ms = rig.clock.now_ms() + 5_000
    assert rig.scheduler.next_due_ms(now_ms) == now_ms + PAUSE_MS


def test_a_store_that_fails_while_looking_ahead_does_not_end_the_loop(rig, monkeypatch, caplog):
    monkeypatch.setattr(rig.app, "world", lambda: 1 / 0)
    assert rig.scheduler.next_due_ms(1_000) == 1_000 + RETRY_MS
    assert "what is due next can not be told" in caplog.text


@pytest.fixture
def told():
    """What the scheduler has said of its health."""
    return []


@pytest.fixture
def careful(rig, told):
    """The rig with a scheduler that tells of its health."""
    return replace(rig, scheduler=Scheduler(rig.app, tell=told.append))


def _breaks_a_law_when(is_broken):
    def plan(*args):
        snapshot, now_ms = args[-2:]
        assert not is_broken(snapshot), "a law is broken"
        return plan_cycle(snapshot, now_ms)

    return plan


def test_a_plan_that_would_break_a_law_is_made_without_evictions(careful, told, monkeypatch, caplog):
    borrower = careful.submit("borrower", "b", gpus=3).job.id
    careful.run_until(borrower, "RUNNING")
    monkeypatch.setattr(Planner, "plan", _breaks_a_law_when(lambda snapshot: snapshot.config.policy.reclaim))
    owners, fits = careful.submit("owners", gpus=2).job.id, careful.submit("fits", gpus=1).job.id
    careful.turn(3)
    states = [get_job(careful.app, name).job.state.value for name in (borrower, owners, fits)]
    assert states == ["RUNNING", "PENDING", "ADMITTED"]
    assert told == [False]
    assert caplog.text.count("a law is broken") == 1, "each cause is told once"
    assert "of: a, b" in caplog.text
    assert "the step 'plan' failed" not in caplog.text
    monkeypatch.undo()
    careful.submit("other")
    careful.turn()
    assert told == [False, True]
    assert get_job(careful.app, borrower).job.state.value == "PENDING"


def test_a_world_without_a_lawful_plan_is_left_alone_until_it_changes(careful, told, monkeypatch):
    name = careful.submit().job.id
    asked = []
    monkeypatch.setattr(Planner, "plan", _breaks_a_law_when(lambda snapshot: asked.append(1) or True))
    careful.turn(5)
    assert (len(asked), told) == (2, [False]), "once as it is, once without evictions"
    assert get_job(careful.app, name).job.state.value == "PENDING"
    assert careful.scheduler.next_due_ms(careful.clock.now_ms()) is None
    monkeypatch.undo()
    careful.submit("other")
    careful.turn()
    assert (get_job(careful.app, name).job.state.value, told) == ("ADMITTED", [False, True])


def test_a_configuration_can_be_changed_while_no_plan_is_lawful(careful, monkeypatch):
    careful.submit()
    monkeypatch.setattr(preview, "plan_cycle", _breaks_a_law_when(lambda _snapshot: True))
    other = careful.app.config_version().source.replace("production: 50", "production: 60")
    assert apply_config(careful.app, other).preview.starts == ()
    assert careful.app.config_version().source == other


def test_quota_without_nodes_is_no_admission_and_nodes_that_come_are_used(rig):
    rig.runner.rows = {("h100", "nvidia.com/gpu"): 0}
    name = rig.submit("job", gpus=1).job.id
    rig.turn(3)
    assert get_job(rig.app, name).job.state.value == "PENDING"
    rig.runner.rows = {("h100", "nvidia.com/gpu"): 1}
    rig.turn()
    assert get_job(rig.app, name).job.state.value == "ADMITTED"


def test_nothing_is_admitted_while_the_runner_can_not_say_what_is_there(rig, monkeypatch):
    def fail(_config):
        raise OSError("the nodes were not seen yet")

    name = rig.submit("job", gpus=1).job.id
    with monkeypatch.context() as patch:
        patch.setattr(rig.runner, "capacity", fail)
        rig.turn(3)
        assert get_job(rig.app, name).job.state.value == "PENDING"
    rig.turn()
    assert get_job(rig.app, name).job.state.value == "ADMITTED"
