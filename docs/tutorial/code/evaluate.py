"""Ray Core: score a batch of examples on one accelerator that the head itself has."""

import ray


@ray.remote(num_gpus=1, num_cpus=0)
def score(example: int) -> int:
    """A stand-in for a model: the square of the example."""
    return example * example


ray.init()
scores = ray.get([score.remote(example) for example in range(10)])
print(f"scores sum up to {sum(scores)} on {int(ray.cluster_resources()['GPU'])} GPU")
