"""What the runner can not run is refused at submit, not failed later."""

from dataclasses import replace

import pytest
from fairgate_scheduler.ports import JobQuery
from fairgate_scheduler.service.errors import InvalidArgument, Violation
from fairgate_scheduler.service.submit import submit


def test_what_the_runner_can_not_run_is_refused_by_field(rig):
    request = rig.request()
    with pytest.raises(InvalidArgument) as caught:
        submit(rig.app, replace(request, manifest_text=request.manifest_text.replace("python train.py", "impossible")))
    assert caught.value.violations == (Violation("manifest.spec.entrypoint", "it says so itself", "write another one"),)
    with rig.app.read() as transaction:
        assert not transaction.list_jobs(JobQuery())
