"""A small data-parallel training loop that survives eviction.

Each step every worker computes the gradient of a linear model on its own shard; the driver averages the gradients and
writes a checkpoint. An evicted attempt is followed by another one, perhaps on another flavor: it goes on from there.

usage: python train.py STEPS [SECONDS_PER_STEP]
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import ray

STEPS = int(sys.argv[1])
STEP_S = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
FOLDER = Path(os.environ["FAIRGATE_CHECKPOINT_DIR"])
CHECKPOINT = FOLDER / "checkpoint.json"
ATTEMPT = os.environ["FAIRGATE_ATTEMPT"]
TRUTH = np.array([2.0, -1.0, 0.5])


class Evicted(Exception):
    """Raised in the main thread by the eviction notice."""


def on_notice(*_: object) -> None:
    raise Evicted


def accelerator() -> tuple[str, int]:
    """The accelerator that this attempt was admitted on, and how many of it the whole Ray cluster has."""
    resources = ray.cluster_resources()
    name, other = ("TPU", "GPU") if "TPU" in resources else ("GPU", "TPU")
    count = int(resources[name])
    has_other = f"{int(resources[other])} {other}" if other in resources else f"no {other}"
    print(f"attempt {ATTEMPT} on {os.environ['FAIRGATE_FLAVOR']}: {count} {name}, {has_other}", flush=True)
    return name, count


@ray.remote
class Worker:
    """Holds one shard of the data."""

    def __init__(self, shard: int) -> None:
        rng = np.random.default_rng(shard)
        self.x = rng.normal(size=(256, 3))
        self.y = self.x @ TRUTH

    def gradient(self, weights: np.ndarray, seconds: float) -> np.ndarray:
        """The gradient of the squared error here; ``seconds`` stand for the time that a real model would take."""
        time.sleep(seconds)
        return 2 * self.x.T @ (self.x @ weights - self.y) / len(self.y)


def load() -> tuple[int, np.ndarray]:
    """The last finished step and its weights; step 0 with zeros at the very start."""
    if not CHECKPOINT.exists():
        return 0, np.zeros(3)
    saved = json.loads(CHECKPOINT.read_text())
    return saved["step"], np.array(saved["weights"])


def save(step: int, weights: np.ndarray) -> None:
    """Write a checkpoint so that a crash leaves either the old one or the new one."""
    draft = CHECKPOINT.with_suffix(".new")
    draft.write_text(json.dumps({"step": step, "weights": weights.tolist()}))
    draft.replace(CHECKPOINT)


def main() -> None:
    ray.init()
    name, count = accelerator()
    asked = {"num_gpus": 1} if name == "GPU" else {"resources": {"TPU": 1}}
    workers = [Worker.options(num_cpus=0, **asked).remote(shard) for shard in range(count)]
    done, weights = load()
    print(f"attempt {ATTEMPT} starts after step {done}", flush=True)
    signal.signal(signal.SIGTERM, on_notice)
    for step in range(done + 1, STEPS + 1):
        gradients = ray.get([worker.gradient.remote(weights, STEP_S) for worker in workers])
        weights = weights - 0.1 * np.mean(gradients, axis=0)
        save(step, weights)
        with (FOLDER / "steps.log").open("a") as log:
            log.write(f"{ATTEMPT} {step}\n")
        print(f"step {step} of {STEPS}, error {float(np.abs(weights - TRUTH).max()):.4f}", flush=True)
    print(f"trained: {STEPS} steps, error {float(np.abs(weights - TRUTH).max()):.4f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Evicted:
        print(f"attempt {ATTEMPT} got its notice; the checkpoint is written", flush=True)
        sys.exit(143)
