"""What a cluster could leave on the host, to compare before with after."""

import subprocess
from pathlib import Path

from rig import host, network
from rig.paths import home, state


def traces() -> frozenset[str]:
    """A line for each thing that is the rig's, or that a node could change: alike before ``up`` and after ``down``."""
    found = {f"kernel setting {name} = {value.strip()}" for name, value in host.settings().items()}
    found |= {f"mount {line}" for line in Path("/proc/mounts").read_text().splitlines() if str(state()) in line}
    found |= {f"process {line}" for line in _processes()}
    found |= {f"folder {folder}" for folder in [*host.cgroups(), *state().glob("*")] if folder.exists()}
    for folder in map(Path, ("/run/netns", "/run/containerd", "/var/lib/cni", "/var/log/pods", "/var/log/containers")):
        found |= {f"file {path}" for path in folder.glob("**/*")} | ({f"folder {folder}"} if folder.exists() else set())
    if Path("/sys/class/net", network.LINK).exists():
        found.add(f"interface {network.LINK}")
    return frozenset(found)


def _processes() -> list[str]:
    # All that it starts has its state folder or one of its programs in the command line; containers are in cgroups.
    listed = subprocess.run(["ps", "-e", "-o", "pid=,args="], capture_output=True, text=True, check=True).stdout
    ours = (str(state()), str(home() / "bin"))
    return [line.strip()[:200] for line in listed.splitlines() if any(each in line for each in ours)]
