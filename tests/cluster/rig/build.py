"""Builds the pinned programs from their Go modules, once per pin.

    paths = build("kube-apiserver", "etcd")   # only what is missing or stale is compiled; all of them without a name

A program is rebuilt when its ``go.mod``, ``go.sum``, own source or flags change. Two builders wait for each other, and
a build that was interrupted goes on where it stopped, because Go keeps what it has compiled.
"""

import hashlib
import os
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from rig.errors import RigError
from rig.go import go
from rig.paths import binaries, lock, say

MODULES: Final = Path(__file__).with_name("modules")
KUBERNETES: Final = "v1.35.4"
_VERSION: Final = "k8s.io/component-base/version"
_LINK: Final = f"-s -w -X {_VERSION}.gitVersion={KUBERNETES} -X {_VERSION}.gitMajor=1 -X {_VERSION}.gitMinor=35"


@dataclass(frozen=True)
class Program:
    """One program: the folder in ``modules``, the package in it, and about how long a cold build takes on two cores."""

    module: str
    package: str
    cold_s: int


_KUBE: Final = "k8s.io/kubernetes/cmd"
_KUEUE: Final = "sigs.k8s.io/kueue"
PROGRAMS: Final = {
    "etcd": Program("etcd", ".", 40),
    "kube-apiserver": Program("kube", f"{_KUBE}/kube-apiserver", 300),
    "kube-controller-manager": Program("kube", f"{_KUBE}/kube-controller-manager", 100),
    "kube-scheduler": Program("kube", f"{_KUBE}/kube-scheduler", 30),
    "kubectl": Program("kube", f"{_KUBE}/kubectl", 40),
    "kueue": Program("kueue", f"{_KUEUE}/cmd/kueue", 200),
    "kuberay": Program("kuberay", "github.com/ray-project/kuberay/ray-operator", 90),
    "kwok": Program("kwok", "sigs.k8s.io/kwok/cmd/kwok", 90),
    "kubelet": Program("kube", f"{_KUBE}/kubelet", 60),
    "kube-proxy": Program("kube", f"{_KUBE}/kube-proxy", 20),
    "coredns": Program("coredns", "github.com/coredns/coredns", 120),
    "pause": Program("pause", ".", 5),
    "kueue-perf-runner": Program("kueue", f"{_KUEUE}/test/performance/scheduler/runner", 30),
    "kueue-minimal": Program("kueue", f"{_KUEUE}/test/performance/scheduler/minimalkueue", 20),
}
"""Every program by the name of its binary; Kueue's last two are its own scalability test, which ``make bench`` uses."""


def build(*names: str) -> dict[str, Path]:
    """Where each named program lies (all of them without names), after building what is missing or stale.

    Raises RigError for an unknown name or when Go can not build it.
    """
    if unknown := sorted(set(names) - PROGRAMS.keys()):
        raise RigError(f"no such program: {', '.join(unknown)}; there are: {', '.join(PROGRAMS)}")
    wanted = names or tuple(PROGRAMS)
    if any(not _is_fresh(name) for name in wanted):
        with lock("build", "somebody else is building; waiting"):
            stale = [name for name in wanted if not _is_fresh(name)]
            for number, name in enumerate(stale, 1):
                _compile(name, f"{number} of {len(stale)}")
    return {name: binaries() / name for name in wanted}


@cache
def module_folder(module: str, path: str) -> Path:
    """Where Go keeps the source of a module (``"kueue", "sigs.k8s.io/kueue"``): its manifests and test shapes.

    Raises RigError when it can not be had.
    """
    _go(module, "mod", "download", path)
    return Path(_go(module, "list", "-m", "-f", "{{.Dir}}", path).strip())


def _compile(name: str, place: str) -> None:
    program = PROGRAMS[name]
    say(f"building {name} ({place}; about {program.cold_s} s on two cores when nothing is cached) ...")
    began_s = time.monotonic()
    binaries().mkdir(parents=True, exist_ok=True)
    half = binaries() / f"{name}.half"
    _go(program.module, "build", "-trimpath", "-ldflags", _LINK, "-o", str(half), program.package)
    # The key goes first and comes last: what lies beside a key is always what the key says.
    _key_file(name).unlink(missing_ok=True)
    half.rename(binaries() / name)
    _key_file(name).write_text(_key(name))
    say(f"built {name} in {time.monotonic() - began_s:.0f} s")


def _go(module: str, *arguments: str) -> str:
    # `local`: a newer compiler is never fetched; `mod`: the pins are followed, never changed.
    settings = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off"}
    if module == "pause":
        settings["CGO_ENABLED"] = "0"  # its image holds nothing else, so no C library either
    done = subprocess.run(
        [go(), *arguments],
        cwd=MODULES / module,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        end = "\n".join(done.stderr.splitlines()[-15:])
        raise RigError(f"go {' '.join(arguments)}, in {MODULES / module}, failed:\n{end}")
    return done.stdout


def _key_file(name: str) -> Path:
    return binaries() / f"{name}.key"


def _is_fresh(name: str) -> bool:
    return (binaries() / name).exists() and _key_file(name).exists() and _key_file(name).read_text() == _key(name)


def _key(name: str) -> str:
    program = PROGRAMS[name]
    digest = hashlib.sha256(f"{program.package} {_LINK}".encode())
    for file in sorted((MODULES / program.module).iterdir()):
        # tools.go only keeps go.mod complete; it is in no binary.
        if file.name != "tools.go":
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
