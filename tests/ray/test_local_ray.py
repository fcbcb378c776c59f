"""Attempts on real Ray: what was admitted is what Ray has, and nothing of it is left behind."""

import json
import os
import signal
import time
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from fairgate_scheduler.adapters.local_ray import processes
from fairgate_scheduler.adapters.local_ray.layout import State
from fairgate_scheduler.adapters.local_ray.plan import Settings
from fairgate_scheduler.adapters.local_ray.runner import LocalRayRunner
from fairgate_scheduler.core.lifecycle import Phase
from fairgate_scheduler.core.manifests import understand
from fairgate_scheduler.core.tenancy import Config, Flavor, Quota, Tenant
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.runner_contract import make_launch

pytestmark = [pytest.mark.ray, pytest.mark.timeout(180)]

GPU, TPU = "nvidia.com/gpu", "google.com/tpu"
CONFIG = Config(
    {
        "h100": Flavor("h100", resource=GPU),
        "v5e": Flavor("v5e", resource=TPU),
        "cpu": Flavor("cpu", default_for_cpu_pods=True),
    },
    {"a": Tenant("a", quota={("h100", GPU): Quota(8), ("v5e", TPU): Quota(8)})},
)
TO_TPU = {"flavor": "v5e", "groups": {"gpu": {"resources": {TPU: "4"}, "env": {"PJRT_DEVICE": "TPU"}}}}

ASKS_FOR_TWO = """
import os, ray, time
try:
    ray.init(num_gpus=8)
except ValueError as error:
    print("refused:", error)
ray.init()
print("resources:", {name: ray.cluster_resources().get(name) for name in ("CPU", "GPU", "TPU")})

@ray.remote(num_gpus=2)
def greedy():
    return 1

@ray.remote(num_gpus=1)
def modest():
    return os.getcwd(), os.environ["FAIRGATE_ATTEMPT"], os.environ["GREETING"]

pending = greedy.remote()
cwd, attempt, greeting = ray.get(modest.remote())
print("modest ran:", "working_dir_files" in cwd, attempt, greeting)
ready, _ = ray.wait([pending], timeout=3)
while ray.available_resources().get("GPU") != 1:
    time.sleep(0.1)
ready += ray.wait([pending], timeout=1)[0]
print("greedy ran:", bool(ready), "though nobody uses the GPU")
"""

PRINTS_RESOURCES = """
import os, ray
ray.init()
print("resources:", sorted(name for name in ray.cluster_resources() if name in ("GPU", "TPU")))

@ray.remote(resources={"TPU": 1}, num_cpus=0)
def device():
    return os.environ.get("PJRT_DEVICE")

print("worker:", ray.get(device.remote()), "driver:", os.environ.get("PJRT_DEVICE"))
"""

WITH_PACKAGES = """
import ray, tiny, helpers
ray.init()

@ray.remote(num_cpus=1)
def where():
    import tiny, helpers
    return tiny.WORD, helpers.WORD

print("driver:", tiny.WORD, helpers.WORD, "worker:", *ray.get(where.remote()))
"""

WORKS = """
import os, ray, signal, sys, time
ray.init()

@ray.remote(num_gpus=1)
def work():
    time.sleep(300)

def save(*_):
    open(os.path.join(os.environ["FAIRGATE_CHECKPOINT_DIR"], "checkpoint"), "w").write(os.environ["FAIRGATE_ATTEMPT"])
    sys.exit(143)

signal.signal(signal.SIGTERM, signal.SIG_IGN if "--stubborn" in sys.argv else save)
futures = [work.remote()]
time.sleep(0.5)
print("working", flush=True)
ray.get(futures)
"""


@dataclass
class Machine:
    settings: Settings
    runner: LocalRayRunner

    def launch_of(self, name: str, program: str, *, option=None, arguments: str = "", **runtime_env):
        code = self.settings.base_dir / name
        code.mkdir()
        (code / "program.py").write_text(program)
        text = json.dumps({"working_dir": name, "env_vars": {"GREETING": "hello"}, **runtime_env})
        manifest = json.loads(ray_job(name, entrypoint=f"python program.py {arguments}", runtimeEnvYAML=text))
        options = [option] if option else None
        launch = make_launch(name, manifest, options=options)
        understood = understand(manifest, options, CONFIG, "a")
        return replace(launch, job=replace(launch.job, options=understood.options), config=CONFIG)

    def start(self, name: str, program: str, **more):
        launch = self.launch_of(name, program, **more)
        self.runner.launch(launch)
        return launch

    def log(self, launch) -> str:
        return self.runner.read_log(launch.attempt.job, 1, 0, 1_000_000).data.decode()

    def see(self, launch):
        return next(seen for seen in self.runner.observe() if seen.job == launch.attempt.job)

    def wait_for(self, launch, phase):
        self.wait_until(lambda: (seen := self.see(launch)).phase is phase or seen.is_gone, launch)
        assert self.see(launch).phase is phase, (self.see(launch), self.log(launch))
        return self.see(launch)

    def wait_for_log(self, launch, text: str) -> None:
        self.wait_until(lambda: text in self.log(launch), launch)

    def wait_until(self, holds, launch) -> None:
        deadline = time.monotonic() + 90
        while not holds():
            assert time.monotonic() < deadline, (self.see(launch), self.log(launch))
            time.sleep(0.1)


