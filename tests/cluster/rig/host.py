"""What a real node takes from the host: Debian packages before, cgroups and kernel settings while it runs."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import Final

from rig.errors import RigError
from rig.paths import home, say
from rig.site import Site
from rig.waiting import until

CGROUP: Final = "fairgate-rig"
_PROGRAMS: Final = {
    "containerd": "containerd",
    "runc": "runc",
    "nft": "nftables",
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
}
_CGROUPS: Final = Path("/sys/fs/cgroup")
# kubelet sets these as it starts.
_SETTINGS: Final = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)


def prepare(site: Site) -> None:
    """Make the cgroups and note the kernel's settings."""
    site.write("sysctl.json", json.dumps(settings()))
    for group in cgroups():
        group.mkdir(exist_ok=True)


def clean(site: Site) -> None:
    """End what is in the cgroups, remove them, and set the kernel back; nothing if ``prepare`` was never called."""
    try:
        kept = json.loads((site.folder / "config" / "sysctl.json").read_text())
    except FileNotFoundError:
        return
    for group in cgroups():
        until(f"{group} is empty", 30, partial(_is_removed, group))
    for name, value in kept.items():
        if Path("/proc/sys", name).read_text() != value:
            Path("/proc/sys", name).write_text(value)


def settings() -> dict[str, str]:
    """The kernel settings that kubelet changes, as they are now."""
    return {name: Path("/proc/sys", name).read_text() for name in _SETTINGS}


def cgroups() -> list[Path]:
    """The folders of the node's cgroup: one, or one in each hierarchy where the host has the old kind."""
    if (_CGROUPS / "cgroup.controllers").exists():
        return [_CGROUPS / CGROUP]
    return [each / CGROUP for each in sorted(_CGROUPS.iterdir()) if (each / "cgroup.procs").exists()]


def node_problem() -> str | None:
    """Why this machine can not have a real node, None when it can (after installing packages, perhaps)."""
    if os.geteuid():
        return "a real node needs root: run as root, or set KUBECONFIG to a cluster with Kueue and KubeRay"
    if not _CGROUPS.is_dir():
        return "a real node needs Linux with cgroups"
    if _missing() and not shutil.which("apt-get"):
        return f"a real node needs {' '.join(_missing())}; where there is apt-get they are installed"
    return None


def install_packages() -> None:
    """Install the Debian packages that are missing. Raises RigError with what to do when it can not."""
    if problem := node_problem():
        raise RigError(problem)
    if home().is_relative_to("/run") or home().is_relative_to("/var/lib") or home().is_relative_to("/var/log"):
        raise RigError(f"{home()} is in a folder that the node can not see; set FAIRGATE_RIG to another one")
    if missing := _missing():
        install = ("apt-get", "install", "--yes", "--no-install-recommends", *missing)
        say(" ".join(install))
        _apt("apt-get", "update")
        _apt(*install)


def _apt(*command: str) -> None:
    settings = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RigError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")


def _missing() -> list[str]:
    return sorted({package for program, package in _PROGRAMS.items() if not shutil.which(program)})


def _is_removed(group: Path) -> bool:
    """Kill and remove what can be; containers' processes need a moment to go."""
    if not group.exists():
        return True
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            for pid in (Path(folder) / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
    return not group.exists()
