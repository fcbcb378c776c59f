"""What the runner can not run is refused at submit, not failed later."""

from dataclasses import replace

import pytest
from fairgate_scheduler.adapters.kube.checks import check
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


def test_what_only_an_option_makes_of_the_manifest_is_refused_by_option(rig, monkeypatch):
    monkeypatch.setattr(rig.app.runner, "check", check)
    change = {"head": {"env": {"NVIDIA_VISIBLE_DEVICES": "all"}}}
    with pytest.raises(InvalidArgument) as caught:
        submit(rig.app, rig.request(options=[{"flavor": "h100"}, {"flavor": "h100", "groups": change}]))
    (violation,) = caught.value.violations
    assert violation.field == "options[1]"
    assert violation.message.startswith(
        "with it manifest.spec.rayClusterSpec.headGroupSpec.template.spec.containers[0]"
    )
    assert violation.message.endswith("NVIDIA_VISIBLE_DEVICES gives devices that are not counted")
