"""A cluster as a whole: bring it up, end or start each of its components, take it down without a trace.

rig = Rig("tests")
rig.up(has_node=True)
rig.stop("kueue")            # kill -9, as a fault
rig.start("kueue")           # the same again, ready when it returns
rig.down()
"""

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from rig import fake, host, network, operators
from rig.build import build
from rig.errors import RigError
from rig.identities import write_identities
from rig.image import image_files
from rig.kubectl import Kubectl
from rig.paths import home, say, state
from rig.processes import Processes, started
from rig.site import Site
from rig.starting import Starter
from rig.traces import traces
from rig.waiting import until

_LOOPBACK: Final = "127.0.0.1"
_PROGRAMS: Final = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "kueue",
    "kuberay",
    "kwok",
)
_NODE_PROGRAMS: Final = ("kubelet", "kube-proxy", "coredns", "pause")


class Rig:
    """One cluster by name, whoever started it. RigError says why when a method can not do its job."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._folder = state() / name
        self._processes = Processes(self._folder)

    def up(self, *, has_node: bool, owner: int | None = None) -> None:
        """Start it: with a real node (as root) on an address of its own, or on loopback with fake nodes only.

        ``owner`` is the pid of the process that will take it down, None when a person will.
        """
        if self.is_up():
            raise RigError(f"the cluster {self.name} is up already; take it down first")
        if has_node:
            network.check_free()
        prepare(has_node=has_node)
        began_s = time.monotonic()
        kept_by = (owner, started(owner) or "") if owner else None
        address = network.INSIDE if has_node else _LOOPBACK
        site = Site.new(self._folder, address, has_node=has_node, owner=kept_by)
        site.save()
        try:
            write_identities(site)
            Starter(site, self._processes).start_all()
        except BaseException:
            self.down()
            raise
        say(f"{self.name} is up after {time.monotonic() - began_s:.0f} s")

    def down(self) -> None:
        """End all of its processes and remove what it left; its logs stay in the rig's home until the next end."""
        site = Site.load(self._folder)
        if site is None:
            return
        for name in self._processes.names():
            if name != network.HOLDER:
                self._processes.stop(name)
        if site.has_node:
            host.clean(site)
            until("nothing runs in its namespaces", 30, self._is_empty)
            network.unmake(self._processes)
        shutil.rmtree(logs(self.name), ignore_errors=True)
        logs(self.name).parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            (self._folder / "log").rename(logs(self.name))
        shutil.rmtree(self._folder)

    def is_up(self) -> bool:
        """Whether it was started, and not taken down since."""
        return Site.load(self._folder) is not None

    def is_abandoned(self) -> bool:
        """Whether the process that should have taken it down is gone."""
        site = Site.load(self._folder)
        return site is not None and site.owner is not None and started(site.owner[0]) != site.owner[1]

    def traces(self) -> frozenset[str]:
        """What there is of it on the host: once it is down, no more than before it was up."""
        return traces(self._folder)

    @property
    def site(self) -> Site:
        """Where it is. RigError when it is not up."""
        site = Site.load(self._folder)
        if site is None:
            raise RigError(f"the cluster {self.name} is not up")
        return site

    def kubectl(self, identity: str = "admin") -> Kubectl:
        """kubectl as one of its users or components."""
        return Kubectl(build("kubectl")["kubectl"], self.site.kubeconfig(identity))

    def components(self) -> dict[str, bool]:
        """Every component that was started, and whether it runs."""
        return {name: self._processes.is_running(name) for name in self._processes.names()}

    def log(self, name: str) -> Path:
        """The file with all output of a component since ``up``."""
        return self._processes.log(name)

    def command_line(self, name: str) -> str:
        """How a running component was started. RigError when it does not run."""
        pid = self._processes.pid(name)
        if pid is None:
            raise RigError(f"{name} does not run")
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()

    def stop(self, name: str, signum: signal.Signals = signal.SIGKILL) -> None:
        """End a component as a fault would, or by another signal, and wait until it has gone."""
        if name not in self._processes.names():
            raise RigError(f"no component {name} was started; there are: {', '.join(self._processes.names())}")
        self._processes.stop(name, signum)

    def start(self, name: str) -> None:
        """Start a component that is stopped, as it is by default, and wait until it is ready."""
        starter = Starter(self.site, self._processes)
        known = starter.by_name()
        if name not in known:
            raise RigError(f"no such component: {name}; there are: {', '.join(known)}")
        starter.start(known[name]())

    def restart_kueue(self, gates: Mapping[str, bool] | None = None, **settings: object) -> None:
        """Run Kueue with other feature gates, or other top-level fields of its configuration, until its next start."""
        self._processes.stop("kueue")
        Starter(self.site, self._processes).start(operators.kueue(self.site, gates, **settings))

    def add_fake_nodes(self, names: Iterable[str], labels: Mapping[str, str], resources: Mapping[str, str]) -> None:
        """Add Ready nodes without a machine behind them. KWOK is started if it does not run."""
        if not self._processes.is_running("kwok"):
            self.start("kwok")
        self.kubectl().create(*(fake.fake_node(name, labels, resources) for name in names))

    def _is_empty(self) -> bool:
        for pid in (found := network.residents(self._processes)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not found


def prepare(*, has_node: bool) -> None:
    """Make all that is kept between clusters: programs and images. Minutes the first time, then nothing."""
    if has_node:
        host.install_packages()
    build(*_PROGRAMS, *(_NODE_PROGRAMS if has_node else ()))
    if has_node:
        image_files()


def every_rig() -> list[Rig]:
    """All clusters of this home that were not taken down."""
    return [Rig(folder.name) for folder in sorted(state().glob("*"))]


def logs(name: str) -> Path:
    """Where the logs of a cluster that was taken down lie."""
    return home() / "log" / name
