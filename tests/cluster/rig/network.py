"""The namespaces that a cluster with a real node lives in: network and mounts of its own, gone with its last process.

The host reaches the cluster at ``INSIDE`` over a pair of virtual interfaces, and the cluster the host at ``OUTSIDE``.
"""

import subprocess
from pathlib import Path
from typing import Final

from rig.errors import RigError
from rig.processes import Processes
from rig.waiting import until

OUTSIDE: Final = "198.18.0.1"
INSIDE: Final = "198.18.0.2"
LINK: Final = "fairgate-rig"
HOLDER: Final = "namespaces"
# kubelet, containerd and CNI write to fixed folders there; what they write is not for the host. Also: /run/netns.
_HIDDEN: Final = ("/run", "/var/lib", "/var/log")


def check_free() -> None:
    """Raise RigError when another cluster with a node runs: there can be one on a machine."""
    if Path("/sys/class/net", LINK).exists():
        raise RigError(f"another cluster with a node runs (interface {LINK} is there): take it down first")


def make(processes: Processes, in_memory: Path) -> None:
    """Make the namespaces and connect them to the host; what is written to the folder ``in_memory`` goes with them.

    Raises RigError when another cluster is connected.
    """
    check_free()
    pid = processes.spawn(HOLDER, ("unshare", "--net", "--mount", "--propagation", "private", "sleep", "infinity"), {})
    ours = Path("/proc/self/ns/net").readlink()
    until("the namespaces are there", 5, lambda: Path(f"/proc/{pid}/ns/net").readlink() != ours)
    until("their holder sleeps", 5, lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n")
    inside = enter(processes)
    in_memory.mkdir()
    for folder in (*_HIDDEN, str(in_memory)):
        _run(*inside, "mount", "-t", "tmpfs", "tmpfs", folder)
    _run("ip", "link", "add", LINK, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
    _run("ip", "address", "add", f"{OUTSIDE}/30", "dev", LINK)
    _run("ip", "link", "set", LINK, "up")
    _run(*inside, "ip", "link", "set", "lo", "up")
    _run(*inside, "ip", "address", "add", f"{INSIDE}/30", "dev", "eth0")
    _run(*inside, "ip", "link", "set", "eth0", "up")
    # Never used beyond the host; without any route a Service's address would be refused before it is translated.
    _run(*inside, "ip", "route", "add", "default", "via", OUTSIDE)


def enter(processes: Processes) -> tuple[str, ...]:
    """What to put before a command to run it inside. Raises RigError when there is no inside."""
    pid = processes.pid(HOLDER)
    if pid is None:
        raise RigError("the namespaces of the cluster are gone; take it down and start it again")
    # Not `ip netns exec`: it mounts /sys anew and so hides the cgroups from containerd and kubelet.
    return ("nsenter", f"--target={pid}", "--net", "--mount", "--")


def residents(processes: Processes) -> list[int]:
    """Every process in these namespaces but the holder: also what components started, such as container shims."""
    holder = processes.pid(HOLDER)
    if holder is None:
        return []
    kinds = ("net", "mnt")
    homes = {kind: _namespace(holder, kind) for kind in kinds}
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if pid != holder and any(_namespace(pid, kind) == homes[kind] for kind in kinds)]


def unmake(processes: Processes) -> None:
    """End the holder; the network goes with it once the last resident has gone."""
    processes.stop(HOLDER)
    until(f"{LINK} is gone", 30, lambda: not Path("/sys/class/net", LINK).exists())


def _namespace(pid: int, kind: str) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/{kind}").readlink())
    except OSError:
        return ""


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RigError(f"{' '.join(command)}: {done.stderr.strip()}")
