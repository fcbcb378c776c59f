"""What is refused, through the real command line and server: where, why, what to do; nothing is left behind."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("e2e-refusals")  # they share a server

MANIFEST = """\
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: train
  annotations:
    fairgate.internal/tenant: a
    fairgate.internal/time-limit: 10m
    fairgate.internal/options: |
      - flavor: h100
spec:
  entrypoint: python train.py
  rayClusterSpec:
    rayVersion: 2.60.0
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
            - {name: ray-head, image: "rayproject/ray:2.60.0", resources: {limits: {cpu: 1, memory: 2Gi}}}
    workerGroupSpecs:
      - groupName: workers
        replicas: 1
        maxReplicas: 1
        rayStartParams: {}
        template:
          spec:
            containers:
              - name: ray-worker
                image: rayproject/ray:2.60.0
                resources:
                  limits:
                    nvidia.com/gpu: 1
"""
GPUS = "nvidia.com/gpu: 1"
IN_THE_POD = "spec.rayClusterSpec.workerGroupSpecs[0].template.spec.containers[0].resources.limits[nvidia.com/gpu]"
TOO_MANY = "the job asks for 1000 nvidia.com/gpu of h100; tenant 'a' can never have more than 4, borrowed included"

WRONG = {
    "a typo in a field": (
        ("maxReplicas", "maxReplica"),
        "train.yaml:23: spec.rayClusterSpec.workerGroupSpecs[0].maxReplica: unknown field",
        "did you mean maxReplicas?",
    ),
    "a negative count": (
        (GPUS, "nvidia.com/gpu: -1"),
        f"train.yaml:32: {IN_THE_POD}: -1 is negative",
        "ask for 0 or more",
    ),
    "part of a GPU": (
        (GPUS, "nvidia.com/gpu: 0.5"),
        f"train.yaml:32: {IN_THE_POD}: '0.5' is a fraction of a nvidia.com/gpu device",
        "ask for whole devices",
    ),
    "more than there ever is": (
        (GPUS, "nvidia.com/gpu: 1000"),
        f"train.yaml:32: {IN_THE_POD}: {TOO_MANY}",
        "ask for 4 or fewer, for another flavor, or ask the admins for more quota",
    ),
    "an unknown flavor": (
        ("flavor: h100", "flavor: h200"),
        "train.yaml:9: fairgate.internal/options[0].flavor: no flavor 'h200'",
        "did you mean h100?",
    ),
    "no YAML": (
        ("kind: RayJob", "kind: [RayJob"),
        "train.yaml:3: not YAML: while parsing a flow sequence did not find expected ',' or ']'",
        "check indentation, colons and quotes",
    ),
    "an empty file": ((MANIFEST, ""), "train.yaml: is empty", "write a RayJob manifest"),
    "another kind": (
        ("kind: RayJob", "kind: RayCluster"),
        "train.yaml:2: kind: is 'RayCluster'; only RayJobs of ray.io/v1 are taken",
        "write RayJob",
    ),
}


def stored(folder: Path) -> dict[str, bytes]:
    """Every file of a state directory but the database, whose pages move without anything being written by us."""
    files = (each for each in folder.rglob("*") if each.is_file())
    return {str(each): each.read_bytes() for each in files if "fairgate.db" not in each.name}


@pytest.fixture
def submit(lasting_server, client_of):
    """Submit a manifest that must be refused; afterwards everything is as it was before. Returns what was said."""

    def run(manifest, *options, **env):
        (lasting_server.folder / "train.yaml").write_text(manifest)
        before = stored(lasting_server.state_dir)
        done = lasting_server.run(*options, "submit", "-f", "train.yaml", **env)
        assert done.stdout == ""
        assert stored(lasting_server.state_dir) == before
        with client_of(lasting_server) as client:
            assert list(client.list()) == []
            assert client.sequence() == 0
        return done.returncode, done.stderr

    return run


@pytest.mark.parametrize(("change", "error", "remedy"), WRONG.values(), ids=WRONG)
def test_a_mistake_in_a_manifest(submit, change, error, remedy):
    assert change[0] in MANIFEST
    assert submit(MANIFEST.replace(*change)) == (2, f"error: {error}\n  fix: {remedy}\n")


def test_an_unknown_tenant(submit):
    expected = "error: train.yaml:6: fairgate.internal/tenant: no tenant 'aa'\n  fix: did you mean a?\n"
    assert submit(MANIFEST.replace("/tenant: a", "/tenant: aa")) == (3, expected)


def test_a_wrong_token(submit):
    code, stderr = submit(MANIFEST, FAIRGATE_TOKEN="wrong")
    assert code == 4
    assert stderr.startswith("error: the token is not the server's\n  fix: ")
    assert "FAIRGATE_TOKEN" in stderr


def test_without_the_mistake_it_would_be_taken(lasting_server):
    (lasting_server.folder / "good.yaml").write_text(MANIFEST)
    done = lasting_server.run("submit", "-f", "good.yaml", "--dry-run")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "a/train would be submitted")


def test_one_document_of_two(lasting_server, client_of):
    """They are two submissions: the good one is taken, the bad one leaves nothing."""
    bad = MANIFEST.replace("name: train", "name: other").replace(GPUS, "nvidia.com/gpu: -1")
    (lasting_server.folder / "both.yaml").write_text(f"{MANIFEST}---\n{bad}")
    done = lasting_server.run("submit", "-f", "both.yaml", "--no-preempt", "--label", "only=this")
    assert (done.returncode, done.stdout) == (2, "a/train submitted\n")
    assert done.stderr.endswith(f"error: both.yaml:65: {IN_THE_POD}: -1 is negative\n  fix: ask for 0 or more\n")
    with client_of(lasting_server) as client:
        assert [job.name for job in client.list()] == ["tenants/a/jobs/train"]
        client.wait("a/train", 30)
