"""Gavel's hierarchical policy on equal machines, and its answer to machines that are not equal, which is not ours.

Narayanan et al., OSDI 2020. Three entities of weights 1, 2, 3, each with six jobs of weights 1, 2, 1, 2, 1, 2, share
nine GPUs (figure 11): jobs get (1/6, 1/3), (1/3, 2/3), (1/2, 1) of a GPU.
"""

from fractions import Fraction
from itertools import combinations

from fairgate_scheduler.core.tenancy import Flavor, Quota, Tenant
from fairgate_scheduler.testing.worlds import GPU, World, config_of, takes

# Throughputs of three jobs on a V100 and on a K80.
THROUGHPUTS = [(40, 10), (12, 4), (100, 50)]


def test_weights_at_two_levels():
    # Jobs run whole here: each of Gavel's jobs is a tenant, on 6 × 9 GPUs, so that its part is a whole number.
    gpus = 6 * 9
    tenants = [Tenant("org", quota={("v100", GPU): Quota(gpus)})]
    for entity in (1, 2, 3):
        tenants.append(Tenant(f"e{entity}", "org", Fraction(entity)))
        tenants += [Tenant(f"e{entity}-j{job}", f"e{entity}", Fraction(1 + job % 2)) for job in range(6)]
    world = World(config_of(*tenants))
    for entity in (1, 2, 3):
        for job in range(6):
            world.submit_many(f"e{entity}-j{job}", gpus, takes("v100", gpu=1))
    world.cycle()
    parts = {entity: [Fraction(world.count(f"e{entity}-j{job}"), 6) for job in range(2)] for entity in (1, 2, 3)}
    assert parts == {
        1: [Fraction(1, 6), Fraction(1, 3)],
        2: [Fraction(1, 3), Fraction(2, 3)],
        3: [Fraction(1, 2), Fraction(1)],
    }
    assert [Fraction(world.count(f"e{entity}"), 6) for entity in (1, 2, 3)] == [Fraction(3, 2), 3, Fraction(9, 2)]


def test_unequal_machines():
    # Gavel moves jobs between the machines all the time, so that the least gain over an equal part of each is 12/11.
    assert time_sharing_optimum() == Fraction(12, 11)
    # Here a job stays on the machine where it starts: the first two by the tie run, each on the option that it prefers
    # of those that are free, and the third waits. Nobody is moved for speed; a price can make a V100 count for more.
    org = Tenant("org", quota={("v100", GPU): Quota(1), ("k80", GPU): Quota(1)})
    flavors = {"v100": Flavor("v100"), "k80": Flavor("k80")}
    world = World(config_of(org, *(Tenant(f"t{job}", "org") for job in range(3)), **flavors))
    for job, (fast, slow) in enumerate(THROUGHPUTS):
        world.submit(f"j{job}", f"t{job}", takes("v100", gpu=1), takes("k80", Fraction(slow, fast), gpu=1))
    world.cycle()
    assert world.running() == {"j0": "v100", "j1": "k80"}


def time_sharing_optimum() -> Fraction:
    """The largest z so that each job gets z times its throughput on a third of each machine: a linear program.

    Variables: the parts x of the V100 and y of the K80 of each job, and z. At an optimum every job is at z, and of the
    other limits (no negative part, both machines full, a job's time at most 1) as many bind as fix the rest.
    """
    fair = [Fraction(fast + slow, 3) for fast, slow in THROUGHPUTS]
    equal = [[*_row(job, THROUGHPUTS[job]), -fair[job], Fraction(0)] for job in range(3)]
    bounds = [[*_row(job, (1, 1)), Fraction(0), Fraction(1)] for job in range(3)]
    bounds += [
        [*(Fraction(place % 2 == machine) for place in range(6)), Fraction(0), Fraction(1)] for machine in (0, 1)
    ]
    zeros = [[*(Fraction(-(place == each)) for place in range(6)), Fraction(0), Fraction(0)] for each in range(6)]
    best = Fraction(0)
    for binding in combinations([*bounds, *zeros], 4):
        solution = _solve([*equal, *binding])
        if solution is not None and all(
            sum(a * b for a, b in zip(row[:-1], solution, strict=True)) <= row[-1] for row in (*bounds, *zeros)
        ):
            best = max(best, solution[-1])
    return best


def _row(job: int, values: tuple[int, int]) -> list[Fraction]:
    return [Fraction(values[place % 2] if place // 2 == job else 0) for place in range(6)]


def _solve(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """Gauss and Jordan; ``None``: not one solution."""
    rows = [row[:] for row in rows]
    size = len(rows)
    for column in range(size):
        pivot = next((each for each in range(column, size) if rows[each][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for other in range(size):
            if other != column and rows[other][column]:
                factor = rows[other][column]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[column], strict=True)]
    return [row[-1] for row in rows]
