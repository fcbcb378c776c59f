"""What a launch becomes on this machine, and what a manifest may not ask of it."""

import json
import stat
from dataclasses import replace

import pytest
from fairgate_scheduler.adapters.local_ray.layout import State, split_job
from fairgate_scheduler.adapters.local_ray.plan import Plan, Settings
from fairgate_scheduler.adapters.local_ray.planning import check, make_plan
from fairgate_scheduler.core.lifecycle import Phase
from fairgate_scheduler.core.manifests import understand
from fairgate_scheduler.core.tenancy import Config, Flavor, Quota, Tenant
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.runner_contract import make_launch

GPU, TPU = "nvidia.com/gpu", "google.com/tpu"
CONFIG = Config(
    {
        "h100": Flavor("h100", resource=GPU),
        "v5e": Flavor("v5e", resource=TPU),
        "cpu": Flavor("cpu", default_for_cpu_pods=True),
    },
    {"a": Tenant("a", quota={("h100", GPU): Quota(8), ("v5e", TPU): Quota(8)})},
)
OPTIONS = [
    {"flavor": "h100"},
    {"flavor": "v5e", "groups": {"gpu": {"replicas": 1, "resources": {TPU: "4"}, "env": {"PJRT_DEVICE": "TPU"}}}},
]


def manifest_of(**spec):
    return json.loads(ray_job("train", workers=2, **spec))


def env_of(manifest, group="headGroupSpec"):
    cluster = manifest["spec"]["rayClusterSpec"]
    part = cluster["headGroupSpec"] if group == "headGroupSpec" else cluster["workerGroupSpecs"][0]
    return part["template"]["spec"]["containers"][0].setdefault("env", [])


def plan_of(tmp_path, manifest, option=0):
    options = understand(manifest, OPTIONS, CONFIG, "a").options
    launch = make_launch("train", manifest, options=OPTIONS)
    launch = replace(
        launch,
        job=replace(launch.job, options=options),
        attempt=replace(launch.attempt, option=option),
        config=CONFIG,
    )
    return make_plan(launch, Settings(tmp_path / "state", tmp_path), State(tmp_path / "state"))


@pytest.mark.parametrize(
    ("option", "flavor", "resources", "device"),
    [(0, "h100", {"CPU": 3, "GPU": 2}, None), (1, "v5e", {"CPU": 2, "TPU": 4}, "TPU")],
)
def test_each_option_has_its_own_resources_and_environment(tmp_path, option, flavor, resources, device):
    plan = plan_of(tmp_path, manifest_of(), option)
    assert plan.resources == resources
    assert plan.driver_env["FAIRGATE_FLAVOR"] == flavor
    assert plan.ray_env.get("PJRT_DEVICE") == device
    assert "PJRT_DEVICE" not in plan.driver_env


