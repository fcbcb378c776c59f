"""What was used before counts, over commits, periods, grace periods and restarts; claims and choices come in time."""

from fractions import Fraction

import pytest
from fairgate_scheduler.core.jobs import Fallback
from fairgate_scheduler.core.snapshot import History
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cycle import Scheduler
from fairgate_scheduler.service.query import explain, get_job
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.testing.fake_runner import Script

HOUR_MS = 3_600_000
BEGIN_MS = 1_000_000
"""Of the rig's clock."""


def configure(rig, *, policy="", budget="", tenant="b"):
    source = rig.app.config_version().source
    source += f"policy: {{{policy}}}\n" if policy else ""
    line = next(line for line in source.splitlines() if f"id: {tenant}," in line)
    apply_config(rig.app, source.replace(line, f"{line[:-1]}, budget: {{{budget}}}}}") if budget else source)


def restart(rig):
    """The service begins again from its store."""
    rig.app = App(rig.app.store, rig.runner, rig.clock)
    rig.scheduler = Scheduler(rig.app)


def spent(rig):
    with rig.app.world() as world:
        return dict(world.snapshot(rig.clock.now_ms()).spent)


def history(rig):
    with rig.app.world() as world:
        return dict(world.snapshot(rig.clock.now_ms()).history)


class TestBudgets:
    def test_an_attempt_counts_from_its_admission_to_its_end(self, rig):
        configure(rig, budget="accelerator_hours: 10, period: 30d")
        rig.runner.script = lambda _: Script(start_ms=0, run_ms=60_000)
        view = rig.run_until(rig.submit("one", "b", gpus=2).job.id, "SUCCEEDED")
        (attempt,) = view.attempts
        assert spent(rig) == {"b": 2 * (attempt.ended_at_ms - attempt.admitted_at_ms)}
        before = spent(rig)
        restart(rig)
        assert spent(rig) == before

    def test_what_does_not_fit_waits_for_the_next_period(self, rig):
        configure(rig, budget="accelerator_hours: 1, period: 2h")
        rig.runner.script = lambda _: Script(start_ms=0, run_ms=600_000)
        rig.run_until(rig.submit("first", "b").job.id, "SUCCEEDED", step_ms=60_000)
        name = rig.submit("second", "b").job.id
        rig.turn()
        assert get_job(rig.app, name).hold.value == "BUDGET_EXHAUSTED"
        assert "are left of the budget of tenant b" in explain(rig.app, name).hold.message
        assert rig.scheduler.next_due_ms(rig.clock.now_ms()) == 2 * HOUR_MS
        rig.clock.advance(2 * HOUR_MS - rig.clock.now_ms())
        rig.turn()
        assert get_job(rig.app, name).attempt.admitted_at_ms == 2 * HOUR_MS

    def test_what_still_stops_after_its_eviction_counts_until_now(self, rig):
        configure(rig, budget="accelerator_hours: 10, period: 30d")
        rig.runner.script = lambda _: Script(start_ms=0, run_ms=10 * HOUR_MS, stop_ms=30_000)
        big = rig.run_until(rig.submit("big", "b", gpus=4).job.id, "RUNNING")
        rig.submit("mine", "a", gpus=2)
        rig.turn()
        assert get_job(rig.app, big.job.id).job.evictions == 1
        rig.clock.advance(10_000)
        ran_ms = rig.clock.now_ms() - big.attempt.admitted_at_ms
        assert spent(rig) == {"b": 4 * ran_ms}
        restart(rig)
        assert spent(rig) == {"b": 4 * ran_ms}

    def test_a_budget_that_comes_later_counts_what_its_period_has_seen(self, rig):
        view = rig.run_until(rig.submit("one", "b").job.id, "SUCCEEDED")
        assert spent(rig) == {}
        configure(rig, budget="accelerator_hours: 1, period: 30d")
        assert spent(rig) == {"b": view.attempts[0].ended_at_ms - view.attempts[0].admitted_at_ms}


