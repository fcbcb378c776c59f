"""RayJobs as teams write them: accepted as they are, charged what runs, and attempts that no API server refuses."""

from typing import Final

import pytest
import yaml
from fairgate_scheduler.adapters.kube.schema import check_manifest
from fairgate_scheduler.core.manifests import ray_resources, render_for_option, understand, validate
from fairgate_scheduler.testing.rayjobs import GPU, TPU, fleet

MI, GI = 2**20, 2**30
SUBMITTER: Final = ("submitter", "cpu", 1, {"cpu": 500, "memory": 200 * MI})

ONE_TPU_HOST: Final = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: tune-one-host}
spec:
  entrypoint: python tune.py
  runtimeEnvYAML: |
    pip: [flax]
  rayClusterSpec:
    rayVersion: 2.52.0
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
            - name: ray-head
              image: example.com/ray:tpu
              ports:
                - {containerPort: 6379, name: gcs-server}
                - {containerPort: 8265, name: dashboard}
              resources: {limits: {cpu: "8", memory: 40G}, requests: {cpu: "8", memory: 40G}}
    workerGroupSpecs:
      - groupName: tpu-group
        replicas: 1
        minReplicas: 1
        maxReplicas: 1
        numOfHosts: 1
        rayStartParams: {}
        template:
          spec:
            containers:
              - name: ray-worker
                image: example.com/ray:tpu
                resources:
                  limits: {cpu: "24", google.com/tpu: "4", memory: 200G}
                  requests: {cpu: "24", google.com/tpu: "4", memory: 200G}
            nodeSelector: {tpu: v5e, example.com/tpu-topology: 2x2}
"""
HEAD_ALONE: Final = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: score}
spec:
  entrypoint: python /home/ray/samples/score.py
  rayClusterSpec:
    rayVersion: "2.52.0"
    headGroupSpec:
      rayStartParams:
      template:
        spec:
          containers:
          - name: ray-head
            image: example.com/ray:gpu
            resources:
              limits: {nvidia.com/gpu: 4, cpu: 54, memory: 54Gi}
              requests: {nvidia.com/gpu: 4, cpu: 54, memory: 54Gi}
            volumeMounts: [{mountPath: /home/ray/samples, name: code}]
          volumes:
          - name: code
            configMap: {name: score-code, items: [{key: score.py, path: score.py}]}
"""
SIDECAR: Final = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: side}
spec:
  submissionMode: SidecarMode
  entrypoint: python main.py
  rayClusterSpec:
    rayVersion: "2.52.0"
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: ray-head, image: "example.com/ray:1", resources: {limits: {cpu: 1}, requests: {cpu: 200m}}}
    workerGroupSpecs:
    - {groupName: small, replicas: 1, minReplicas: 1, maxReplicas: 5, rayStartParams: {}, template: {spec: {
        containers: [
          {name: ray-worker, image: "example.com/ray:1", resources: {limits: {cpu: "1"}, requests: {cpu: 200m}}}]}}}
"""
MOUNTED: Final = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: resize}
spec:
  entrypoint: python resize.py
  shutdownAfterJobFinishes: true
  ttlSecondsAfterFinished: 30
  rayClusterSpec:
    rayVersion: "2.52.0"
    headGroupSpec:
      rayStartParams: {dashboard-host: "0.0.0.0", num-cpus: "0"}
      template:
        metadata: {annotations: {example.com/volumes: "true"}}
        spec:
          containers:
          - name: ray-head
            image: example.com/ray:1
            env: [{name: BUCKET, value: images}]
            resources: {requests: {cpu: "1", memory: 4Gi}, limits: {cpu: "2", memory: 4Gi}}
            volumeMounts: [{name: bucket, mountPath: /data}]
          volumes: &volumes
          - name: bucket
            csi: {driver: fuse.example.com, volumeAttributes: {bucketName: images, mountOptions: implicit-dirs}}
    workerGroupSpecs:
    - replicas: 3
      minReplicas: 1
      maxReplicas: 10
      groupName: Resizers
      rayStartParams: {}
      template:
        metadata: {annotations: {example.com/volumes: "true"}}
        spec:
          containers:
          - name: ray-worker
            image: example.com/ray:1
            lifecycle: {preStop: {exec: {command: [/bin/sh, -c, ray stop]}}}
            resources: {requests: {cpu: 100m}, limits: {memory: 1Gi}}
            volumeMounts: [{name: bucket, mountPath: /data}]
          volumes: *volumes
"""


