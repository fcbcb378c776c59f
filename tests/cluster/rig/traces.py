"""What a cluster could leave on the host, to compare before with after."""

import contextlib
from pathlib import Path
from typing import Final

from rig import host, network

_SHARED: Final = ("/run/netns", "/run/containerd", "/var/lib/cni", "/var/log/pods", "/var/log/containers")


def traces(folder: Path) -> frozenset[str]:
    """A line for each thing of the cluster in ``folder``, or that its node could change: alike before and after it."""
    found = {f"kernel setting {name} = {value.strip()}" for name, value in host.settings().items()}
    found |= {f"mount {line}" for line in Path("/proc/mounts").read_text().splitlines() if str(folder) in line}
    found |= {f"process {line}" for line in _processes(folder)}
    found |= {f"folder {each}" for each in [*host.cgroups(), folder] if each.exists()}
    for each in map(Path, _SHARED):
        found |= {f"file {path}" for path in each.glob("**")}
    if Path("/sys/class/net", network.LINK).exists():
        found.add(f"interface {network.LINK}")
    return frozenset(found)


def _processes(folder: Path) -> list[str]:
    # All that it starts has its folder in the command line, but for containers: these are in the cgroups.
    lines = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_text(errors="replace").replace("\0", " ")
            if str(folder) in command:
                lines.append(f"{entry.name} {command[:200]}")
    return lines
