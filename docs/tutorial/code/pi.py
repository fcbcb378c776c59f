"""Ray Core: estimate pi with one actor for each accelerator that this job was admitted with.

usage: python pi.py SAMPLES
"""

import random
import sys

import ray

SAMPLES = int(sys.argv[1])
PARTS = 8


@ray.remote
def inside(seed: int, samples: int) -> int:
    """How many of ``samples`` random points of the unit square lie in the quarter circle."""
    rng = random.Random(seed)
    return sum(rng.random() ** 2 + rng.random() ** 2 <= 1 for _ in range(samples))


ray.init()
gpus = int(ray.cluster_resources().get("GPU", 0))
part = inside.options(num_gpus=1, num_cpus=0) if gpus else inside.options(num_cpus=1)
hits = sum(ray.get([part.remote(seed, SAMPLES // PARTS) for seed in range(PARTS)]))
print(f"pi is about {4 * hits / SAMPLES:.3f} ({SAMPLES} samples, {gpus} GPU)")
