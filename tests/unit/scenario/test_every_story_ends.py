"""A story in which jobs take turns for ever is told as far as that is seen, and then that is what comes of it."""

from fairgate_scheduler.core.snapshot import Admit, Plan, Preempt
from fairgate_scheduler.entrypoints.simulate import run

STORY = """version: 1
name: two that take turns
policy: {rebalance: true, min_runtime: 7s}
flavors: {gpu: {capacity: {nvidia.com/gpu: 2}}}
tenants:
  org: {quota: {gpu: {nvidia.com/gpu: {nominal: 2}}}}
  org/a: {}
jobs:
  - {id: one, tenant: org/a, run: 20s, flavors: [gpu], pods: [{requests: {nvidia.com/gpu: 1}}]}
  - {id: two, tenant: org/a, run: 20s, flavors: [gpu], pods: [{requests: {nvidia.com/gpu: 1}}]}
"""


def swap(snapshot, now_ms):
    """Every seven seconds the other one."""
    old = [each.job.id for each in snapshot.running if each.attempt.admitted_at_ms + 7_000 <= now_ms]
    first = min((job.id for job in snapshot.pending), default=None)
    if first is None or (snapshot.running and not old):
        return Plan()
    return Plan(tuple(Preempt(name, "swap") for name in old), (Admit(first, 0),))


def told(monkeypatch, tmp_path, capsys, story):
    monkeypatch.setattr("fairgate_scheduler.scenario.engine.plan_cycle", swap)
    file = tmp_path / "turns.yaml"
    file.write_text(story)
    return run([file]), capsys.readouterr().out


def test_jobs_that_take_turns_for_ever_are_a_broken_promise(monkeypatch, tmp_path, capsys):
    code, out = told(monkeypatch, tmp_path, capsys, STORY)
    assert code == 1
    assert "jobs take turns for ever: 1001 evictions since 7s, and no job ended or kept any work; now run: two" in out


def test_what_checkpoints_gets_further_by_turns(monkeypatch, tmp_path, capsys):
    code, out = told(monkeypatch, tmp_path, capsys, STORY.replace("run: 20s,", "run: 20s, checkpoint_every: 5s,"))
    assert code == 0, out
    assert "6 evictions" in out
