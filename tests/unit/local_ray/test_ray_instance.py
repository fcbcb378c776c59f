"""What a job finds when it starts a Ray of its own."""

from dataclasses import replace

import pytest
from fairgate_scheduler.adapters.local_ray.plan import Plan
from fairgate_scheduler.adapters.local_ray.ray_instance import limits_of_others

PLAN = Plan("tenants/a/jobs/train", 1, "true", {}, {}, {}, "/tmp/x", "python", 1.0, 1)


@pytest.mark.parametrize("admitted", [{"CPU": 2}, {"CPU": 1, "GPU": 2}, {"TPU": 4}, None])
def test_another_instance_has_no_accelerators_whatever_was_admitted(admitted):
    limits = limits_of_others(replace(PLAN, resources=admitted))
    assert {name: limits[name] for name in ("GPU", "TPU", "neuron_cores")} == {"GPU": 0, "TPU": 0, "neuron_cores": 0}
    assert "CPU" not in limits


def test_another_instance_has_none_of_the_admitted_custom_resources():
    assert limits_of_others(replace(PLAN, resources={"CPU": 1, "licence": 3.5}))["licence"] == 0