def hosts(replicas: int, number: int) -> str:
    """The TPU job on slices of so many hosts."""
    counts = f"replicas: {replicas}\n        minReplicas: 0\n        maxReplicas: {replicas}"
    one = "replicas: 1\n        minReplicas: 1\n        maxReplicas: 1"
    assert one in ONE_TPU_HOST
    return ONE_TPU_HOST.replace(one, counts).replace("numOfHosts: 1", f"numOfHosts: {number}")


TPU_HEAD: Final = ("head", "cpu", 1, {"cpu": 8_000, "memory": 40 * 10**9})
TPU_POD: Final = {"cpu": 24_000, TPU: 4, "memory": 200 * 10**9}
WRITTEN: Final = [
    ("one TPU host", ONE_TPU_HOST, [TPU_HEAD, ("tpu-group", "v5e", 1, TPU_POD), SUBMITTER], {"CPU": 32, "TPU": 4}),
    ("four hosts", hosts(1, 4), [TPU_HEAD, ("tpu-group", "v5e", 4, TPU_POD), SUBMITTER], {"CPU": 104, "TPU": 16}),
    (
        "2 x 64 hosts",
        hosts(2, 64),
        [TPU_HEAD, ("tpu-group", "v5e", 128, TPU_POD), SUBMITTER],
        {"CPU": 3080, "TPU": 512},
    ),
    (
        "GPUs on the head and no worker",
        HEAD_ALONE,
        [("head", "h100", 1, {GPU: 4, "cpu": 54_000, "memory": 54 * GI}), SUBMITTER],
        {"CPU": 54, "GPU": 4},
    ),
    (
        "sidecar",
        SIDECAR,
        [("head", "cpu", 1, {"cpu": 700, "memory": 200 * MI}), ("small", "cpu", 1, {"cpu": 200, "memory": 256 * MI})],
        {"CPU": 2},
    ),
    (
        "mounted bucket, small requests",
        MOUNTED,
        [
            ("head", "cpu", 1, {"cpu": 1_000, "memory": 4 * GI}),
            ("Resizers", "cpu", 3, {"cpu": 200, "memory": GI}),
            SUBMITTER,
        ],
        {"CPU": 3},
    ),
]


@pytest.mark.parametrize(("text", "groups", "ray"), [case[1:] for case in WRITTEN], ids=[case[0] for case in WRITTEN])
def test_a_manifest_as_it_is_written(text, groups, ray):
    manifest = yaml.safe_load(text)
    assert validate(manifest) == []
    assert check_manifest(manifest) == ()
    understood = understand(manifest, None, fleet(), "vision")
    (option,), (spec,) = understood.options, understood.option_specs
    assert [(each.name, each.flavor, each.count, dict(each.requests)) for each in option.groups] == groups
    attempt = render_for_option(manifest, spec, option, fleet())
    assert check_manifest(attempt) == ()
    assert dict(ray_resources(attempt, option)) == ray


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            SIDECAR.replace("rayStartParams: {}", 'rayStartParams: {num-gpus: "2"}', 1),
            (
                "spec.rayClusterSpec.headGroupSpec.rayStartParams[num-gpus]: tells Ray of 2 GPU, but each pod asks for"
                " 0: the rest would not be charged; ask for them in the limits of the Ray container, or lower it"
            ),
        ),
        (
            SIDECAR.replace("spec:\n", "spec:\n  clusterSelector: {ray.io/cluster: shared}\n", 1),
            (
                "spec.clusterSelector: runs in a cluster that is there already, which can not be charged to the job;"
                " describe the job's own cluster in spec.rayClusterSpec"
            ),
        ),
    ],
)
def test_what_kuberay_takes_and_nobody_could_charge_is_refused(text, finding):
    manifest = yaml.safe_load(text)
    assert check_manifest(manifest) == ()
    assert [str(each) for each in validate(manifest)] == [finding]
