"""Real Ray needs an interpreter that it can start workers with."""

import sys

import pytest
from fairgate_scheduler.adapters.local_ray.plan import unusable_python


@pytest.fixture(autouse=True, scope="session")
def usable_python():
    """Skip where Ray could not run at all, and say why."""
    if problem := unusable_python(sys.executable, sys.prefix):
        pytest.skip(problem)