def test_the_driver_has_the_heads_environment_and_the_workers_theirs(tmp_path):
    manifest = manifest_of()
    env_of(manifest).extend([{"name": "WHERE", "value": "head"}, {"name": "PATH", "value": "/opt/image"}])
    env_of(manifest, "workers").extend(
        [{"name": "WHERE", "value": "worker"}, {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]
    )
    plan = plan_of(tmp_path, manifest)
    assert (plan.driver_env["WHERE"], plan.ray_env["WHERE"]) == ("head", "worker")
    assert "/opt/image" not in plan.driver_env["PATH"]
    path = "spec.rayClusterSpec.{}.template.spec.containers[0].env[1]: {}"
    assert plan.warnings == (
        path.format("headGroupSpec", "PATH belongs to the container image and is not set here"),
        path.format("workerGroupSpecs[0]", "POD comes from the cluster and is not set here"),
        "one Ray node stands for 2 pods: what needs the accelerators of several at once waits on a cluster",
    )


def test_a_plan_survives_being_written_down(tmp_path):
    plan = plan_of(tmp_path, manifest_of(runtimeEnvYAML="pip: [a]", metadata={"owner": "me"}))
    assert Plan.from_plain(json.loads(json.dumps(plan.plain()))) == plan
    assert (plan.runtime_env.pip, plan.metadata) == (("a",), {"owner": "me"})


def test_names_the_server_may_pass_are_passed_and_no_other(tmp_path, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("SERVER_TOKEN", "secret")
    manifest = manifest_of()
    launch = make_launch("train", manifest)
    settings = Settings(tmp_path / "state", tmp_path, pass_env=("HTTPS_PROXY", "NOT_SET"))
    plan = make_plan(launch, settings, State(settings.state_dir))
    assert plan.driver_env["HTTPS_PROXY"] == "http://proxy"
    assert not {"SERVER_TOKEN", "NOT_SET"} & plan.driver_env.keys()


def test_a_manifest_that_can_run_has_no_problems(tmp_path):
    assert check(manifest_of(), tmp_path) == []


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"name": "FAIRGATE_JOB", "value": "x"}, "Fairgate sets FAIRGATE_* itself"),
        (
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            "the local runner has no Secrets and ConfigMaps; write a value, or optional: true",
        ),
        ({"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}}, None),
        ({"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, None),
    ],
)
def test_variables_that_only_a_cluster_has(tmp_path, entry, problem):
    manifest = manifest_of()
    env_of(manifest).append(entry)
    field = "spec.rayClusterSpec.headGroupSpec.template.spec.containers[0].env[0]"
    assert check(manifest, tmp_path) == ([f"{field}: {problem}"] if problem else [])


def test_an_interactive_job_is_refused(tmp_path):
    (problem,) = check(manifest_of(submissionMode="InteractiveMode", entrypoint=None), tmp_path)
    assert problem.startswith("spec.submissionMode: InteractiveMode waits for somebody")


def test_a_job_without_a_command_is_refused(tmp_path):
    assert check(manifest_of(entrypoint=" "), tmp_path) == ["spec.entrypoint: there is nothing to run"]


def test_what_the_entrypoint_reserves_is_not_kept_and_said(tmp_path):
    warnings = plan_of(tmp_path, manifest_of(entrypointNumCpus=1)).warnings
    assert any(each.startswith("spec.entrypointNumCpus: the local runner reserves nothing") for each in warnings)


def test_what_can_not_run_fails_before_it_starts(machine):
    launch = machine.start("true", runtimeEnvYAML="conda: x")
    seen = machine.wait_for(launch, Phase.FAILED)
    assert seen.message.startswith("spec.runtimeEnvYAML.conda: the local runner does not support this")
    assert seen.message in machine.log(launch)
    assert machine.count_starts(launch) == 0
    assert machine.runner.check(launch.manifest, Tenant(launch.job.tenant)) == [seen.message]


def test_the_code_of_the_job_and_its_variables_reach_the_driver(machine, tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "hello.txt").write_text("hello from the working dir\n")
    launch = machine.start("cat hello.txt; echo $A", runtimeEnvYAML="{working_dir: code, env_vars: {A: 'x-${HOME}'}}")
    machine.wait_for(launch, Phase.SUCCEEDED)
    home = make_plan(launch, machine.settings, machine.state).driver_env["HOME"]
    assert machine.log(launch) == f"hello from the working dir\nx-{home}\n"


def test_packages_that_can_not_be_installed_fail_the_job(machine):
    launch = machine.start("true", runtimeEnvYAML="pip: ['--no-index', no-such-package]")
    seen = machine.wait_for(launch, Phase.FAILED)
    assert seen.message.startswith(
        "runtimeEnvYAML.pip: the packages can not be installed: exit code 1; ERROR: No matching"
    )
    assert machine.count_starts(launch) == 0


def test_a_stop_interrupts_the_preparation(machine, tmp_path):
    source = tmp_path / "slow" / "setup.py"
    source.parent.mkdir()
    source.write_text("import time; time.sleep(60)")
    launch = machine.start("true", runtimeEnvYAML=f"pip: ['--no-build-isolation', {source.parent}]")
    machine.wait_until(lambda: len(machine.members(launch)) >= 2)
    machine.stop(launch, "cancelled")
    assert machine.wait_for(launch, Phase.STOPPED).message == "cancelled; it had not started yet"


def test_others_can_read_nothing_of_an_attempt(machine):
    launch = machine.start("true")
    machine.wait_for(launch, Phase.SUCCEEDED)
    directory = machine.directory(launch)
    assert stat.S_IMODE(machine.settings.state_dir.joinpath("attempts").stat().st_mode) == 0o700
    for file in (directory.launch, directory.log, directory.exit):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "job", ["tenants/../jobs/x", "tenants/a/jobs/", "a", "tenants/a/jobs/x/y", "tenants/a/jobs/.."]
)
def test_names_that_are_no_jobs_lead_nowhere(job):
    with pytest.raises(ValueError, match="is not the name of a job"):
        split_job(job)


@pytest.mark.parametrize("name", ["RAY_OVERRIDE_RESOURCES", "RAY_ADDRESS", "RAY_AUTH_TOKEN", "RAY_START_HOOK"])
def test_what_says_how_much_ray_has_is_never_the_jobs_to_say(tmp_path, name):
    """``RAY_OVERRIDE_RESOURCES={"GPU": 8}`` would make ``ray start`` forget what was admitted."""
    manifest = manifest_of()
    env_of(manifest).append({"name": name, "value": '{"GPU": 8}'})
    env_of(manifest, "workers").append({"name": name, "value": '{"GPU": 8}'})
    plan = plan_of(tmp_path, manifest)
    assert not {name} & (plan.ray_env.keys() | plan.driver_env.keys())
    assert [each.partition(": ")[2] for each in plan.warnings[:2]] == [
        f"{name} is the local runner's to set, and not taken from here"
    ] * 2
    problems = check(manifest_of(runtimeEnvYAML=f"env_vars: {{{name}: x}}"), tmp_path)
    assert problems == [f"spec.runtimeEnvYAML.env_vars.{name}: Fairgate sets {name} itself"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a\0b", "no process can be given the character NUL; take it out"),
        ("x" * 128_001, "longer than the 128000 bytes that a process can be given; put it into a file"),
        ("ü" * 64_001, "longer than the 128000 bytes that a process can be given; put it into a file"),
        ("x" * 127_000, None),
    ],
)
def test_what_no_process_can_be_given_is_refused(tmp_path, text, problem):
    manifest = manifest_of(entrypoint=text)
    env_of(manifest).append({"name": "A", "value": text})
    found = check(manifest, tmp_path)
    fields = ["spec.entrypoint", "spec.rayClusterSpec.headGroupSpec.template.spec.containers[0].env[0]"]
    assert found == ([f"{field}: {problem}" for field in fields] if problem else [])
