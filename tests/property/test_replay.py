"""A replay of a log is the story that a scenario file would tell of the same jobs: same starts, ends and evictions."""

from dataclasses import replace
from fractions import Fraction

from fairgate_scheduler.core.tenancy import Budget, Config, Flavor, Policy, Quota, Tenant
from fairgate_scheduler.replay.cluster import Cluster
from fairgate_scheduler.replay.engine import replay
from fairgate_scheduler.replay.load import make_load
from fairgate_scheduler.replay.trace import Trace, TraceJob
from fairgate_scheduler.scenario.engine import Engine
from fairgate_scheduler.scenario.story import JobSpec, OptionSpec, PodSpec, Story
from fairgate_scheduler.testing.builders import GPU
from hypothesis import example, given, settings
from hypothesis import strategies as st

FLAVORS = ("h100", "t4")
LEAVES = ("a", "b", "c")

quotas = st.builds(Quota, st.integers(0, 4), st.none() | st.integers(0, 3), st.none())
leaves = st.dictionaries(st.sampled_from([(flavor, GPU) for flavor in FLAVORS]), quotas, min_size=1)
policies = st.builds(
    Policy,
    reclaim=st.booleans(),
    rebalance=st.booleans(),
    min_runtime_ms=st.sampled_from((0, 0, 7_000)),
    backfill_after_ms=st.sampled_from((None, None, 20_000)),
    history_half_life_ms=st.sampled_from((None, None, 60_000)),
)
budgets = st.none() | st.none() | st.builds(Budget, st.just(Fraction(1, 20)), st.just(100_000))
trace_jobs = st.builds(
    TraceJob,
    id=st.just(""),
    line=st.just(0),
    tenant=st.sampled_from(LEAVES),
    submitted_at_ms=st.integers(0, 12).map(lambda number: 5_000 * number),
    run_ms=st.integers(1, 12).map(lambda number: 3_500 * number),
    accelerators=st.integers(1, 4),
    flavors=st.sampled_from(((), ("h100",), ("t4", "h100"))),
)


@st.composite
def configs(draw) -> Config:
    flavors = {name: Flavor(name, resource=GPU, capacity={GPU: draw(st.integers(4, 8))}) for name in FLAVORS}
    org = Tenant("org", quota={(flavor, GPU): Quota(1) for flavor in FLAVORS})
    tenants = [Tenant(name, parent="org", quota=draw(leaves), budget=draw(budgets)) for name in LEAVES]
    return Config(flavors, {each.id: each for each in (org, *tenants)}, draw(policies))


def story(config: Config, trace: Trace, checkpoint_every_ms: int | None) -> Story:
    jobs = {}
    for order, job in enumerate(trace.jobs):
        options = tuple(
            OptionSpec(flavor, Fraction(1), (PodSpec(flavor, job.accelerators, {GPU: "1"}),))
            for flavor in job.flavors or FLAVORS
        )
        jobs[job.id] = JobSpec(
            job.id,
            order,
            job.tenant,
            job.submitted_at_ms,
            job.run_ms,
            job.run_ms,
            options,
            checkpoint_every_ms=checkpoint_every_ms,
        )
    return Story("story", "story.yaml", config, jobs, (), ())


def job_of(tenant: str, submitted_at_ms: int, run_ms: int, accelerators: int) -> TraceJob:
    return TraceJob("", 0, tenant, submitted_at_ms, run_ms, accelerators, ())


# j4 is evicted with two thirds of its work kept: only then does it fit what is left of its tenant's budget, on t4.
KEPT_WORK_FITS_THE_BUDGET = (
    Config(
        {name: Flavor(name, resource=GPU, capacity={GPU: 4}) for name in FLAVORS},
        {
            each.id: each
            for each in (
                Tenant("org", quota={(flavor, GPU): Quota(1) for flavor in FLAVORS}),
                Tenant("a", "org", quota={("h100", GPU): Quota(0)}, budget=Budget(Fraction(1, 20), 100_000)),
                Tenant("b", "org", quota={("t4", GPU): Quota(2)}),
                Tenant("c", "org", quota={("h100", GPU): Quota(2)}),
            )
        },
    ),
    [
        *[job_of("a", 0, 3_500, 1) for _ in range(3)],
        job_of("a", 0, 10_500, 3),
        job_of("a", 0, 24_500, 3),
        *[job_of("a", 0, 3_500, 1) for _ in range(2)],
        job_of("c", 25_000, 3_500, 1),
    ],
    2_000,
)


@settings(max_examples=200, deadline=None)
@example(*KEPT_WORK_FITS_THE_BUDGET)
@given(configs(), st.lists(trace_jobs, min_size=1, max_size=10), st.sampled_from((None, 2_000)))
def test_a_replay_tells_what_a_scenario_tells(config, jobs, checkpoint_every_ms):
    ordered = sorted(jobs, key=lambda job: job.submitted_at_ms)
    trace = Trace("log", "made", tuple(replace(job, id=f"j{number}") for number, job in enumerate(ordered)))
    told = Engine(story(config, trace, checkpoint_every_ms))
    told.run({})
    replayed = replay(config, make_load(trace, Cluster(config)), checkpoint_every_ms)
    assert {
        each.arrival.job.id: [(run.option, run.begin_ms, run.end_ms) for run in each.runs] for each in replayed.outcomes
    } == {
        name: [(each.option, each.admitted_at_ms, each.ended_at_ms) for each in attempts]
        for name, attempts in told.world.attempts.items()
    }
    assert {each.arrival.job.id: each.finished_at_ms for each in replayed.outcomes} == {
        name: job.finished_at_ms for name, job in told.world.jobs.items()
    }
    holds = {name: str(reason) for name, reason in told.reasons().items()}
    assert {each.arrival.job.id: each.hold for each in replayed.outcomes if each.hold} == holds
