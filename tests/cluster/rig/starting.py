"""How a cluster's components are started: each one ready before what needs it, the rest side by side."""

import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final

from rig import controlplane, fake, host, network, node, operators
from rig.build import build
from rig.errors import RigError
from rig.identities import NODE
from rig.image import image_files
from rig.kubectl import Kubectl
from rig.processes import Processes
from rig.site import Component, Site
from rig.waiting import answers, until

_READY_S: Final = 120


class Starter:
    """Starts components of one cluster. RigError holds the end of a component's log when it does not become ready."""

    def __init__(self, site: Site, processes: Processes) -> None:
        self._site = site
        self._processes = processes
        self._kubectl = Kubectl(build("kubectl")["kubectl"], site.kubeconfig("admin"))

    def start_all(self) -> None:
        """Everything of a new cluster, in the least time that two cores allow."""
        with ThreadPoolExecutor() as pool:
            beside: list[Future[None]] = []
            if self._site.has_node:
                network.make(self._processes, node.images_folder(self._site))
                host.prepare(self._site)
                self.start(node.containerd(self._site))
                beside.append(pool.submit(self._import_images))
            etcd, api_server, *others = controlplane.components(self._site)
            self.start(etcd)
            self.start(api_server)
            beside.append(pool.submit(self._start_operators))
            beside.append(pool.submit(self._start_nodes))
            for each in others:
                self.start(each)
            for started in beside:
                started.result()

    def start(self, component: Component) -> None:
        """One component; returns when it is ready."""
        name = component.name
        temporary = self._site.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        self._processes.spawn(name, (*self._enter(), *component.command), {"TMPDIR": str(temporary)})
        until(
            f"{name} is ready", _READY_S, partial(self._is_ready, component), partial(self._processes.last_lines, name)
        )

    def by_name(self) -> Mapping[str, Callable[[], Component]]:
        """Every component that this cluster can have; making one writes its configuration."""
        site = self._site
        made = {each.name: partial(_same, each) for each in controlplane.components(site)}
        return {
            **made,
            "kueue": partial(operators.kueue, site),
            "kuberay": partial(operators.kuberay, site),
            "kwok": partial(fake.kwok, site, self._kubectl),
            **({"containerd": partial(node.containerd, site)} if site.has_node else {}),
            **({each.name: partial(_same, each) for each in node.components(site)} if site.has_node else {}),
        }

    def _enter(self) -> tuple[str, ...]:
        return network.enter(self._processes) if self._site.has_node else ()

    def _is_ready(self, component: Component) -> bool:
        if not self._processes.is_running(component.name):
            raise RigError(f"{component.name} ended at once:\n{self._processes.last_lines(component.name)}")
        if isinstance(component.health, str):
            return answers(component.health)
        return (
            not component.health
            or not subprocess.run([*self._enter(), *component.health], capture_output=True, check=False).returncode
        )

    def _start_operators(self) -> None:
        operators.install_kueue(self._site, self._kubectl)
        operators.install_kuberay(self._kubectl)
        self.start(operators.kueue(self._site))
        self.start(operators.kuberay(self._site))

    def _start_nodes(self) -> None:
        if not self._site.has_node:
            self.start(fake.kwok(self._site, self._kubectl))
            return
        for each in node.components(self._site):
            self.start(each)
        until("the node is there", _READY_S, lambda: bool(self._kubectl("get", "nodes", "--output=name")))
        node.label_and_equip(self._kubectl)
        self._kubectl.wait(f"node/{NODE}", "condition=Ready", longest_s=_READY_S)

    def _import_images(self) -> None:
        for file in image_files():
            command = (*self._enter(), *node.ctr(self._site, "images", "import", str(file)))
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RigError(f"containerd did not take {file}:\n{done.stderr}")


def _same(component: Component) -> Component:
    return component
