"""Tiresias' example (Gu et al., NSDI 2019, figure 7): two GPUs, jobs of (GPUs, time) (2, 2), (1, 8), (2, 6).

Its least-attained-service order needs no knowledge of run times and shares by preempting all the time; ours runs a
tenant's equal jobs in the order of their submits, and never evicts one for another of the same priority.
"""

from collections.abc import Callable
from fractions import Fraction

from fairgate_scheduler.core.tenancy import Quota, Tenant
from fairgate_scheduler.testing.worlds import H100, World, config_of, owner, takes

JOBS = {"1": (2, 2), "2": (1, 8), "3": (2, 6)}
GPUS = 2


def in_steps(rank: Callable[[str, int], int]) -> dict[str, int]:
    """When each job ends, if at each step those that are first by rank and fit run. ``rank``: of a job and its age."""
    ran, ends, now = dict.fromkeys(JOBS, 0), dict[str, int](), 0
    while len(ends) < len(JOBS):
        free = GPUS
        for job in sorted((each for each in JOBS if each not in ends), key=lambda each: (rank(each, ran[each]), each)):
            if JOBS[job][0] <= free:
                free -= JOBS[job][0]
                ran[job] += 1
        now += 1
        ends |= {job: now for job in JOBS if ran[job] == JOBS[job][1] and job not in ends}
    return ends


def ours() -> dict[str, int]:
    world = World(config_of(Tenant("org", quota={H100: Quota(GPUS)}), owner("a")))
    for job, (gpus, _) in JOBS.items():
        world.submit(job, "a", takes("h100", gpu=gpus))
    started, ends = dict[str, int](), dict[str, int]()
    while len(ends) < len(JOBS):
        assert world.cycle().preemptions == ()
        started |= {job: world.now_ms for job in world.attempts if job not in started}
        world.now_ms += 1
        for job in [each for each in world.attempts if started[each] + JOBS[each][1] == world.now_ms]:
            world.finish(job)
            ends[job] = world.now_ms
    return ends


def mean(ends: dict[str, int]) -> Fraction:
    return Fraction(sum(ends.values()), len(ends))


def test_shortest_remaining_service_first():
    ends = in_steps(lambda job, ran: JOBS[job][0] * (JOBS[job][1] - ran))
    assert ends == {"1": 2, "2": 10, "3": 16}
    assert mean(ends) == Fraction(28, 3)


def test_least_attained_service_first():
    ends = in_steps(lambda job, ran: JOBS[job][0] * ran)
    assert ends == {"1": 5, "2": 14, "3": 16}
    assert mean(ends) == Fraction(35, 3)


def test_ours_runs_them_through():
    assert ours() == {"1": 2, "2": 10, "3": 16}
    assert mean(ours()) == Fraction(28, 3)