class TestHistory:
    def test_it_is_settled_with_what_ran_and_found_again(self, rig):
        configure(rig, policy="history_half_life: 1h")
        rig.runner.script = lambda _: Script(start_ms=0, run_ms=HOUR_MS)
        rig.turn()
        begin_ms = rig.clock.now_ms()
        assert history(rig)["b"] == History(Fraction(0), begin_ms)
        rig.run_until(rig.submit("all", "b", gpus=4).job.id, "RUNNING", step_ms=0)
        rig.clock.advance(HOUR_MS)
        assert history(rig)["b"] == History(Fraction(1, 2), begin_ms + HOUR_MS)
        assert history(rig)["a"] == History(Fraction(0), begin_ms + HOUR_MS)
        restart(rig)
        assert history(rig)["b"] == History(Fraction(1, 2), begin_ms + HOUR_MS)
        rig.turn()  # it is seen to have ended, and nothing runs any more
        rig.clock.advance(HOUR_MS)
        restart(rig)
        assert history(rig)["b"] == History(Fraction(1, 4), begin_ms + 2 * HOUR_MS)

    def test_it_decides_who_borrows(self, rig):
        configure(rig, policy="history_half_life: 1h")
        rig.runner.script = lambda _: Script(start_ms=0, run_ms=HOUR_MS)
        rig.run_until(rig.submit("all", "a", gpus=4).job.id, "SUCCEEDED", step_ms=60_000)
        names = [rig.submit(f"job-{tenant}", tenant, gpus=3).job.id for tenant in ("a", "b")]
        rig.turn()
        assert [get_job(rig.app, name).attempt is not None for name in names] == [False, True]

    def test_without_a_half_life_nothing_is_kept(self, rig):
        rig.run_until(rig.submit("all", "a", gpus=4).job.id, "SUCCEEDED")
        assert history(rig) == {}
        with rig.app.read() as transaction:
            assert transaction.get_history() == {}


class TestTime:
    def test_a_claim_is_made_when_its_time_has_come(self, rig):
        configure(rig, policy="backfill_after: 10m")
        rig.runner.script = lambda _: Script(start_ms=0, run_ms=10 * HOUR_MS)
        rig.run_until(rig.submit("base", "a", gpus=2, preemptible=False).job.id, "RUNNING", step_ms=0)
        gang = rig.submit("gang", "a", gpus=4).job.id
        rig.turn()
        begin_ms = rig.clock.now_ms()
        assert rig.scheduler.next_due_ms(begin_ms) <= begin_ms + 600_000
        with rig.app.world() as world:
            assert world.next_due_ms(begin_ms) == begin_ms + 600_000
        rig.clock.advance(600_000)
        long = rig.submit("long", "a", time_limit_ms=5 * HOUR_MS).job.id
        short = rig.submit("short", "a", time_limit_ms=600_000).job.id
        rig.turn()
        views = {name: get_job(rig.app, name) for name in (gang, long, short)}
        assert views[short].attempt is not None
        assert (views[gang].hold.value, views[long].hold.value) == ("WAITING_FOR_QUOTA", "BACKFILL_CLAIM")

    def test_a_claim_comes_with_the_configuration(self, rig):
        rig.runner.script = lambda _: Script(start_ms=0, run_ms=10 * HOUR_MS)
        rig.run_until(rig.submit("base", "a", gpus=2, preemptible=False).job.id, "RUNNING", step_ms=0)
        rig.submit("gang", "a", gpus=4)
        rig.turn()
        now_ms = rig.clock.now_ms()
        with rig.app.world() as world:
            due_ms = world.next_due_ms(now_ms)
        configure(rig, policy="backfill_after: 10m")
        with rig.app.world() as world:
            assert world.next_due_ms(now_ms) == now_ms + 600_000 < due_ms

    @pytest.mark.parametrize(("run_h", "flavor"), [(10, None), (1, "a100")])
    def test_soonest_waits_for_the_faster_option_if_it_pays(self, rig, run_h, flavor):
        source = rig.app.config_version().source
        quota = "quota: {a100: {nvidia.com/gpu: {nominal: 4}}}"
        apply_config(rig.app, source.replace("- id: org\n", f"- {{id: org, {quota}}}\n"))
        rig.runner.script = lambda _: Script(start_ms=0, run_ms=2 * HOUR_MS)
        fast, slow = {"flavor": "h100"}, {"flavor": "a100", "speed": "0.5"}
        first = rig.submit("first", "b", gpus=4, time_limit_ms=2 * HOUR_MS, preemptible=False)
        rig.run_until(first.job.id, "RUNNING", step_ms=0)
        given = {"gpus": 4, "options": [fast, slow], "fallback": Fallback.SOONEST, "time_limit_ms": run_h * HOUR_MS}
        name = rig.submit("choosy", "a", **given).job.id
        rig.turn()
        view = get_job(rig.app, name)
        chosen = None if view.attempt is None else view.job.options[view.attempt.option].flavor
        assert chosen == flavor
        if flavor is None:
            assert view.hold.value == "WAITING_FOR_PREFERRED"