@pytest.fixture
def machine(tmp_path):
    settings = Settings(tmp_path / "state", tmp_path, grace_s=2)
    made = Machine(settings, LocalRayRunner(settings))
    yield made
    for seen in made.runner.observe():
        made.runner.stop(seen.job, seen.attempt, "the test is over")
    deadline = time.monotonic() + 30
    while not all(seen.is_gone for seen in made.runner.observe()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    state = State(settings.state_dir)
    directories = [state.attempt(job, attempt) for job, attempt in state.active()]
    assert directories, "every test launches something"
    for directory in directories:
        assert processes.members(directory.mark) == []
        plan = json.loads(directory.launch.read_text())
        assert not Path(plan["temp_dir"]).exists()
        assert _mentioning(plan["temp_dir"]) == []


def _mentioning(path: str) -> list[str]:
    """Command lines that name an attempt's temporary directory; Ray's daemons all do."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return [line for line in lines if path in line]


def test_a_job_has_what_it_was_admitted_for_and_not_more(machine):
    launch = machine.start("greedy", ASKS_FOR_TWO)
    seen = machine.wait_for(launch, Phase.SUCCEEDED)
    log = machine.log(launch)
    assert "refused: When connecting to an existing cluster, num_cpus and num_gpus must not be provided" in log
    assert "resources: {'CPU': 2.0, 'GPU': 1.0, 'TPU': None}" in log
    assert "modest ran: True 1 hello" in log
    assert "greedy ran: False though nobody uses the GPU" in log
    assert seen.started_at_ms is not None


def test_three_attempts_side_by_side_one_of_them_moved_to_tpu_one_with_packages(machine, tmp_path):
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "WORD = 'installed'\n")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    (tmp_path / "lib" / "helpers").mkdir(parents=True)
    (tmp_path / "lib" / "helpers" / "__init__.py").write_text("WORD = 'helped'\n")
    on_tpu = machine.start("on-tpu", PRINTS_RESOURCES, option=TO_TPU)
    packages = machine.start("packages", WITH_PACKAGES, pip=[str(wheel)], py_modules=["lib/helpers"])
    working = machine.start("working", WORKS)
    machine.wait_for(on_tpu, Phase.SUCCEEDED)
    machine.wait_for(packages, Phase.SUCCEEDED)
    machine.wait_for_log(working, "working")
    machine.runner.stop(working.attempt.job, 1, "reclaimed by b")
    machine.wait_for(working, Phase.STOPPED)
    assert "resources: ['TPU']" in machine.log(on_tpu)
    assert "worker: TPU driver: None" in machine.log(on_tpu)
    assert "driver: installed helped worker: installed helped" in machine.log(packages)
    checkpoint = State(machine.settings.state_dir).checkpoints(working.attempt.job) / "checkpoint"
    assert checkpoint.read_text() == "1"


def test_what_ignores_notice_is_killed_with_all_its_ray(machine):
    launch = machine.start("stubborn", WORKS, arguments="--stubborn")
    machine.wait_for_log(launch, "working")
    machine.runner.stop(launch.attempt.job, 1, "cancelled")
    assert machine.wait_for(launch, Phase.STOPPED).exit_code == 137


def test_a_killed_supervisor_leaves_no_ray_behind(machine):
    launch = machine.start("lost", WORKS)
    machine.wait_for_log(launch, "working")
    machine.runner = LocalRayRunner(machine.settings)
    assert machine.see(launch).phase is Phase.RUNNING, "a new server finds it"
    started = State(machine.settings.state_dir).attempt(launch.attempt.job, 1).started
    os.kill(json.loads(started.read_text())["pid"], signal.SIGKILL)
    assert machine.wait_for(launch, Phase.LOST).is_gone
