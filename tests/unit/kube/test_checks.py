"""What a cluster would not run is said at submit, with what to change."""

from fairgate_scheduler.adapters.kube.checks import check
from fairgate_scheduler.testing.rayjobs import GPU, fleet, group, ray_job


def test_autoscaling_is_refused_with_what_to_do_instead() -> None:
    workers = {**group("gpu", 2, {"cpu": 4, GPU: 4}), "minReplicas": 0, "maxReplicas": 3}
    tenant = fleet().tenants["vision"]
    for scales, findings in ((False, 0), (True, 1)):
        manifest = ray_job(workers, cluster={"enableInTreeAutoscaling": scales})
        found = check(manifest, tenant)
        assert len(found) == findings, found
    [text] = found
    assert text.startswith("spec.rayClusterSpec.enableInTreeAutoscaling: Kueue does not admit")
    assert "remove it, and set replicas" in text
